"""Rankings with ties, as counts: how many items stand at each place, and how many of them are relevant.

A bucket is the set of items that a ranking cannot tell apart: one Hamming distance, or one exact
score. Every metric of this room needs only the buckets, in order, never the order of the items.
Letters, as in the formulas: a bucket holds n items, R of them relevant; C items and P relevant
items stand in nearer buckets; m of its places lie within the first K ranks.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbinaries.codes import Codes, Gallery, distances, histograms, rowwise_distances
from deepbinaries.errors import DataError, MissingExtraError, UsageError
from deepbinaries.evaluation.relevance import Relevance, SharedLabels

CHUNK = 2**18  # counts held at once: a few megabytes an array, whatever the number of queries

Counts = NDArray[np.int64]
Counting = Callable[[Codes, slice], Counts]


@dataclass(frozen=True, eq=False)
class Buckets:
    """The buckets of some queries, nearest first: `counts[q, g, b]` items of grade g in bucket b of query q.

    Empty buckets are allowed anywhere; grade 0 is irrelevant.

    >>> ranking = Buckets.of([2, 3], relevant=[1, 0])
    >>> ranking.n.tolist(), ranking.R.tolist(), ranking.C.tolist(), ranking.P.tolist()
    ([[2, 3]], [[1, 0]], [[0, 2]], [[0, 1]])
    """

    counts: Counts  # (queries, grades, buckets)

    @classmethod
    def of(cls, items: ArrayLike, relevant: ArrayLike) -> "Buckets":
        """Buckets from numbers of items and of relevant items, (queries, buckets) or (buckets,) for one query."""
        n, R = np.atleast_2d(np.asarray(items, dtype=np.int64)), np.atleast_2d(np.asarray(relevant, dtype=np.int64))
        if n.shape != R.shape or (n < R).any() or (R < 0).any():
            raise UsageError("a bucket has fewer items than relevant ones", next_step="count both over the same items")
        return cls(np.stack([n - R, R], axis=1))

    @cached_property
    def n(self) -> Counts:
        """Items in each bucket, (queries, buckets)."""
        return self.counts[:, 0] + self.R

    @cached_property
    def R(self) -> Counts:  # noqa: N802  # the formulas' letter
        """Relevant items in each bucket."""
        if self.counts.shape[1] == 2:  # most often relevant is relevant, and a sum over one takes its time
            return self.counts[:, 1]
        R: Counts = self.counts[:, 1:].sum(axis=1)
        return R

    @cached_property
    def C(self) -> Counts:  # noqa: N802
        """Items in nearer buckets."""
        return np.cumsum(self.n, axis=1) - self.n

    @cached_property
    def P(self) -> Counts:  # noqa: N802
        """Relevant items in nearer buckets."""
        return np.cumsum(self.R, axis=1) - self.R

    @cached_property
    def with_relevant(self) -> Counts:
        """Where in (queries, buckets), both counted through, something relevant lies: in few buckets, mostly."""
        return np.flatnonzero(self.R)

    @cached_property
    def items(self) -> Counts:
        """N: items in the whole ranking of each query, (queries,)."""
        N: Counts = self.n.sum(axis=1)
        return N

    @cached_property
    def relevant(self) -> Counts:
        """Relevant items in the whole ranking of each query, (queries,)."""
        total: Counts = self.R.sum(axis=1)
        return total

    def places(self, k: int | None) -> Counts:
        """m: how many places of each bucket lie within the first k ranks."""
        if k is None:
            return self.n
        if k < 1:
            raise UsageError(f"the first {k} ranks hold nothing", next_step="look at the first rank at least")
        return np.clip(k - self.C, 0, self.n)

    def __len__(self) -> int:
        return len(self.counts)


def of_codes(
    queries: Codes,
    gallery: Codes,
    relevance: Relevance,
    *,
    own: Counts | None = None,
    graded: bool = False,
    device: str | None = None,
) -> Iterator[Buckets]:
    """The buckets of Hamming distance 0..bits, some queries at a time; no sort.

    `own` names the gallery row that is the query itself, to be left out (-1: none). With `graded`
    the counts keep the grades apart, as NDCG needs; otherwise relevant is relevant. Given a `device`,
    torch counts there where relevance is by shared labels, with the same result.

    >>> from deepbinaries.evaluation.relevance import PairedItems
    >>> query, gallery = Codes.from_bits([[1, 1]]), Codes.from_bits([[0, 1], [1, 0], [1, 1]])
    >>> buckets = next(of_codes(query, gallery, PairedItems.from_ids(["a"], ["a", "b", "c"])))
    >>> buckets.n.tolist(), buckets.R.tolist()
    ([[1, 2, 0]], [[0, 1, 0]])
    """
    check_sizes(len(queries), len(gallery), relevance)
    n_grades = (relevance.highest_grade if graded else 1) + 1
    if device is not None and isinstance(relevance, SharedLabels):
        count = _counting_on(device, gallery, relevance, n_grades)
    else:
        count = _counting(Gallery.of(gallery), relevance, n_grades, graded)
    for part in _parts(len(queries), CHUNK // (n_grades * (gallery.bits + 1))):
        counts = count(queries[part], part)
        if own is not None:
            for q in part.start + np.flatnonzero(own[part] >= 0):
                distance = rowwise_distances(queries[q], gallery[own[q]])
                counts[q - part.start, _grades(relevance, q, graded)[own[q]], distance] -= 1
        yield Buckets(counts)


def _counting(gallery: Gallery, relevance: Relevance, n_grades: int, graded: bool) -> Counting:
    """What counts items by grade and distance for some queries, given their codes and which of all they are."""
    n_distances = gallery.bits + 1

    def count(queries: Codes, part: slice) -> Counts:
        if isinstance(relevance, SharedLabels) and not graded:
            everything, relevant = histograms(queries, gallery, relevance.queries[:, part], relevance.gallery)
            return np.stack([everything - relevant, relevant], axis=1)
        counts = np.empty((len(queries), n_grades, n_distances), dtype=np.int64)
        for q, row in enumerate(distances(queries, gallery)):
            keys = row + n_distances * _grades(relevance, part.start + q, graded)
            counts[q] = np.bincount(keys, minlength=n_grades * n_distances).reshape(n_grades, n_distances)
        return counts

    return count


def _counting_on(device: str, gallery: Codes, relevance: SharedLabels, n_grades: int) -> Counting:
    try:
        from deepbinaries.evaluation.on_device import counting
    except ImportError as missing:
        raise MissingExtraError(missing.name or "torch", "train") from missing
    return counting(gallery, relevance, n_grades, device)


def of_costs(
    costs: Iterable[NDArray[Any]],
    relevance: Relevance,
    *,
    own: Counts | None = None,
    graded: bool = False,
    by_row: bool = False,
) -> Iterator[Buckets]:
    """The buckets of exactly equal costs, lowest first; `costs` gives one (gallery,) row a query.

    Nothing is rounded: two costs are tied when they are the same number. With `by_row` equal costs
    are ordered by gallery row and every bucket holds one item, as a stable sort would have it.

    >>> from deepbinaries.evaluation.relevance import PairedItems
    >>> pairs = PairedItems.from_ids(["a"], ["x", "a", "y"])
    >>> next(of_costs([np.array([0.5, 0.5, 0.1])], pairs)).R.tolist()
    [[0, 1]]
    >>> next(of_costs([np.array([0.5, 0.5, 0.1])], pairs, by_row=True)).R.tolist()
    [[0, 0, 1]]
    """
    n_grades = (relevance.highest_grade if graded else 1) + 1
    pending: list[Counts] = []
    for query, row in enumerate(costs):
        cost, grades = row, _grades(relevance, query, graded)
        if len(cost) != len(grades):
            raise UsageError(f"{len(cost)} costs for {len(grades)} items", next_step="give one cost an item")
        if cost.dtype.kind == "f" and np.isnan(cost).any():
            raise DataError(
                f"query {query} has a score that is NaN, for gallery row {np.flatnonzero(np.isnan(cost))[0]}",
                next_step="a NaN has no place in a ranking: look for a division by zero or a diverged network",
            )
        if own is not None and own[query] >= 0:
            cost, grades = np.delete(cost, own[query]), np.delete(grades, own[query])
        pending.append(_counts_of_costs(cost, grades, n_grades, by_row))
        if sum(counts.size for counts in pending) >= CHUNK:
            yield _side_by_side(pending)
            pending = []
    if pending:
        yield _side_by_side(pending)


def _counts_of_costs(cost: NDArray[Any], grades: Counts, n_grades: int, by_row: bool) -> Counts:
    order = np.argsort(cost, kind="stable" if by_row else None)
    ordered = cost[order]
    begins = np.ones(len(cost), dtype=bool)  # does an item open a new bucket?
    if not by_row:
        begins[1:] = ordered[1:] != ordered[:-1]
    bucket = np.cumsum(begins) - 1
    n_buckets = int(begins.sum())
    keys = bucket + n_buckets * grades[order]
    return np.bincount(keys, minlength=n_grades * n_buckets).reshape(n_grades, n_buckets)


def _side_by_side(pending: list[Counts]) -> Buckets:
    """Queries with different numbers of buckets as one array; the shorter end with empty buckets."""
    width = max(1, *(part.shape[1] for part in pending))
    counts = np.zeros((len(pending), len(pending[0]), width), dtype=np.int64)
    for q, part in enumerate(pending):
        counts[q, :, : part.shape[1]] = part
    return Buckets(counts)


def _grades(relevance: Relevance, query: Any, graded: bool) -> Counts:
    grades = relevance.grades(query)
    return grades if graded else (grades > 0).astype(np.int64)


def _parts(n: int, size: int) -> Iterator[slice]:
    size = max(1, size)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def check_sizes(n_queries: int, n_gallery: int, relevance: Relevance) -> None:
    """Refuse relevance that is known for other numbers of items than are ranked."""
    if (n_queries, n_gallery) != (relevance.n_queries, relevance.n_gallery):
        raise UsageError(
            f"there are {n_queries} queries and {n_gallery} gallery items, but relevance is known for "
            f"{relevance.n_queries} and {relevance.n_gallery}",
            next_step="give the labels or ids of the same rows as the codes",
        )
