"""Exact Hamming search: the compiled kernel where numba can be imported, numpy alone elsewhere, with one answer.

All functions take queries as `Codes` and a gallery as `Codes`, or as `Gallery` when it is searched
more than once. Distances are counts of differing bits.
"""

import os
from collections import Counter
from collections.abc import Iterator
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import reference
from deepbinaries.codes.answers import Neighbours, Within
from deepbinaries.codes.codes import Codes
from deepbinaries.codes.gallery import Gallery
from deepbinaries.codes.reference import Distances, Masks, Words
from deepbinaries.errors import Error, UsageError

# Words that numpy compares in about the time that loading the kernel takes.
WORTH_LOADING = 50_000_000

_compared: Counter[tuple[str, int]] = Counter()  # words compared so far, by task and length of code


def distances(queries: Codes, gallery: Codes | Gallery) -> Iterator[Distances]:
    """Each query's distances to every row, hidden or not, one query at a time.

    What is given is valid until the next is asked for.

    >>> query, gallery = Codes.from_bits([[1, 1, 0]]), Codes.from_bits([[1, 1, 0], [0, 0, 1]])
    >>> [row.tolist() for row in distances(query, gallery)]
    [[0, 3]]
    """
    words, gallery = _aligned(queries, gallery)
    rows: Iterator[Distances] = _engine("distances", words, gallery).distances(words, gallery)
    return rows


def all_distances(queries: Codes, gallery: Codes | Gallery) -> NDArray[np.int64]:
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


def top_k(queries: Codes, gallery: Codes | Gallery, k: int, *, threads: int | None = None) -> Neighbours:
    """The k nearest gallery rows of each query, exact, equal distances in row order.

    `threads` is the number of cores to use; unless given, all of them or as many as OMP_NUM_THREADS says.

    >>> query, gallery = Codes.from_bits([[1, 1]]), Codes.from_bits([[0, 0], [1, 0], [0, 1]])
    >>> found = top_k(query, gallery, k=1)
    >>> found.rows.tolist(), found.distances.tolist(), found.ties.tolist()
    ([[1]], [[1]], [2])
    """
    words, gallery = _aligned(queries, gallery)
    k = _at_most(k, gallery)
    if not k:
        nothing = np.empty((len(queries), 0), dtype=np.int64)
        return Neighbours(nothing, nothing, np.zeros(len(queries), dtype=np.int64))
    found: Neighbours = _engine("top_k", words, gallery).top_k(words, gallery, k, _cores(threads))
    return found


def top_k_with_ties(queries: Codes, gallery: Codes | Gallery, k: int, *, threads: int | None = None) -> Within:
    """The k nearest gallery rows of each query and all that lie as far as the last of them.

    Whoever orders equal distances by ids of their own finds every candidate here.

    >>> query, gallery = Codes.from_bits([[1, 1]]), Codes.from_bits([[0, 0], [1, 0], [0, 1]])
    >>> top_k_with_ties(query, gallery, k=1).rows.tolist()
    [1, 2]
    """
    words, gallery = _aligned(queries, gallery)
    k = _at_most(k, gallery)
    if not k:
        nothing = np.empty(0, dtype=np.int64)
        return Within(nothing, nothing, np.zeros(len(queries) + 1, dtype=np.int64))
    found: Within = _engine("top_k", words, gallery).top_k_with_ties(words, gallery, k, _cores(threads))
    return found


def within(queries: Codes, gallery: Codes | Gallery, radius: int, *, threads: int | None = None) -> Within:
    """Every gallery row at most `radius` bits from each query.

    >>> query, gallery = Codes.from_bits([[1, 1]]), Codes.from_bits([[0, 0], [1, 0], [1, 1]])
    >>> rows, near = within(query, gallery, radius=1)[0]
    >>> rows.tolist(), near.tolist()
    ([2, 1], [0, 1])
    """
    if radius < 0:
        raise UsageError(f"radius={radius} is negative", next_step="0 finds equal codes")
    words, gallery = _aligned(queries, gallery)
    radii = np.full(len(queries), min(radius, gallery.bits), dtype=np.int64)
    found: Within = _engine("within", words, gallery).within(words, gallery, radii, _cores(threads))
    return found


