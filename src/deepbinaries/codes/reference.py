"""Exact Hamming search with numpy alone: the judge of the compiled kernel, and its stand-in where numba is missing.

Distances are counts of differing bits, from popcounts of XORed 64-bit words. Beside the gallery,
memory holds a few values for each of its rows.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes.answers import Neighbours, Within
from deepbinaries.codes.gallery import Gallery

Distances = NDArray[np.unsignedinteger]
Words = NDArray[np.uint64]  # (queries, words)
Masks = NDArray[np.uint64]  # (words, n): bit j of an item says that it carries label j


def distances(queries: Words, gallery: Gallery) -> Iterator[Distances]:
    """Each query's distances to every row, hidden or not. A row is valid until the next is asked for."""
    # A byte holds distances up to 255 only: longer codes would wrap around.
    total: Distances = np.empty(len(gallery), dtype=np.uint8 if gallery.bits < 256 else np.uint16)
    largest = max((segment.shape[1] for segment in gallery.segments), default=0)
    differing, ones = np.empty(largest, dtype=np.uint64), np.empty(largest, dtype=np.uint8)
    for query in queries:
        for start, columns in zip(gallery.starts, gallery.segments, strict=False):
            n = columns.shape[1]
            of_segment = total[start : start + n]
            for w, word in enumerate(query):
                np.bitwise_count(np.bitwise_xor(columns[w], word, out=differing[:n]), out=ones[:n])
                if w == 0:
                    of_segment[:] = ones[:n]
                else:
                    of_segment += ones[:n]
        yield total


def top_k(queries: Words, gallery: Gallery, k: int, threads: int) -> Neighbours:  # noqa: ARG001  # numpy has but one
    """The k nearest visible rows of each query; k is between 1 and their number."""
    found = np.empty((len(queries), k), dtype=np.int64)
    near = np.empty((len(queries), k), dtype=np.int64)
    ties = np.zeros(len(queries), dtype=np.int64)
    visible = _visible(gallery)
    for q, row in enumerate(distances(queries, gallery)):
        seen = row if visible is None else row[visible]
        edge = np.partition(seen, k - 1)[k - 1]
        shell = np.flatnonzero(seen <= edge)
        order = shell[np.argsort(seen[shell], kind="stable")][:k]
        near[q] = seen[order]
        found[q] = order if visible is None else visible[order]
        ties[q] = np.count_nonzero(seen[shell] == edge)
    return Neighbours(found, near, ties)


def top_k_with_ties(queries: Words, gallery: Gallery, k: int, threads: int) -> Within:
    """The k nearest visible rows of each query, and all at the distance of the last of them."""
    return within(queries, gallery, top_k(queries, gallery, k, threads).distances[:, -1], threads)


def within(queries: Words, gallery: Gallery, radii: NDArray[np.int64], threads: int) -> Within:  # noqa: ARG001
    """Every visible row at most `radii[q]` bits from query q."""
    rows, near, offsets = [], [], [0]
    for row, radius in zip(distances(queries, gallery), radii, strict=True):
        inside = row <= radius
        if gallery.hidden is not None:
            inside &= ~gallery.hidden
        shell = np.flatnonzero(inside)
        order = shell[np.argsort(row[shell], kind="stable")]
        rows.append(order)
        near.append(row[order].astype(np.int64))
        offsets.append(offsets[-1] + len(order))
    empty = np.empty(0, dtype=np.int64)
    return Within(np.concatenate([empty, *rows]), np.concatenate([empty, *near]), np.array(offsets, dtype=np.int64))


def histograms(
    queries: Words,
    gallery: Gallery,
    query_masks: Masks,
    gallery_masks: Masks,
    threads: int,  # noqa: ARG001
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many visible rows lie at each distance 0..bits, and how many of them share a label with the query."""
    n_distances = gallery.bits + 1
    everything = np.zeros((len(queries), n_distances), dtype=np.int64)
    relevant = np.zeros_like(everything)
    keys = np.empty(len(gallery), dtype=np.uint16)  # narrow: this loop is bound by memory
    visible = _visible(gallery)
    for q, row in enumerate(distances(queries, gallery)):
        shares = _shares_a_label(query_masks[:, q], gallery_masks)
        # One count for both: irrelevant rows fall into the first half of the keys, relevant ones into the second.
        np.multiply(shares, n_distances, out=keys, dtype=np.uint16)
        keys += row
        counts = np.bincount(keys if visible is None else keys[visible], minlength=2 * n_distances)
        relevant[q] = counts[n_distances:]
        everything[q] = counts[:n_distances] + relevant[q]
    return everything, relevant


def _visible(gallery: Gallery) -> NDArray[np.int64] | None:
    return None if gallery.hidden is None else np.flatnonzero(~gallery.hidden)


def _shares_a_label(query: NDArray[np.uint64], gallery: Masks) -> NDArray[np.bool_]:
    shared = np.zeros(gallery.shape[1], dtype=np.uint64)
    for w in np.flatnonzero(query):  # a word without a label of the query has nothing to share
        shared |= gallery[w] & query[w]
    return np.not_equal(shared, 0)
