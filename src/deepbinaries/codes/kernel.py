"""Exact Hamming search at the speed of memory: the compiled loops with their tiles, segments and threads.

The method is tile minima. First, for each query and each tile of consecutive rows, the least
distance in the tile: nothing else is kept, so that rows stream through registers. The minima of k
tiles bound the k-th distance, and only tiles that reach below the bound are looked at again.
Every function answers as its namesake in `deepbinaries.codes.reference` does.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import compiled
from deepbinaries.codes.answers import Neighbours, Within
from deepbinaries.codes.gallery import Gallery
from deepbinaries.codes.reference import Distances, Masks, Words

TILE = 256  # rows
MOST_QUERIES = 256  # at once
MOST_MINIMA = 1 << 24  # kept at once: 32 MB
MOST_KEPT = 1 << 22  # rows that may be kept as candidates at once, over all queries
WORTH_A_THREAD = 1_000_000  # comparisons; starting a thread takes as long as many thousands of them

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Segment:
    """One segment as the loops want it."""

    columns: tuple[NDArray[np.uint64], ...]
    hidden: NDArray[np.uint8] | None
    rows_before: int
    tiles_before: int
    n_tiles: int


@dataclass(frozen=True)
class Scan:
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
    rows, near, ties = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Neighbours(rows, near, ties)


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
    everything = np.zeros((len(queries), 64 * gallery.n_words + 1), dtype=np.int64)
    relevant = np.zeros_like(everything)
    segments = _segments(gallery, TILE)
    asking, asked, masks = _read_only(queries), _read_only(query_masks.T), _read_only(gallery_masks)

    def count(begin: int, end: int) -> None:
        for part in segments:
            of_part = part.columns, part.hidden, part.rows_before
            compiled.histograms(*of_part, asking, masks, asked, everything, relevant, begin, end)

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
    n_distances = 64 * n_words + 1  # not bits + 1: bits set in the padding must not lead out of an array
    bounds = np.empty(n_queries, dtype=np.int64)
    state = np.zeros((n_queries, 3), dtype=np.int64)
    counts = np.zeros((n_queries, n_distances + 1), dtype=np.int64)
    kept = tuple(np.empty((n_queries, _capacity(k)), dtype=dtype) for dtype in (np.int64, np.uint16))
    rows, near = np.empty((n_queries, k), dtype=np.int64), np.empty((n_queries, k), dtype=np.int64)

    def select(begin: int, end: int) -> None:
        compiled.bound_distances(scan.minima, k, n_distances, bounds, begin, end)
        state[begin:end, 0] = bounds[begin:end] + 1
        for part in scan.segments:
            of_part = part.columns, part.hidden, part.tiles_before, part.rows_before
            compiled.nearest(
                *of_part, scan.queries, scan.tile, k, scan.minima, bounds, state, counts, *kept, begin, end
            )
        compiled.into_order(*kept, state, k, n_distances, rows, near, begin, end)

    _in_threads(select, n_queries, scan.threads)
    return rows, near, counts[np.arange(n_queries), state[:, 0]]


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
    threads = max(1, min(threads, n))
    parts = [(n * part // threads, n * (part + 1) // threads) for part in range(threads)]
    if threads == 1:
        return task(*parts[0])
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(task, *part) for part in parts[1:]]
        task(*parts[0])
    for other in others:
        other.result()
    return None


def _read_only(array: NDArray[np.uint64]) -> NDArray[np.uint64]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
