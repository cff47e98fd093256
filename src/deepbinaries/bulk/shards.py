"""Codes on disk in shards, each with a marker that is written when everything else of it is on the disk.

A shard is what `deepbinaries encode` writes, `NAME.npy` with `NAME.npy.json` and `NAME.ids.txt`, and `NAME.done.json`:
the digests of those files, and the pictures that could not be read, with the reasons. What has no marker does not
count, and is removed by the next run.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepbinaries.codes import Codes, load, save
from deepbinaries.errors import DataError, Error
from deepbinaries.files import read_bytes, read_json, written_whole
from deepbinaries.index.durable import sync_file, sync_folder, write_durably

FORMAT, VERSION = "deepbinaries-shard", 1
DONE = ".done.json"
MOST_ITEMS = 100_000  # of a shard
MOST_BYTES = 2**28  # of each of its files
NAME = re.compile(r"([0-9]{6,})-[0-9a-f]{8}")


@dataclass(frozen=True)
class Shard:
    """The codes of some pictures, and why others have none."""

    name: str
    ids: Sequence[str]
    codes: Codes
    failures: Mapping[str, str] = field(default_factory=dict)  # reasons by id


def write_shard(folder: Path, shard: Shard) -> dict[str, Any]:
    """Write the files of a shard, and give back what its marker has to say: without it, they do not count yet."""
    codes, ids = folder / f"{shard.name}.npy", folder / f"{shard.name}.ids.txt"
    save(shard.codes, codes)
    with written_whole(ids) as file:
        file.write("".join(f"{id_}\n" for id_ in shard.ids).encode())
    files = (codes, codes.with_name(f"{codes.name}.json"), ids)
    try:
        for path in files:
            with path.open("rb") as file:
                sync_file(file.fileno())
        sync_folder(folder)
    except OSError as error:
        raise _unwritable(folder, error) from error
    digests = {path.name: hashlib.sha256(read_bytes(path, limit=MOST_BYTES)).hexdigest() for path in files}
    return {
        "format": FORMAT,
        "version": VERSION,
        "items": len(shard.ids),
        "files": digests,
        "failures": dict(shard.failures),
    }


def mark_done(folder: Path, name: str, marker: Mapping[str, Any]) -> None:
    """Say that a shard is whole; it stays so, whatever happens."""
    try:
        write_durably(folder / f"{name}{DONE}", [json.dumps(marker, indent=1).encode("ascii")])
        sync_folder(folder)
    except OSError as error:
        raise _unwritable(folder, error) from error


def read_shards(folder: str | Path) -> Iterator[Shard]:
    """The shards of a folder in the order of their names, each proven by the digests in its marker."""
    folder = Path(folder)
    for name in names(folder):
        yield _read_shard(folder, name)


def names(folder: Path) -> list[str]:
    """The names of the shards that are whole."""
    found = (path.name.removesuffix(DONE) for path in folder.glob(f"*{DONE}"))
    return sorted((name for name in found if NAME.fullmatch(name)), key=lambda name: (_number(name), name))


def next_number(folder: Path) -> int:
    """A number that no shard of a folder has."""
    return max((_number(name) for name in names(folder)), default=-1) + 1


def sweep(folder: Path) -> None:
    """Remove what earlier runs left of shards that never became whole."""
    done = set(names(folder))
    for path in folder.iterdir():
        # Unfinished files of a disk that went away begin with a dot, and end in `.part`.
        begins = NAME.match(path.name.removeprefix("."))
        if begins and begins[0] not in done:
            with suppress(OSError):  # what cannot be removed does no harm: it has no marker
                path.unlink()


def _number(name: str) -> int:
    return int(name.partition("-")[0])


def _read_shard(folder: Path, name: str) -> Shard:
    place = folder / f"{name}{DONE}"
    marker = read_json(place, limit=MOST_BYTES)
    try:
        if (marker["format"], marker["version"]) != (FORMAT, VERSION):
            raise _damaged(folder, name, f"it is no {FORMAT} of version {VERSION}")
        files, failures = dict(marker["files"]), {str(id_): str(why) for id_, why in dict(marker["failures"]).items()}
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(folder, name, f"{place.name} says nothing of it") from error
    expected = {f"{name}.npy", f"{name}.npy.json", f"{name}.ids.txt"}
    if set(files) != expected:
        raise _damaged(folder, name, f"{place.name} names other files")
    contents = {file: _content(folder, name, file) for file in expected}
    for file, content in contents.items():
        if hashlib.sha256(content).hexdigest() != files[file]:
            raise _damaged(folder, name, f"{file} is not as it was written")
    codes = load(folder / f"{name}.npy")
    ids = contents[f"{name}.ids.txt"].decode().split("\n")[:-1]
    if len(ids) != len(codes):
        raise _damaged(folder, name, f"it has {len(ids):,} ids for {len(codes):,} codes")
    return Shard(name, ids, codes, failures)


def _content(folder: Path, name: str, file: str) -> bytes:
    try:
        return read_bytes(folder / file, limit=MOST_BYTES)
    except DataError as error:
        raise _damaged(folder, name, error.problem) from error


def _damaged(folder: Path, name: str, what: str) -> DataError:
    return DataError(
        f"the shard {name} in {folder} is damaged: {what}",
        next_step=f"remove its files, {name}.*, and encode again: only its pictures are looked at",
    )


def _unwritable(folder: Path, error: OSError) -> Error:
    return Error(
        f"{folder} cannot be written ({error.strerror})",
        next_step="check its permissions and the free space; run again",
    )
