"""Region features that stay on disk: indexed like a numpy array, read where they are asked for."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from deepbinaries.errors import UsageError


class RegionArray:
    """An (n, K + 1, width + 4) array over memory-mapped shards of `shard_items` items each.

    Indexing reads and copies the items that are named; `select` names items and reads nothing.

    >>> array = RegionArray([np.zeros((2, 3, 5), np.float16), np.ones((1, 3, 5), np.float16)], shard_items=2)
    >>> array.shape, array[[2, 0]].sum(axis=(1, 2)).tolist(), array.select([2]).shape
    ((3, 3, 5), [15.0, 0.0], (1, 3, 5))
    """

    def __init__(
        self,
        shards: Sequence[NDArray[np.float16]],
        *,
        shard_items: int,
        positions: NDArray[np.int64] | None = None,  # of the items, counted over all shards; all of them without it
        checksums: tuple[int, ...] | None = None,  # of the shards, where they are known
    ):
        self._shards = [np.asarray(shard) for shard in shards]  # indexing a memory map itself is slow
        self._shard_items = shard_items
        self._positions = np.arange(sum(map(len, shards)), dtype=np.int64) if positions is None else positions
        self._checksums = checksums

    @property
    def shape(self) -> tuple[int, int, int]:
        _, n_regions, width = self._shards[0].shape
        return len(self._positions), n_regions, width

    @property
    def dtype(self) -> np.dtype[np.float16]:
        return np.dtype(np.float16)

    @property
    def ndim(self) -> int:
        return 3

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """What the items take when they are read."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return len(self._positions)

    def select(self, rows: Any) -> "RegionArray":
        """These items, in this order (a slice, a list or a mask), still on disk."""
        chosen = self._chosen(rows)
        return RegionArray(self._shards, shard_items=self._shard_items, positions=chosen, checksums=self._checksums)

    @property
    def identity(self) -> str | None:
        """A digest that no other items have, made without reading one; None where no checksums are known.

        It is of the checksums of whole shards, so that it is another one as well when neighbours of the items change.
        """
        if self._checksums is None:
            return None
        shards = np.unique(self._positions // self._shard_items).tolist()
        facts = [self._shard_items, [[shard, self._checksums[shard]] for shard in shards]]
        return hashlib.sha256(json.dumps(facts).encode() + self._positions.tobytes()).hexdigest()

    def __getitem__(self, index: Any) -> NDArray[np.float16]:
        """The features as numpy gives them; of `array[items, regions, columns]` no more than that is read."""
        items, *rest = index if isinstance(index, tuple) else (index,)
        if isinstance(items, int | np.integer):
            found: NDArray[np.float16] = self._read(self._chosen([items]), tuple(rest))[0]
            return found
        return self._read(self._chosen(items), tuple(rest))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("features on disk cannot be had without a copy")
        return self[:].astype(dtype or self.dtype, copy=False)

    def _chosen(self, rows: Any) -> NDArray[np.int64]:
        # An empty list has no type of its own, and numpy would take it for reals.
        rows = rows if isinstance(rows, slice) or len(rows) else np.empty(0, np.int64)
        try:
            positions: NDArray[np.int64] = self._positions[rows]
        except IndexError as error:
            raise UsageError(f"features of these items are not here ({error})", next_step="ask for others") from error
        return positions

    def _read(self, positions: NDArray[np.int64], rest: tuple[Any, ...]) -> NDArray[np.float16]:
        found = np.empty((len(positions), *self._shards[0][0][rest].shape), dtype=np.float16)
        shards, places = np.divmod(positions, self._shard_items)
        # An item is some hundred kilobytes in one piece: item by item, each byte is copied once.
        for row, (shard, place) in enumerate(zip(shards.tolist(), places.tolist(), strict=True)):
            found[row] = self._shards[shard][place][rest]
        return found
