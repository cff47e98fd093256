"""Exact Hamming search at the speed of memory: the compiled loops with their tiles, segments and threads.

The method is tile minima. First, for each query and each tile of consecutive rows, the least
distance in the tile: nothing else is kept, so that rows stream through registers. The minima of k
tiles bound the k-th distance, and only tiles that reach below the bound are looked at again.
Every function answers as its namesake in `deepbinaries.codes.reference` does.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import compiled, counting
from deepbinaries.codes.answers import Neighbours, Within
from deepbinaries.codes.gallery import Gallery
from deepbinaries.codes.reference import Distances, Masks, Words

TILE = 256  # rows
COUNTED_WORDS = 1 << 15  # that all queries meet before the next: 256 KB of cache, and no more rows than 16 bits count
MOST_QUERIES = 256  # at once
MOST_MINIMA = 1 << 24  # kept at once: 32 MB
MOST_KEPT = 1 << 22  # rows that may be kept as candidates at once, over all queries
WORTH_A_THREAD = 1_000_000  # comparisons; waking a thread takes as long as many thousands of them

Counts = NDArray[np.int64]


class Segment(NamedTuple):  # quicker to make than a dataclass, and one query makes several
    """One segment as the loops want it."""

    columns: tuple[NDArray[np.uint64], ...]
    hidden: NDArray[np.uint8] | None
    rows_before: int
    tiles_before: int
    n_tiles: int


class Scan(NamedTuple):
    """Some queries, and the least distance of each to every tile of the gallery."""

    queries: Words
    segments: list[Segment]
    tile: int  # rows
    minima: NDArray[np.uint16]  # (queries, tiles of all segments)
    threads: int


def distances(queries: Words, gallery: Gallery) -> Iterator[Distances]:
    total: Distances = np.empty(len(gallery), dtype=np.uint8 if gallery.bits < 256 else np.uint16)
    segments = _segments(gallery, TILE)
    for query in _read_only(queries):
        for segment in segments:
            compiled.all_distances(segment.columns, query, total[segment.rows_before :])
        yield total


def top_k(queries: Words, gallery: Gallery, k: int, threads: int) -> Neighbours:
    parts = [_nearest(scan, k) for scan in _scans(queries, gallery, _tile(gallery, k), threads, kept=_capacity(k))]
    return Neighbours(*(parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))))


def top_k_with_ties(queries: Words, gallery: Gallery, k: int, threads: int) -> Within:
    scans = _scans(queries, gallery, _tile(gallery, k), threads, kept=_capacity(k))
    return _together([_inside(scan, _nearest(scan, k)[1][:, -1]) for scan in scans])


def within(queries: Words, gallery: Gallery, radii: Counts, threads: int) -> Within:
    parts, asked = [], 0
    for scan in _scans(queries, gallery, TILE, threads):
        parts.append(_inside(scan, radii[asked : asked + len(scan.queries)]))
        asked += len(scan.queries)
    return _together(parts)


def histograms(
    queries: Words, gallery: Gallery, query_masks: Masks, gallery_masks: Masks, threads: int
) -> tuple[Counts, Counts]:
    n_distances = 64 * gallery.n_words + 1  # not bits + 1: bits set in the padding must not lead out of an array
    everything = np.zeros((len(queries), n_distances), dtype=np.int64)
    relevant = np.zeros_like(everything)
    asking, asked = _bytes(queries), _bytes(query_masks.T)
    n_rows = max(1, min(COUNTED_WORDS // gallery.n_words, len(gallery)))

    def count(begin: int, end: int) -> None:
        near = np.empty((2, n_rows), dtype=np.uint8 if n_distances <= 256 else np.uint16)
        for start, columns in zip(gallery.starts.tolist(), gallery.segments, strict=False):
            of_part = slice(start, start + columns.shape[1])
            hidden = None if gallery.hidden is None else gallery.hidden[of_part].view(np.uint8)
            masks = _read_only(gallery_masks[:, of_part])
            counting.histograms(columns, hidden, masks, asking, asked, near, everything, relevant, begin, end)

    _in_threads(count, len(queries), _worthwhile(threads, queries, gallery))
    return everything[:, : gallery.bits + 1], relevant[:, : gallery.bits + 1]


def _tile(gallery: Gallery, k: int) -> int:
    """Small tiles bound the k-th distance more tightly, large ones are scanned faster."""
    return TILE if len(gallery) >= 4000 * k else TILE // 4


def _capacity(k: int) -> int:
    """How many rows are kept for a query before those beyond the k nearest are dropped."""
    return k + max(k, 4 * TILE)


def _scans(queries: Words, gallery: Gallery, tile: int, threads: int, kept: int = 1) -> Iterator[Scan]:
    """The queries with their minima, as many at a time as memory is meant for; one part even where there are none."""
    segments, threads = _segments(gallery, tile), _worthwhile(threads, queries, gallery)
    n_tiles = sum(segment.n_tiles for segment in segments)
    step = max(1, min(MOST_QUERIES, MOST_MINIMA // max(1, n_tiles), MOST_KEPT // kept))
    for start in range(0, max(1, len(queries)), step):
        asking = _read_only(queries[start : start + step])
        minima = np.empty((len(asking), n_tiles), dtype=np.uint16)
        scan = Scan(asking, segments, tile, minima, threads)
        _in_threads(partial(_write_minima, scan), n_tiles, threads)
        yield scan


def _write_minima(scan: Scan, first_tile: int, last_tile: int) -> None:
    for part in scan.segments:
        first, last = max(first_tile - part.tiles_before, 0), min(last_tile - part.tiles_before, part.n_tiles)
        of_part = part.columns, part.hidden, part.tiles_before
        compiled.tile_minima(*of_part, scan.queries, scan.tile, first, last, scan.minima)


def _nearest(scan: Scan, k: int) -> tuple[Counts, Counts, Counts]:
    """Rows, distances and ties of the queries of a scan."""
    n_queries, n_words = scan.queries.shape
    state = np.zeros((n_queries, 4), dtype=np.int64)
    # Not bits + 1: bits set in the padding must not lead out of an array.
    counts = np.zeros((n_queries, 64 * n_words + 2), dtype=np.int64)
    kept = tuple(np.empty((n_queries, _capacity(k)), dtype=dtype) for dtype in (np.int64, np.uint16))
    rows, near = np.empty((n_queries, k), dtype=np.int64), np.empty((n_queries, k), dtype=np.int64)
    found = rows, near, np.empty(n_queries, dtype=np.int64)

    def select(begin: int, end: int) -> None:
        for part in scan.segments:
            of_part = part.columns, part.hidden, part.tiles_before, part.rows_before
            compiled.nearest(*of_part, scan.queries, scan.tile, k, scan.minima, state, counts, *kept, found, begin, end)

    _in_threads(select, n_queries, scan.threads)
    return found


def _inside(scan: Scan, radii: Counts) -> tuple[Counts, Counts, Counts]:
    """Rows and distances of the queries of a scan below each other, and how many each query has."""
    n_queries = len(scan.queries)
    radii = np.ascontiguousarray(radii)  # a column of a matrix would be another type, and compiled for itself
    counts = np.zeros(n_queries, dtype=np.int64)

    def count(begin: int, end: int) -> None:
        for part in scan.segments:
            of_part = part.columns, part.hidden, part.tiles_before
            compiled.count_within(*of_part, scan.queries, scan.tile, scan.minima, radii, counts, begin, end)

    _in_threads(count, n_queries, scan.threads)
    ends = np.cumsum(counts)
    places = ends - counts
    rows, near = np.empty(counts.sum(), dtype=np.int64), np.empty(counts.sum(), dtype=np.uint16)

    def write(begin: int, end: int) -> None:
        for part in scan.segments:
            of_part = part.columns, part.hidden, part.tiles_before, part.rows_before
            compiled.write_within(
                *of_part, scan.queries, scan.tile, scan.minima, radii, places, ends, rows, near, begin, end
            )
        for of_query in (slice(ends[q] - counts[q], ends[q]) for q in range(begin, end)):
            order = np.argsort(near[of_query], kind="stable")
            rows[of_query], near[of_query] = rows[of_query][order], near[of_query][order]

    _in_threads(write, n_queries, scan.threads)
    return rows, near.astype(np.int64), counts


def _together(parts: list[tuple[Counts, Counts, Counts]]) -> Within:
    rows, near, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Within(rows, near, np.concatenate([[0], np.cumsum(counts)]))


def _segments(gallery: Gallery, tile: int) -> list[Segment]:
    segments, tiles_before = [], 0
    for start, columns in zip(gallery.starts.tolist(), gallery.segments, strict=False):
        n_rows = columns.shape[1]
        hidden = None if gallery.hidden is None else gallery.hidden[start : start + n_rows].view(np.uint8)
        n_tiles = -(-n_rows // tile)
        segments.append(Segment(tuple(columns), hidden, start, tiles_before, n_tiles))
        tiles_before += n_tiles
    return segments


def _worthwhile(threads: int, queries: Words, gallery: Gallery) -> int:
    return threads if len(queries) * len(gallery) >= WORTH_A_THREAD else 1


def _in_threads(task: Callable[[int, int], None], n: int, threads: int) -> None:
    """Call `task(begin, end)` for equal parts of 0..n, each in a thread of its own and the first one in this."""
    threads = min(threads, n)
    if threads <= 1:
        return task(0, n)
    first, *others = ((n * part // threads, n * (part + 1) // threads) for part in range(threads))
    elsewhere = [_helpers(threads - 1).submit(task, *part) for part in others]
    task(*first)
    for part in elsewhere:
        part.result()
    return None


@cache
def _helpers(threads: int) -> ThreadPoolExecutor:
    """Threads that stay and wait, since starting one takes as long as comparing a million codes."""
    return ThreadPoolExecutor(threads, thread_name_prefix="deepbinaries")


if hasattr(os, "register_at_fork"):  # threads do not follow into a forked process
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def _bytes(words: Words) -> NDArray[np.uint8]:
    """The words as bytes, (n, bytes), least significant first on every machine."""
    return _read_only(np.ascontiguousarray(words, dtype="<u8").view(np.uint8))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