def histograms(
    queries: Codes,
    gallery: Codes | Gallery,
    query_masks: Masks | None = None,
    gallery_masks: Masks | None = None,
    *,
    threads: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many gallery rows lie at each distance 0..bits, and how many of them share a label with the query.

    Both results are (queries, bits + 1). Masks are (words, n) label columns; without them nothing is relevant.

    >>> query, gallery = Codes.from_bits([[1, 1]]), Codes.from_bits([[0, 0], [1, 0], [0, 1]])
    >>> of_query, of_gallery = np.array([[1]], dtype=np.uint64), np.array([[1, 2, 3]], dtype=np.uint64)
    >>> everything, relevant = histograms(query, gallery, of_query, of_gallery)
    >>> everything.tolist(), relevant.tolist()
    ([[0, 2, 1]], [[0, 1, 1]])
    """
    words, gallery = _aligned(queries, gallery)
    if query_masks is None or gallery_masks is None:
        query_masks, gallery_masks = (np.empty((0, n), dtype=np.uint64) for n in (len(queries), len(gallery)))
    expected = (len(query_masks), len(queries)), (len(query_masks), len(gallery))
    if (query_masks.shape, gallery_masks.shape) != expected:
        raise UsageError(
            f"masks of shapes {query_masks.shape} and {gallery_masks.shape} do not belong to "
            f"{len(queries)} queries and {len(gallery)} gallery rows",
            next_step="give (words, n) columns of one labelling, one for each code",
        )
    engine = _engine("histograms", words, gallery)
    counts: tuple[NDArray[np.int64], NDArray[np.int64]] = engine.histograms(
        words, gallery, query_masks, gallery_masks, _cores(threads)
    )
    return counts


def _engine(task: str, queries: Words, gallery: Gallery) -> ModuleType:
    """The module that does the work: `DEEPBINARIES_SEARCH` chooses numba or numpy.

    Unless it does, numpy serves small tasks until they add up to what loading the kernel costs.
    """
    wish = os.environ.get("DEEPBINARIES_SEARCH", "")
    if wish not in ("", "numba", "numpy"):
        raise UsageError(f"DEEPBINARIES_SEARCH={wish!r} is no way to search", next_step="say numba or numpy")
    kind = task, gallery.n_words
    _compared[kind] += queries.size * len(gallery)
    if wish == "numpy" or (not wish and _compared[kind] < WORTH_LOADING):
        return reference
    try:
        from deepbinaries.codes import kernel
    except ImportError as error:
        if wish:
            raise Error(
                f"numba cannot be imported ({error})", next_step="install it, or unset DEEPBINARIES_SEARCH"
            ) from error
        return reference
    return kernel


def _cores(threads: int | None) -> int:
    """As many as are asked for, or as `OMP_NUM_THREADS` allows, or else all that this process may use."""
    if threads is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(threads, int(limit))) if limit.isdecimal() else threads
    if threads < 1:
        raise UsageError(f"threads={threads} cannot work", next_step="give at least one")
    return threads


def _at_most(k: int, gallery: Gallery) -> int:
    if k < 1:
        raise UsageError(f"k={k} asks for nothing", next_step="ask for at least one neighbour")
    return min(k, gallery.n_visible)


def _aligned(queries: Codes, gallery: Codes | Gallery) -> tuple[Words, Gallery]:
    """The queries as rows of words, and the gallery, whose codes must have their length."""
    _same_length(queries, gallery)
    return queries.columns().T, Gallery.of(gallery)


def _same_length(queries: Codes, gallery: Codes | Gallery) -> None:
    if queries.bits != gallery.bits:
        raise UsageError(
            f"queries have {queries.bits} bits and the gallery {gallery.bits}",
            next_step="encode both with the same model",
        )
