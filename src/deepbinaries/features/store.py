"""A store: the region features of a dataset's pictures on disk, read from memory-mapped shards."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.manifest import Manifest, foreign
from deepbinaries.features.region_array import RegionArray
from deepbinaries.features.shards import check_shard, note_path, open_shard, read_note
from deepbinaries.progress import track


class FeatureStore:
    """Region features of rows of a dataset; what is asked for is read, in any order, and nothing else."""

    def __init__(self, folder: str | Path):
        """Open a store that is complete. Types and sizes are proven here; `check` proves every byte."""
        self.folder = Path(folder)
        self.manifest = Manifest.load(self.folder)
        items, missing = self.manifest.shards(), unfinished(self.folder, self.manifest)
        if missing:
            raise DataError(
                f"{folder} lacks {len(missing):,} of {len(items):,} shards",
                next_step="prepare again with the same settings; what is done is kept",
            )
        ids = self.manifest.ids
        self._notes = [read_note(self.folder, shard, ids[part]) for shard, part in enumerate(items)]
        self._shards = [open_shard(self.folder, shard, note) for shard, note in enumerate(self._notes)]
        one_shape = self._notes[0].shape[1:]
        if [note.shape for note in self._notes] != [(part.stop - part.start, *one_shape) for part in items]:
            raise foreign(self.folder, "its shards do not fit together")

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows of the dataset whose features are here, ascending."""
        return self.manifest.rows

    @property
    def failures(self) -> dict[str, str]:
        """The ids of the pictures that could not be read, with the reason; their features are zeros."""
        return {id_: reason for note in self._notes for id_, reason in note.failures.items()}

    @property
    def failed(self) -> NDArray[np.int64]:
        """The rows of the pictures that could not be read."""
        failures = self.failures
        pairs = zip(self.rows.tolist(), self.manifest.ids, strict=True)
        return np.array([row for row, id_ in pairs if id_ in failures], dtype=np.int64)

    def regions(self, rows: Any) -> NDArray[np.float16]:
        """The features of rows of the dataset, (n, K + 1, width + 4), in memory."""
        return self.as_array(rows)[:]

    def as_array(self, rows: Any = None) -> RegionArray:
        """The features of rows of the dataset, or of all that are here, left on disk until they are asked for."""
        positions = None if rows is None else places(self.rows, rows, of="features")
        return RegionArray(
            self._shards,
            shard_items=self.manifest.shard_items,
            positions=positions,
            checksums=tuple(note.crc32 for note in self._notes),
        )

    def check(self, *, progress: bool = True) -> None:
        """Prove every byte of every shard."""
        for shard in track(range(len(self._notes)), "checking features", mode="" if progress else "quiet"):
            check_shard(self.folder, shard, self._notes[shard])


def unfinished(folder: Path, manifest: Manifest) -> list[int]:
    """The shards that are still to be made."""
    return [shard for shard in range(len(manifest.shards())) if not note_path(folder, shard).exists()]


def places(known: NDArray[np.int64], rows: Any, *, of: str) -> NDArray[np.int64]:
    """Where the rows stand among the known ones, which ascend.

    >>> places(np.array([2, 5, 9]), [9, 2], of="features").tolist()
    [2, 0]
    """
    asked: NDArray[np.int64] = np.asarray(rows, dtype=np.int64)
    found = np.minimum(np.searchsorted(known, asked), len(known) - 1).astype(np.int64)
    unknown = asked[known[found] != asked]
    if unknown.size:
        raise UsageError(
            f"{unknown.size:,} rows have no {of} (first: row {unknown[0]})",
            next_step="prepare all the rows that are asked for",
        )
    return found
