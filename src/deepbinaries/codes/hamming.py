"""Exact Hamming search with numpy alone: the reference that every faster kernel is proven against.

All functions take `Codes` of one length. Distances are counts of differing bits, from popcounts
of XORed 64-bit words. Beside the gallery, memory holds one copy of it in columns and one query's row.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes.codes import Codes
from deepbinaries.errors import UsageError

Masks = NDArray[np.uint64]  # (words, n): bit j of an item says that it carries label j


@dataclass(frozen=True)
class Neighbours:
    """The k nearest rows of each query in (distance, row) order; fewer columns when the gallery is smaller."""

    rows: NDArray[np.int64]  # (queries, min(k, gallery))
    distances: NDArray[np.int64]  # the same shape
    ties: NDArray[np.int64]  # gallery rows at each query's last distance, those left out included


@dataclass(frozen=True)
class Within:
    """Every row within a radius of each query in (distance, row) order; query q owns offsets[q]:offsets[q + 1]."""

    rows: NDArray[np.int64]
    distances: NDArray[np.int64]
    offsets: NDArray[np.int64]  # (queries + 1,)

    def __getitem__(self, query: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        of_query = slice(self.offsets[query], self.offsets[query + 1])
        return self.rows[of_query], self.distances[of_query]


def distances(queries: Codes, gallery: Codes) -> Iterator[NDArray[np.unsignedinteger]]:
    """Each query's distances to the whole gallery, one row at a time. A row is valid until the next is asked for.

    >>> query, gallery = Codes.from_bits([[1, 1, 0]]), Codes.from_bits([[1, 1, 0], [0, 0, 1]])
    >>> [row.tolist() for row in distances(query, gallery)]
    [[0, 3]]
    """
    _same_length(queries, gallery)
    columns, words = gallery.columns(), queries.columns().T
    # A byte holds distances up to 255 only: longer codes would wrap around.
    total: NDArray[np.unsignedinteger] = np.empty(len(gallery), dtype=np.uint8 if gallery.bits < 256 else np.uint16)
    differing = np.empty(len(gallery), dtype=np.uint64)
    ones = np.empty(len(gallery), dtype=np.uint8)
    for query in words:
        for w, word in enumerate(query):
            np.bitwise_count(np.bitwise_xor(columns[w], word, out=differing), out=ones)
            if w == 0:
                total[:] = ones
            else:
                total += ones
        yield total


def all_distances(queries: Codes, gallery: Codes) -> NDArray[np.int64]:
    """The whole (queries, gallery) matrix; for small galleries and tests."""
    rows = [row.astype(np.int64) for row in distances(queries, gallery)]
    return np.array(rows, dtype=np.int64).reshape(len(queries), len(gallery))


def rowwise_distances(a: Codes, b: Codes) -> NDArray[np.int64]:
    """The distance of row i of `a` to row i of `b`, (n,).

    >>> rowwise_distances(Codes.from_bits([[1, 1], [0, 0]]), Codes.from_bits([[1, 0], [1, 1]])).tolist()
    [1, 2]
    """
    _same_length(a, b)
    if len(a) != len(b):
        raise UsageError(f"{len(a)} codes cannot be paired with {len(b)}", next_step="give one partner for every row")
    differing: NDArray[np.int64] = np.bitwise_count(a.packed ^ b.packed).sum(axis=1, dtype=np.int64)
    return differing


def top_k(queries: Codes, gallery: Codes, k: int) -> Neighbours:
    """The k nearest gallery rows of each query, exact, equal distances in row order.

    >>> query, gallery = Codes.from_bits([[1, 1]]), Codes.from_bits([[0, 0], [1, 0], [0, 1]])
    >>> found = top_k(query, gallery, k=1)
    >>> found.rows.tolist(), found.distances.tolist(), found.ties.tolist()
    ([[1]], [[1]], [2])
    """
    if k < 1:
        raise UsageError(f"k={k} asks for nothing", next_step="ask for at least one neighbour")
    k = min(k, len(gallery))
    found = np.empty((len(queries), k), dtype=np.int64)
    near = np.empty((len(queries), k), dtype=np.int64)
    ties = np.zeros(len(queries), dtype=np.int64)
    if k:
        for q, row in enumerate(distances(queries, gallery)):
            edge = np.partition(row, k - 1)[k - 1]
            shell = np.flatnonzero(row <= edge)
            order = shell[np.argsort(row[shell], kind="stable")]
            found[q], near[q] = order[:k], row[order[:k]]
            ties[q] = np.count_nonzero(row[shell] == edge)
    return Neighbours(found, near, ties)


def within(queries: Codes, gallery: Codes, radius: int) -> Within:
    """Every gallery row at most `radius` bits from each query.

    >>> query, gallery = Codes.from_bits([[1, 1]]), Codes.from_bits([[0, 0], [1, 0], [1, 1]])
    >>> rows, near = within(query, gallery, radius=1)[0]
    >>> rows.tolist(), near.tolist()
    ([2, 1], [0, 1])
    """
    if radius < 0:
        raise UsageError(f"radius={radius} is negative", next_step="0 finds equal codes")
    rows, near, offsets = [], [], [0]
    for row in distances(queries, gallery):
        inside = np.flatnonzero(row <= radius)
        order = inside[np.argsort(row[inside], kind="stable")]
        rows.append(order)
        near.append(row[order].astype(np.int64))
        offsets.append(offsets[-1] + len(order))
    empty = np.empty(0, dtype=np.int64)
    return Within(np.concatenate([empty, *rows]), np.concatenate([empty, *near]), np.array(offsets, dtype=np.int64))


def histograms(
    queries: Codes,
    gallery: Codes,
    query_masks: Masks | None = None,
    gallery_masks: Masks | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many gallery rows lie at each distance 0..bits, and how many of them share a label with the query.

    Both results are (queries, bits + 1). Masks are (words, n) label columns; without them nothing is relevant.

    >>> query, gallery = Codes.from_bits([[1, 1]]), Codes.from_bits([[0, 0], [1, 0], [0, 1]])
    >>> of_query, of_gallery = np.array([[1]], dtype=np.uint64), np.array([[1, 2, 3]], dtype=np.uint64)
    >>> everything, relevant = histograms(query, gallery, of_query, of_gallery)
    >>> everything.tolist(), relevant.tolist()
    ([[0, 2, 1]], [[0, 1, 1]])
    """
    n_distances = gallery.bits + 1
    everything = np.zeros((len(queries), n_distances), dtype=np.int64)
    relevant = np.zeros_like(everything)
    keys = np.empty(len(gallery), dtype=np.uint16)  # narrow: this loop is bound by memory
    for q, row in enumerate(distances(queries, gallery)):
        if query_masks is None or gallery_masks is None:
            everything[q] = np.bincount(row, minlength=n_distances)
            continue
        shares = _shares_a_label(query_masks[:, q], gallery_masks)
        # One count for both: irrelevant rows fall into the first half of the keys, relevant ones into the second.
        np.multiply(shares, n_distances, out=keys, dtype=np.uint16)
        keys += row
        counts = np.bincount(keys, minlength=2 * n_distances)
        relevant[q] = counts[n_distances:]
        everything[q] = counts[:n_distances] + relevant[q]
    return everything, relevant


def _shares_a_label(query: NDArray[np.uint64], gallery: Masks) -> NDArray[np.bool_]:
    shared = np.zeros(gallery.shape[1], dtype=np.uint64)
    for w in np.flatnonzero(query):  # a word without a label of the query has nothing to share
        shared |= gallery[w] & query[w]
    return np.not_equal(shared, 0)


def _same_length(queries: Codes, gallery: Codes) -> None:
    if queries.bits != gallery.bits:
        raise UsageError(
            f"queries have {queries.bits} bits and the gallery {gallery.bits}",
            next_step="encode both with the same model",
        )
