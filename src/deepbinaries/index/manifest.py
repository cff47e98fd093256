"""The manifest of an index of shards: which segments each of them has, in one file that is the one place of commits.

    shards.json                     this, below its digest
    shards/00000/segments/….codes   codes and ids of a shard, written once (`deepbinaries.index.segments`)
    lock                            held by the process that writes

A change writes its segments first, and then a manifest that takes the place of the one before in a single step. So
whatever is cut where, all shards are as before the change or all are as after it. Nothing but these files is needed
to read: no lock, no database, nothing that machines would have to share besides a disk.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import MAX_BITS
from deepbinaries.errors import CorruptIndexError, DataError, Error
from deepbinaries.files import read_bytes
from deepbinaries.index.catalogue import State
from deepbinaries.index.durable import UNFINISHED, sync_folder, write_durably
from deepbinaries.index.folders import make_folders
from deepbinaries.index.ids import Ids, fingerprints
from deepbinaries.index.ray_settings import MOST
from deepbinaries.index.segments import FOLDER as SEGMENTS
from deepbinaries.index.segments import segment_path

FILE = "shards.json"
FOLDER = "shards"
FORMAT = 1
REMEDY = "copy the index anew, or restore a copy of its folder"

_LIMIT = 2**31  # bytes; removed rows take some six each


@dataclass(frozen=True)
class Manifest:
    """One version of an index of shards."""

    version: int  # one more with every commit
    shards: tuple[State, ...]  # the version of each is that of the commit which changed it last

    @property
    def bits(self) -> int:
        """The length of a code."""
        return self.shards[0].bits

    @cached_property
    def text(self) -> str:
        """The manifest as it is written."""
        shards = [json.loads(state.to_json()) for state in self.shards]
        return json.dumps({"format": FORMAT, "version": self.version, "shards": shards}, sort_keys=True)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything: no other version has it, not even one of an index that was made anew."""
        return _digest(self.text)

    def __len__(self) -> int:
        return sum(record.n_visible for state in self.shards for record in state.segments)


def shard_folder(root: Path, place: int) -> Path:
    """The folder of a shard.

    >>> shard_folder(Path("codes"), 2).as_posix()
    'codes/shards/00002'
    """
    return root / FOLDER / f"{place:05d}"


def shards_of(ids: Ids, n_shards: int) -> NDArray[np.int64]:
    """The shard that each id belongs to, (n,): by its fingerprint, which is part of the format and never changes.

    >>> shards_of(Ids.sorted(["beach", "boat", "dog"])[0], 4).tolist()
    [2, 2, 0]
    """
    prints = fingerprints(ids.text, ids.starts) >> np.uint64(32)
    return ((prints * np.uint64(n_shards)) >> np.uint64(32)).astype(np.int64)


def create(root: Path, bits: int, n_shards: int) -> None:
    """Make an index without items; only for whoever holds its lock."""
    for place in range(n_shards):
        make_folders(shard_folder(root, place))
    commit(root, Manifest(1, (State(bits, version=1, next_number=0),) * n_shards))


def commit(root: Path, manifest: Manifest) -> None:
    """Put a manifest in the place of the one before. When this returns, it survives a power cut."""
    content = f"{manifest.digest}\n{manifest.text}\n".encode("ascii")
    if len(content) > _LIMIT:  # nobody could read it
        raise Error(f"too many items are removed from {root} to be listed", next_step="call compact, then go on")
    write_durably(root / FILE, [content])
    sync_folder(root)


def read_manifest(root: Path) -> Manifest:
    """The newest manifest, proven by its digest."""
    if not (root / FILE).exists():
        if has_segments(root):
            raise damaged(root, f"{FILE} is gone")
        raise DataError(f"there is no index of shards in {root}", next_step="check the path, or copy an index there")
    try:
        digest, _, text = read_bytes(root / FILE, limit=_LIMIT).decode("ascii").rstrip("\n").partition("\n")
        if digest != _digest(text):
            raise ValueError("it does not match its digest")
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise DataError(
                f"the index {root} has format {content['format']}, this release knows {FORMAT}",
                next_step="update deepbinaries",
            )
        shards = tuple(State.from_json(json.dumps(state)) for state in content["shards"])
        if not (1 <= len(shards) <= MOST and all(map(_is_plain, shards))):
            raise ValueError("it describes no shards")
        return Manifest(int(content["version"]), shards)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(root, f"{FILE} is not as it was written ({error})") from error


def has_segments(root: Path) -> bool:
    """Whether a folder has held items, whatever became of its manifest."""
    return any((root / FOLDER).glob(f"*/{SEGMENTS}/*.codes"))


def tidy(root: Path, manifest: Manifest) -> None:
    """Remove what changes that were cut short have left; only for whoever holds the lock."""
    (root / (FILE + UNFINISHED)).unlink(missing_ok=True)
    known = _paths(root, manifest)
    for path in (root / FOLDER).glob(f"*/{SEGMENTS}/*"):
        if path not in known:
            path.unlink(missing_ok=True)


def remove_replaced(root: Path, before: Manifest, after: Manifest) -> None:
    """Remove the segments that a commit has replaced; whoever reads from them keeps them open."""
    for path in _paths(root, before) - _paths(root, after):
        path.unlink(missing_ok=True)


def damaged(root: Path, what: str) -> CorruptIndexError:
    """The error for an index of shards that is not as it was written."""
    return CorruptIndexError(f"the index {root} is damaged: {what}", next_step=REMEDY)


def _paths(root: Path, manifest: Manifest) -> set[Path]:
    """Where the segments of all shards are."""
    return {
        segment_path(shard_folder(root, place), record.number)
        for place, state in enumerate(manifest.shards)
        for record in state.segments
    }


def _is_plain(state: State) -> bool:
    """Whether the numbers of a shard are numbers: paths and sizes are made of them."""
    of_segments = (number for record in state.segments for number in (record.number, record.rows, record.id_bytes))
    return all(type(number) is int for number in (state.bits, *of_segments)) and 1 <= state.bits <= MAX_BITS


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
