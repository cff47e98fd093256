"""The manifest of a store: which items its features belong to, and a key of all that they depend on."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets import Dataset, digest
from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.files import read_json, write_json

FORMAT = "deepbinaries-features"
VERSION = 2  # notes prove themselves, and pictures count by their stamps; what was made before is made anew
MAX_BYTES = 2**30  # of a manifest; ten million items need some 300 MB
LOOKED_AT = 16  # pictures whose bytes are a part of the key


@dataclass(frozen=True, eq=False)
class Manifest:
    """The items of a store, ascending by their row in the dataset, in shards of `shard_items` each."""

    rows: NDArray[np.int64]
    ids: tuple[str, ...]
    identity: Mapping[str, Any]  # see `describe`
    shard_items: int

    @cached_property
    def key(self) -> str:
        """SHA-256 over the identity, the size of the shards and the version of the format."""
        try:
            text = json.dumps([FORMAT, VERSION, self.shard_items, self.identity], sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"the encoder's fingerprint cannot be written as JSON ({error})",
                next_step="use texts and numbers in it",
            ) from error
        return hashlib.sha256(text.encode()).hexdigest()

    def shards(self) -> list[slice]:
        """The items of each shard."""
        starts = range(0, len(self.rows), self.shard_items)
        return [slice(start, min(start + self.shard_items, len(self.rows))) for start in starts]

    def save(self, folder: Path) -> None:
        """Write the manifest."""
        content = {"format": FORMAT, "version": VERSION, "key": self.key, "shard_items": self.shard_items}
        content |= {"identity": dict(self.identity), "rows": self.rows.tolist(), "ids": list(self.ids)}
        write_json(content, folder / "manifest.json")

    @classmethod
    def load(cls, folder: Path) -> "Manifest":
        """Read the manifest of a folder and prove that it is the one that was written."""
        if not (folder / "manifest.json").exists():
            raise DataError(f"{folder} holds no features", next_step="prepare them, or give the folder of a store")
        content = read_json(folder / "manifest.json", limit=MAX_BYTES)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise foreign(folder, "manifest.json does not describe features")
        if content.get("version") != VERSION:
            raise foreign(folder, f"it is of version {content.get('version')!r}, this release reads {VERSION}")
        try:
            rows = np.array(content["rows"], dtype=np.int64)
            manifest = cls(rows, tuple(content["ids"]), dict(content["identity"]), content["shard_items"])
            whole = content["key"] == manifest.key and manifest.identity["rows"] == _rows_digest(rows, manifest.ids)
        except (KeyError, TypeError, ValueError, OverflowError):
            whole = False
        if not whole:
            raise foreign(folder, "manifest.json was changed since it was written")
        return manifest


def describe(dataset: Dataset, rows: NDArray[np.int64], fingerprint: Mapping[str, Any], shard_items: int) -> Manifest:
    """The manifest of the features that an encoder of this fingerprint gives for these rows.

    A dataset's digest does not read its pictures, and collections exist with the same ids and sentences in
    several sizes; so the bytes of some pictures, spread over the rows, are a part of the identity, and of every
    picture its stamp, where the dataset has one.
    """
    ids = tuple(dataset.ids[row] for row in rows.tolist())
    sample = np.unique(np.linspace(0, len(rows) - 1, LOOKED_AT).astype(np.int64))
    pictures = "".join(_picture_digest(dataset, row) for row in rows[sample].tolist())
    identity = {
        "dataset": digest(dataset, labels=False),
        "rows": _rows_digest(rows, ids),  # the digest of a dataset does not know their order
        "pictures": hashlib.sha256(pictures.encode()).hexdigest(),
        "stamps": _stamps_digest(dataset, rows),
        "encoder": dict(fingerprint),
    }
    return Manifest(rows, ids, identity, shard_items)


def claim(home: Path, manifest: Manifest) -> Path:
    """The folder of a store below `home`, made when it is new, proven to be this store when it exists."""
    folder = home / manifest.key
    if (folder / "manifest.json").exists():
        if Manifest.load(folder).key != manifest.key:
            raise foreign(folder, "it was made for another dataset or by another encoder")
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(
            f"{folder} cannot be made ({error.strerror})", next_step="give a folder that you may write to"
        ) from error
    manifest.save(folder)
    return folder


def foreign(folder: Path, why: str) -> DataError:
    """The error for a folder whose content is not what it should be."""
    return DataError(f"the features in {folder} cannot be used: {why}", next_step=f"remove {folder} and prepare again")


def _rows_digest(rows: NDArray[np.int64], ids: Iterable[str]) -> str:
    lines = "".join(f"{row} {id_}\n" for row, id_ in zip(rows.tolist(), ids, strict=True))
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()


def _stamps_digest(dataset: Dataset, rows: NDArray[np.int64]) -> str | None:
    """SHA-256 over what tells of each picture whether it is still the same; None where the dataset cannot say."""
    stamp = getattr(dataset, "picture_stamp", None)
    if stamp is None:
        return None
    return hashlib.sha256("".join(f"{stamp(row)}\n" for row in rows.tolist()).encode()).hexdigest()


def _picture_digest(dataset: Dataset, row: int) -> str:
    try:
        return hashlib.sha256(dataset.picture(row)).hexdigest()
    except (Error, OSError):
        return "unreadable"
