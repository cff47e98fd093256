"""Exact Hamming search that looks at few codes: multi-index hashing, with the scan behind it.

Codes are cut into m substrings, and a table for each finds all codes with a given substring. Who
differs from a query in s bits differs in at most s // m bits in one of the substrings; therefore few
buckets hold everybody near (Norouzi, Punjani and Fleet: Fast exact search in Hamming space with
multi-index hashing, IEEE Transactions on Pattern Analysis and Machine Intelligence, 2014). A query
with too many codes around it is answered by the scan, so that none costs much more than scanning.
"""

import os
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes.answers import Neighbours, Within
from deepbinaries.codes.codes import Codes
from deepbinaries.codes.gallery import Gallery
from deepbinaries.codes.hamming import top_k, within
from deepbinaries.errors import DataError, UsageError
from deepbinaries.progress import track

MAX_BITS = 64  # at 128 bits even near codes share too few substrings for tables to pay
MAX_WIDTH = 24  # bits of a substring: 16 million buckets
MAX_ITEMS = 2**32 - 1
SHARE = 1 / 8  # of the rows that may be looked at before a scan is cheaper
MANY = 70_000_000  # codes from which on fewer and longer substrings are quicker: more buckets, but fewer rows in them
WORTHWHILE = 2_000_000  # codes from which on tables answer one query sooner than a scan, whatever the codes

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Certificate:
    """What makes each answer exact, and what it took; every array has one value a query."""

    radius: Counts  # every row within so many bits was seen
    ties: Counts  # rows at the last distance of `top_k`, or at the very radius of `within`
    looked_at: Counts  # rows that were compared, those of a scan included
    scanned: NDArray[np.bool_]  # whether the tables gave up and all rows were compared


