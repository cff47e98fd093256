"""Shards of a store: arrays of region features, each written whole, with a note beside it that proves it.

A shard counts as done when its note is there; the note holds the shard's size and checksum, the pictures in it that
could not be read, and a digest of all this.
"""

import fcntl
import hashlib
import json
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, Error
from deepbinaries.files import read_json, write_json, written_whole

CHUNK = 4 * 2**20  # bytes looked at together while a checksum is computed


@dataclass(frozen=True)
class Note:
    """What is known of a shard that is done."""

    shape: tuple[int, int, int]
    crc32: int  # of the numbers; it guards against a failing disk and a broken copy, not against malice
    failures: Mapping[str, str]  # ids of pictures that could not be read, with the reason; their features are zeros


def shard_path(folder: Path, shard: int) -> Path:
    """Where a shard's features are.

    >>> shard_path(Path("store"), 7).name
    'regions-00007.npy'
    """
    return folder / f"regions-{shard:05d}.npy"


def note_path(folder: Path, shard: int) -> Path:
    """Where a shard's note is."""
    return shard_path(folder, shard).with_suffix(".json")


def write_shard(folder: Path, shard: int, parts: Sequence[NDArray[np.float16]], failures: Mapping[str, str]) -> None:
    """Write a shard, whose features come in parts, and its note, unless another process has done so in the meantime."""
    shape = (sum(map(len, parts)), *parts[0].shape[1:])
    contents = [np.ascontiguousarray(part, dtype="<f2").data.cast("B") for part in parts]
    crc32 = 0
    for content in contents:
        crc32 = zlib.crc32(content, crc32)
    with _alone(folder):
        if note_path(folder, shard).exists():
            return  # its features may differ from these in their last digit: shard and note belong together
        for left_behind in folder.glob(".regions-*.part"):
            left_behind.unlink()  # of a run that was killed while it wrote: nobody else writes now
        with written_whole(shard_path(folder, shard)) as file:
            # np.save would do, but does not say why the operating system refused to write.
            header = {"descr": "<f2", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for content in contents:
                file.write(content)
        facts = {"shape": shape, "crc32": crc32, "failures": dict(failures)}
        write_json(facts | {"sha256": _digest(facts)}, note_path(folder, shard))


def read_note(folder: Path, shard: int, ids: Collection[str]) -> Note:
    """The note of a shard that is done, proven to be as it was written and to speak of these items."""
    path = note_path(folder, shard)
    content = read_json(path)
    try:
        digest = content.pop("sha256")
        if digest != _digest(content):
            raise ValueError("its digest is another one")
        shape = tuple(content["shape"])
        failures = {str(id_): str(reason) for id_, reason in content["failures"].items()}
        if len(shape) != 3 or not all(type(side) is int and side > 0 for side in shape):
            raise ValueError(f"shape {shape}")
        if strangers := failures.keys() - set(ids):
            raise ValueError(f"{min(strangers)!r} is not in the shard")
        return Note(shape, int(content["crc32"]), failures)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _corrupt(folder, shard, f"its note makes no sense ({error!r})") from error


def open_shard(folder: Path, shard: int, note: Note) -> "np.memmap[Any, np.dtype[np.float16]]":
    """The features of a shard as a memory map, their type, shape and size proven."""
    path = shard_path(folder, shard)
    try:
        regions = np.lib.format.open_memmap(path, mode="r")
        n_bytes = path.stat().st_size
    except FileNotFoundError:
        raise _corrupt(folder, shard, "the file is not there") from None
    except (OSError, ValueError) as error:
        raise _corrupt(folder, shard, f"it cannot be read: {error}") from error
    if regions.dtype != np.dtype("<f2") or regions.shape != note.shape or not regions.flags.c_contiguous:
        raise _corrupt(folder, shard, f"it holds {regions.dtype} {regions.shape}, not float16 {note.shape}")
    if n_bytes != regions.offset + regions.nbytes:
        raise _corrupt(folder, shard, f"it has {n_bytes:,} bytes, not {regions.offset + regions.nbytes:,}")
    return regions


def check_shard(folder: Path, shard: int, note: Note) -> None:
    """Prove every byte of a shard by its checksum."""
    regions = open_shard(folder, shard, note)
    crc32 = 0
    with shard_path(folder, shard).open("rb") as file:
        file.seek(regions.offset)
        while chunk := file.read(CHUNK):  # not through the memory map, whose pages would stay with this process
            crc32 = zlib.crc32(chunk, crc32)
    if crc32 != note.crc32:
        raise _corrupt(folder, shard, "its bytes are not the ones that were written")


def _digest(facts: Mapping[str, Any]) -> str:
    """SHA-256 over what a note says."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _corrupt(folder: Path, shard: int, what: str) -> DataError:
    return DataError(
        f"the features in {shard_path(folder, shard)} are damaged: {what}",
        next_step=f"remove {note_path(folder, shard)} and prepare again; only this shard is made anew",
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Only one process at a time is in here; the lock of a killed one is gone with it."""
    try:
        with (folder / "lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise Error(
            f"{folder} cannot be written to ({error.strerror})", next_step="check its permissions and free space"
        ) from error
