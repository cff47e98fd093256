"""Labels of items: which of L names each item carries, in compressed rows."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, unknown_name


@dataclass(frozen=True, eq=False)
class Labels:
    """The label sets of n items: item i carries `columns[offsets[i]:offsets[i + 1]]`, ascending, without repeats.

    >>> labels = Labels.from_names([["cat"], ["dog", "cat"], []])
    >>> labels.names, labels.of(1), len(labels)
    (('cat', 'dog'), ('cat', 'dog'), 3)
    """

    names: tuple[str, ...]
    offsets: NDArray[np.int64]  # (n + 1,)
    columns: NDArray[np.int64]  # (total,), indices into names

    @classmethod
    def from_names(cls, sets: Iterable[Collection[str]], names: Sequence[str] | None = None) -> "Labels":
        """Labels from a collection of names an item; `names` fixes their order, otherwise they are sorted."""
        sets = list(sets)
        for row, labels in enumerate(sets):
            if isinstance(labels, str):
                raise DataError(
                    f"row {row} is the text {labels!r}, not a collection of labels", next_step=f"give [{labels!r}]"
                )
        sets = [set(labels) for labels in sets]
        if names is None:
            names = sorted(set().union(*sets))
        column_of = {name: column for column, name in enumerate(names)}
        if len(column_of) != len(names):
            raise DataError("two labels have the same name", next_step="give every label a name of its own")
        for row, labels in enumerate(sets):
            unknown = labels - column_of.keys()
            if unknown:
                raise DataError(
                    f"row {row} carries the label {min(unknown)!r}, which is not in the list of labels",
                    next_step="add it to the list or correct the row",
                )
        return cls.from_columns([[column_of[name] for name in labels] for labels in sets], names)

    @classmethod
    def from_columns(cls, rows: Sequence[Collection[int]], names: Sequence[str]) -> "Labels":
        """Labels from a collection of indices into `names` an item."""
        ordered = [sorted(set(row)) for row in rows]
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in ordered], dtype=np.int64)]).astype(np.int64)
        columns = np.array([column for row in ordered for column in row], dtype=np.int64)
        outside = np.flatnonzero((columns < 0) | (columns >= len(names)))
        if outside.size:
            row = int(np.searchsorted(offsets, outside[0], side="right")) - 1
            raise DataError(
                f"row {row} carries label {columns[outside[0]]}, but there are {len(names)} (0 to {len(names) - 1})",
                next_step="correct the row or the list of labels",
            )
        return cls(tuple(names), offsets, columns)

    @classmethod
    def from_matrix(cls, matrix: NDArray[np.generic], names: Sequence[str] | None = None) -> "Labels":
        """Labels from an (n, L) matrix of 0 and 1.

        >>> Labels.from_matrix(np.array([[0, 1], [1, 1]])).sets()
        [(1,), (0, 1)]
        """
        matrix = np.asarray(matrix)
        if matrix.ndim != 2 or not np.isin(matrix, (0, 1)).all():
            raise DataError(
                f"a label matrix holds 0 and 1 only, one row an item; this one has shape {matrix.shape}",
                next_step="give 1 where an item carries a label",
            )
        names = names if names is not None else [str(column) for column in range(matrix.shape[1])]
        return cls.from_columns([np.flatnonzero(row).tolist() for row in matrix], names)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, row: int) -> tuple[str, ...]:
        """The names an item carries."""
        return tuple(self.names[column] for column in self.columns_of(row))

    def columns_of(self, row: int) -> NDArray[np.int64]:
        """The indices of the labels an item carries."""
        row = range(len(self))[row]  # counts from the end too, and refuses what is beyond
        return self.columns[self.offsets[row] : self.offsets[row + 1]]

    def sets(self) -> list[tuple[int, ...]]:
        """Every item's label indices."""
        return [tuple(part.tolist()) for part in np.split(self.columns, self.offsets[1:-1])] if len(self) else []

    def sizes(self) -> NDArray[np.int64]:
        """How many labels each item carries."""
        return np.diff(self.offsets)

    def counts(self) -> NDArray[np.int64]:
        """How many items carry each label."""
        return np.bincount(self.columns, minlength=len(self.names)).astype(np.int64)

    def matrix(self) -> NDArray[np.bool_]:
        """The (n, L) matrix of who carries what."""
        matrix = np.zeros((len(self), len(self.names)), dtype=bool)
        matrix[np.repeat(np.arange(len(self)), self.sizes()), self.columns] = True
        return matrix

    def masks(self) -> NDArray[np.uint64]:
        """The labels as (words, n) 64-bit masks: label j is bit j % 64 of word j // 64.

        Two items share a label when any of their words have a bit in common.

        >>> Labels.from_names([["a", "c"], ["b"]], names="abc").masks().tolist()
        [[5, 2]]
        """
        masks = np.zeros((max(1, -(-len(self.names) // 64)), len(self)), dtype=np.uint64)
        rows = np.repeat(np.arange(len(self)), self.sizes())
        np.bitwise_or.at(masks, (self.columns // 64, rows), np.uint64(1) << (self.columns % 64).astype(np.uint64))
        return masks

    def select(self, rows: NDArray[Any] | Sequence[int]) -> "Labels":
        """The labels of some rows, in the given order; a mask selects as it does for `Codes`."""
        rows = np.arange(len(self))[np.asarray(rows, dtype=None if len(rows) else np.int64)]
        sizes = self.sizes()[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
        return Labels(self.names, offsets, self.columns[np.repeat(self.offsets[rows], sizes) + within])

    def without(self, ignored: Collection[str]) -> "Labels":
        """The same items with some labels left out of every set; the names keep their places.

        >>> Labels.from_names([["cat", "person"], ["person"]]).without(["person"]).sets()
        [(0,), ()]
        """
        for name in ignored:
            if name not in self.names:
                raise unknown_name("label", name, self.names)
        gone = np.array([name in ignored for name in self.names], dtype=bool)
        keep = ~gone[self.columns]
        kept_before = np.concatenate([[0], np.cumsum(keep)]).astype(np.int64)
        return Labels(self.names, kept_before[self.offsets], self.columns[keep])

    def all_share(self) -> bool:
        """Whether every item shares a label with every other: then labels tell nothing apart.

        >>> [Labels.from_names(sets).all_share() for sets in ([["a", "b"], ["b"], ["b", "c"]], [["a"], ["b"]])]
        [True, False]
        """
        kinds = np.unique(self.masks(), axis=1)
        return all(((kinds & mask[:, None]) != 0).any(axis=0).all() for mask in kinds.T)  # most stop at the first

    def chance(self, queries: NDArray[np.integer], gallery: NDArray[np.integer]) -> float:
        """The probability that a random query and a random gallery item share a label; NaN where a side is empty.

        Counted over distinct label sets, so that the cost does not grow with queries x gallery.

        >>> labels = Labels.from_names([["a"], ["b"], ["a", "b"]])
        >>> labels.chance(np.array([0, 1]), np.array([1, 2]))
        0.75
        """
        if len(queries) == 0 or len(gallery) == 0:
            return float("nan")
        masks = self.masks()
        asked, n_asked = np.unique(masks[:, queries], axis=1, return_counts=True)
        stored, n_stored = np.unique(masks[:, gallery], axis=1, return_counts=True)
        shared = 0
        for mask, count in zip(asked.T, n_asked, strict=True):
            relevant = ((stored & mask[:, None]) != 0).any(axis=0)
            shared += int(count) * int(n_stored[relevant].sum())
        return shared / (len(queries) * len(gallery))