class MultiIndex:
    """Codes of up to 64 bits with a table for each of their substrings. It never changes.

    Table j holds all codes sorted by substring j, the rows they come from, and for each value
    of the substring where its codes begin: 12 bytes a code and table, beside the codes themselves.

    >>> index = MultiIndex.build(Codes.from_bits([[0, 0], [1, 0], [0, 1]]))
    >>> found, certificate = index.top_k(Codes.from_bits([[1, 1]]), k=1)
    >>> found.rows.tolist(), found.distances.tolist(), certificate.ties.tolist()
    ([[1]], [[1]], [2])
    """

    def __init__(
        self,
        gallery: Gallery,
        widths: tuple[int, ...],
        tables: NDArray[np.uint64],
        ids: NDArray[np.uint32],
        offsets: NDArray[np.uint32],
    ):
        self.gallery = gallery
        self.widths = widths  # bits of each substring; the first begins at bit 0
        self.tables = tables  # (m, n)
        self.ids = ids  # (m, n)
        self.offsets = offsets  # (m, values of the longest substring + 1)
        for array in (tables, ids, offsets):
            array.flags.writeable = False
        lengths = np.array(widths, dtype=np.uint64)
        self._arrays = tables, ids, offsets, np.cumsum(lengths) - lengths, lengths

    @classmethod
    def build(cls, codes: Codes | Gallery, *, width: int | None = None) -> "MultiIndex":
        """The index of some codes; `width` is the most bits of a substring, and fits the number of codes unless given.

        >>> MultiIndex.build(Codes.from_bits(np.eye(40, dtype=int)))
        MultiIndex(40 x 40 bits, substrings of 14 + 13 + 13)
        """
        words = _words(Gallery.of(codes))
        bits, n = codes.bits, len(words)
        if width is None:
            width = 22 if n >= MANY else 16
        if not 1 <= width <= MAX_WIDTH:
            raise UsageError(f"width={width} is outside 1..{MAX_WIDTH}", next_step="16 is a good start")
        m = -(-bits // width)
        widths = tuple(bits // m + (j < bits % m) for j in range(m))
        tables, ids = np.empty((m, n), dtype=np.uint64), np.empty((m, n), dtype=np.uint32)
        offsets = np.zeros((m, 2 ** widths[0] + 1), dtype=np.uint32)
        for j in track(range(m), "building the index"):
            substrings = (words >> np.uint64(sum(widths[:j])) & np.uint64(2 ** widths[j] - 1)).astype(np.uint32)
            ids[j] = _order(substrings)
            np.take(words, ids[j], out=tables[j])
            np.cumsum(np.bincount(substrings, minlength=2 ** widths[0]), out=offsets[j, 1:], dtype=np.uint32)
        return cls(Gallery([words[None]], bits), widths, tables, ids, offsets)

    def top_k(self, queries: Codes, k: int, *, threads: int | None = None) -> tuple[Neighbours, Certificate]:
        """What `deepbinaries.codes.top_k` finds, row by row, and how it was found; `threads` serve a scan."""
        self._check(queries)
        if k < 1:
            raise UsageError(f"k={k} asks for nothing", next_step="ask for at least one neighbour")
        k = min(k, len(self))
        rows, distances = (np.empty((len(queries), k), dtype=np.int64) for _ in range(2))
        certificate = _blank(len(queries))
        for q, query in enumerate(queries.columns()[0] if k else []):
            keys = self._keys(query, k, self.gallery.bits, q, certificate)
            if not certificate.scanned[q]:
                if len(keys) < k:
                    raise DataError("tables and codes of the index differ", next_step="build it again")
                rows[q], distances[q] = _rows_and_distances(np.partition(keys, k - 1)[:k])
                certificate.ties[q] = np.count_nonzero(keys >> np.uint64(32) == distances[q, -1])
        left = np.flatnonzero(certificate.scanned)
        if left.size:
            scan = top_k(queries[left], self.gallery, k, threads=threads)
            rows[left], distances[left], certificate.ties[left] = scan.rows, scan.distances, scan.ties
        return Neighbours(rows, distances, certificate.ties), certificate

    def within(self, queries: Codes, radius: int, *, threads: int | None = None) -> tuple[Within, Certificate]:
        """What `deepbinaries.codes.within` finds, row by row, and how it was found; `threads` serve a scan.

        >>> index = MultiIndex.build(Codes.from_bits([[0, 0], [1, 0], [1, 1]]))
        >>> found, certificate = index.within(Codes.from_bits([[1, 1]]), radius=1)
        >>> found.rows.tolist(), found.distances.tolist(), certificate.ties.tolist()
        ([2, 1], [0, 1], [1])
        """
        self._check(queries)
        if radius < 0:
            raise UsageError(f"radius={radius} is negative", next_step="0 finds equal codes")
        radius = min(radius, self.gallery.bits)
        certificate = _blank(len(queries))
        parts = []
        for q, query in enumerate(queries.columns()[0]):
            keys = self._keys(query, len(self) + 1, radius, q, certificate)
            parts.append(_rows_and_distances(keys))
        left = np.flatnonzero(certificate.scanned)
        if left.size:
            scan = within(queries[left], self.gallery, radius, threads=threads)
            for place, q in enumerate(left.tolist()):
                parts[q] = scan[place]
        certificate.ties[:] = [np.count_nonzero(distances == radius) for _, distances in parts]
        nothing = np.empty(0, dtype=np.int64)
        all_rows = np.concatenate([nothing, *(rows for rows, _ in parts)])
        all_distances = np.concatenate([nothing, *(distances for _, distances in parts)])
        offsets = np.cumsum([0, *(len(rows) for rows, _ in parts)], dtype=np.int64)
        return Within(all_rows, all_distances, offsets), certificate

    def _check(self, queries: Codes) -> None:
        if queries.bits != self.gallery.bits:
            raise UsageError(
                f"queries have {queries.bits} bits and the index {self.gallery.bits}",
                next_step="encode both with the same model",
            )

    def _keys(self, query: np.uint64, k: int, radius: int, number: int, certificate: Certificate) -> NDArray[np.uint64]:
        """The keys (distance << 32 | row) of all rows that may be in the answer; none where it takes a scan."""
        keys, reached, looked_at = np.empty(0, dtype=np.uint64), -1, 0
        if loops := _loops():
            budget = int(SHARE * len(self))
            keys, reached, looked_at = loops.search(*self._arrays, query, k, radius, budget)
        certificate.scanned[number] = reached < 0
        certificate.radius[number] = self.gallery.bits if reached < 0 else reached
        certificate.looked_at[number] = looked_at + (len(self) if reached < 0 else 0)
        return keys

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays, the codes included."""
        return self.gallery.segments[0].nbytes + self.tables.nbytes + self.ids.nbytes + self.offsets.nbytes

    def __len__(self) -> int:
        return len(self.gallery)

    def __repr__(self) -> str:
        return f"MultiIndex({len(self)} x {self.gallery.bits} bits, substrings of {' + '.join(map(str, self.widths))})"


def worthwhile(n: int, bits: int) -> bool:
    """Whether single queries over n codes are answered sooner by an index than by a scan.

    `benchmarks/multi_index.py` measures where that is so: uniform codes, the hardest, break even between
    one and two million, and codes of more than 64 bits are too far apart for tables. Many queries
    at once share the reading of a scan, and are worth an index from about five million codes on.

    >>> worthwhile(10_000_000, bits=64), worthwhile(10_000, bits=64), worthwhile(10_000_000, bits=128)
    (True, False, False)
    """
    return bits <= MAX_BITS and WORTHWHILE <= n <= MAX_ITEMS


def _blank(n_queries: int) -> Certificate:
    radius, ties, looked_at = (np.zeros(n_queries, dtype=np.int64) for _ in range(3))
    return Certificate(radius, ties, looked_at, np.zeros(n_queries, dtype=np.bool_))


def _words(gallery: Gallery) -> NDArray[np.uint64]:
    """The codes of a gallery, one word each."""
    if gallery.bits > MAX_BITS:
        raise UsageError(
            f"an index holds codes of at most {MAX_BITS} bits, these have {gallery.bits}", next_step="search with top_k"
        )
    if gallery.hidden is not None:
        raise UsageError(
            f"an index finds every row, and {len(gallery) - gallery.n_visible} of these are hidden",
            next_step="build it from the visible codes alone",
        )
    if len(gallery) > MAX_ITEMS:
        raise UsageError(f"an index holds at most {MAX_ITEMS:,} codes", next_step="build several")
    words = [segment[0] for segment in gallery.segments]
    return words[0] if len(words) == 1 else np.concatenate([np.empty(0, dtype=np.uint64), *words])


def _order(substrings: NDArray[np.uint32]) -> Counts:
    """The rows by substring, equal ones in their order; 16 bits at a time, which numpy sorts without comparing."""
    order = np.argsort(substrings.astype(np.uint16), kind="stable")
    high = (substrings >> np.uint32(16)).astype(np.uint16)
    return order[np.argsort(high[order], kind="stable")] if high.any() else order


def _rows_and_distances(keys: NDArray[np.uint64]) -> tuple[Counts, Counts]:
    keys = np.sort(keys)
    return (keys & np.uint64(2**32 - 1)).astype(np.int64), (keys >> np.uint64(32)).astype(np.int64)


def _loops() -> ModuleType | None:
    """The compiled loops, where numba can be imported and is not unwanted."""
    if os.environ.get("DEEPBINARIES_SEARCH") == "numpy":
        return None
    try:
        from deepbinaries.codes import multi_index_compiled
    except ImportError:
        return None
    return multi_index_compiled
