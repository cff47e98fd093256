"""What is relevant to a query: items that share a label, or the items that belong to it.

A grade says how relevant: 0 is not at all. Every metric but NDCG asks only whether it is above zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets.labels import Labels
from deepbinaries.errors import DataError, UsageError


class Relevance(Protocol):
    """Who is relevant to whom, one query at a time, so that no matrix of queries x gallery is held."""

    @property
    def n_queries(self) -> int: ...

    @property
    def n_gallery(self) -> int: ...

    @property
    def highest_grade(self) -> int:
        """No grade is above this one; at least 1."""

    def grades(self, query: int) -> NDArray[np.int64]:
        """How relevant each gallery item is to a query, (gallery,)."""


@dataclass(frozen=True, eq=False)
class SharedLabels:
    """Relevant is what shares a label with the query; the grade is the number of shared labels."""

    queries: NDArray[np.uint64]  # (words, queries) masks, as `Labels.masks` makes them
    gallery: NDArray[np.uint64]  # (words, gallery)

    @classmethod
    def of(cls, queries: Labels, gallery: Labels) -> "SharedLabels":
        """The relevance between two sets of labelled items, which must number their labels alike.

        >>> labels = Labels.from_names([["cat", "dog"], ["dog"], ["bird"]])
        >>> SharedLabels.of(labels.select([0]), labels).grades(0).tolist()
        [2, 1, 0]
        """
        if queries.names != gallery.names:
            raise DataError(
                "the labels of queries and gallery have different names or another order",
                next_step="select both from the labels of one dataset",
            )
        return cls(queries.masks(), gallery.masks())

    @property
    def n_queries(self) -> int:
        return int(self.queries.shape[1])

    @property
    def n_gallery(self) -> int:
        return int(self.gallery.shape[1])

    @property
    def highest_grade(self) -> int:
        return int(np.bitwise_count(self.queries).sum(axis=0, dtype=np.int64).max(initial=1))

    def grades(self, query: int) -> NDArray[np.int64]:
        shared: NDArray[np.int64] = np.bitwise_count(self.gallery & self.queries[:, query, None]).sum(
            axis=0, dtype=np.int64
        )
        return shared


@dataclass(frozen=True, eq=False)
class PairedItems:
    """Relevant are the items that belong to the query: its sentence, its five sentences, its picture."""

    offsets: NDArray[np.int64]  # (queries + 1,)
    rows: NDArray[np.int64]  # gallery rows; query q owns rows[offsets[q]:offsets[q + 1]]
    n_gallery: int

    @classmethod
    def from_ids(cls, query_ids: Sequence[str], gallery_ids: Sequence[str]) -> "PairedItems":
        """The pairs of equal ids; a gallery may hold an id several times, as the sentences of one picture do.

        >>> pairs = PairedItems.from_ids(["b", "c"], ["a", "b", "b"])
        >>> pairs.grades(0).tolist(), pairs.grades(1).tolist()
        ([0, 1, 1], [0, 0, 0])
        """
        rows_of: dict[str, list[int]] = {}
        for row, id_ in enumerate(gallery_ids):
            rows_of.setdefault(id_, []).append(row)
        positives = [rows_of.get(id_, []) for id_ in query_ids]
        offsets = np.cumsum([0, *map(len, positives)], dtype=np.int64)
        rows = np.array([row for rows in positives for row in rows], dtype=np.int64)
        return cls(offsets, rows, len(gallery_ids))

    @property
    def n_queries(self) -> int:
        return len(self.offsets) - 1

    @property
    def highest_grade(self) -> int:
        return 1

    def grades(self, query: int) -> NDArray[np.int64]:
        grades = np.zeros(self.n_gallery, dtype=np.int64)
        grades[self.rows[self.offsets[query] : self.offsets[query + 1]]] = 1
        return grades


def in_words(ignored_labels: Sequence[str] = ()) -> str:
    """How rules call relevance by shared labels.

    >>> in_words(), in_words(["person"])
    ('shared label', 'shared label without person')
    """
    return "shared label" + (f" without {', '.join(ignored_labels)}" if ignored_labels else "")


def own_rows(query_ids: Sequence[str], gallery_ids: Sequence[str]) -> NDArray[np.int64]:
    """Where each query lies in the gallery, -1 where it does not: what a search for its like leaves out.

    >>> own_rows(["b", "x"], ["a", "b"]).tolist()
    [1, -1]
    """
    row_of = {id_: row for row, id_ in enumerate(gallery_ids)}
    if len(row_of) != len(gallery_ids):
        raise UsageError(
            "the gallery holds an id twice, so a query has more than one place in it",
            next_step="give one row an item, or use PairedItems",
        )
    return np.array([row_of.get(id_, -1) for id_ in query_ids], dtype=np.int64)
