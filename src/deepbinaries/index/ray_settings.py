"""Where an index on a Ray cluster is, and how it is opened there: `ray:FOLDER?shards=3&replicas=2`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from deepbinaries.errors import UsageError, unknown_name

SCHEME = "ray:"
MOST = 4096  # of anything that can be counted

_TYPES = {"shards": int, "replicas": int, "cpus": int, "patience": float, "address": str}


@dataclass(frozen=True)
class Settings:
    """How an index is opened on a cluster."""

    shards: int | None = None  # of one that is made; None is one for each machine
    replicas: int = 1  # actors that open each shard
    cpus: int = 0  # cores that each actor reserves; 0 reserves none and uses one
    patience: float = 60.0  # seconds to wait for a shard that does not answer
    address: str | None = None  # of the cluster, as `deepbinaries.cluster.join` takes it

    def __post_init__(self) -> None:
        for name, least in (("shards", 1), ("replicas", 1), ("cpus", 0)):
            value = getattr(self, name)
            if value is not None and not least <= value <= MOST:
                raise UsageError(f"{name}={value} is outside {least}..{MOST}", next_step=f"give for example {name}=2")
        if not self.patience > 0:
            raise UsageError(f"patience={self.patience} waits for nobody", next_step="give some seconds")


def parsed(where: str | Path, settings: Settings) -> tuple[Path, Settings]:
    """The folder in an address, and the settings with those of the address; a path without `ray:` has none.

    >>> parsed("ray:/data/codes?shards=3", Settings(replicas=2))[1]
    Settings(shards=3, replicas=2, cpus=0, patience=60.0, address=None)
    """
    if not str(where).startswith(SCHEME):
        return Path(where), settings
    parts = urlsplit(str(where))
    if parts.netloc or parts.fragment or not parts.path:
        raise UsageError(
            f"{str(where)!r} names no folder of an index on a cluster",
            next_step="write ray:FOLDER, or ray:FOLDER?address=HOST:PORT for a cluster elsewhere",
        )
    given: dict[str, Any] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in _TYPES:
            raise unknown_name("setting of the index 'ray'", name, _TYPES)
        try:
            given[name] = _TYPES[name](value)
        except ValueError:
            raise UsageError(f"{name}={value} is no number", next_step=f"write for example {name}=2") from None
    return Path(unquote(parts.path)), replace(settings, **given)
