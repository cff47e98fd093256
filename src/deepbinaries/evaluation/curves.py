"""Precision and recall as curves: by rank, and by Hamming radius.

By rank, both are expected values over tie orders, exact at every rank. By radius whole buckets are
retrieved, so ties do not matter; a query that finds nothing inside a radius has no precision: it
counts as 0 in the mean over queries (macro), and the share of such queries is told beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbinaries.evaluation.average_precision import mean_over_queries
from deepbinaries.evaluation.buckets import Buckets, Counts

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankCurve:
    """Mean precision and recall over the first k ranks, expected over tie orders."""

    ranks: Counts
    precision: Floats
    recall: Floats
    eleven_points: Floats  # interpolated precision at recall 0, 0.1, ... 1, on each query's expected curve


@dataclass(frozen=True, eq=False)
class RadiusCurve:
    """Precision and recall of everything within radius 0..bits."""

    precision: Floats  # macro: the mean over queries, lookup failures counting as 0
    recall: Floats
    failures: Floats  # share of queries with nothing inside the radius
    micro_precision: Floats  # all queries' items in one pot; NaN where the pot is empty
    micro_recall: Floats


def default_ranks(n_items: int) -> Counts:
    """Every rank of a small gallery, otherwise some 200, evenly spread on a logarithmic axis.

    >>> default_ranks(5).tolist()
    [1, 2, 3, 4, 5]
    """
    if n_items <= 200:
        return np.arange(1, n_items + 1)
    return np.unique(np.geomspace(1, n_items, 200).round().astype(np.int64))


def found_by_rank(buckets: Buckets, ranks: Counts | Sequence[int]) -> Floats:
    """The expected number of relevant items among the first k ranks for each k, (queries, ranks).

    >>> found_by_rank(Buckets.of([1, 4], relevant=[1, 2]), [1, 2, 5]).tolist()
    [[1.0, 1.5, 3.0]]
    """
    found = np.empty((len(buckets), len(ranks)))
    for q, (n, R) in enumerate(zip(buckets.n, buckets.R, strict=True)):
        filled = n > 0
        # Between the ends of buckets the expectation is a straight line.
        ends = np.concatenate([[0], np.cumsum(n[filled])])
        found[q] = np.interp(ranks, ends, np.concatenate([[0], np.cumsum(R[filled])]))
    return found


def eleven_points(buckets: Buckets) -> Floats:
    """Interpolated precision at recall 0, 0.1, ... 1 on the expected curve, (queries, 11); NaN without relevant items.

    Interpolated: the highest precision at any rank whose recall is at least that. The highest of an
    expected curve is not the expected highest, so this is a property of the curve, not an average.

    >>> eleven_points(Buckets.of([1, 1, 1, 1], relevant=[1, 0, 0, 1]))[0, [0, 5, 6, 10]].tolist()
    [1.0, 1.0, 0.5, 0.5]
    """
    points = np.full((len(buckets), 11), np.nan)
    for q in np.flatnonzero(buckets.relevant):
        keep = buckets.R[q] > 0
        n, R, C, P = (letter[q, keep] for letter in (buckets.n, buckets.R, buckets.C, buckets.P))
        for i in range(11):
            # The first place j of each bucket at which 10 (P + jR/n) >= i * relevant, in whole numbers.
            j = np.maximum(-((10 * P - i * buckets.relevant[q]) * n // (10 * R)), 1)
            reached = j <= n
            # Inside a bucket the curve rises or falls throughout, so one of its ends is the highest.
            first = (P + j * R / n) / (C + j)
            points[q, i] = np.maximum(first, (P + R) / (C + n))[reached].max()
    return points


def by_rank(found: Floats, points: Floats, relevant: Counts, ranks: Counts, empty: str) -> RankCurve:
    """The mean curve of all queries, from `found_by_rank` and `eleven_points`."""
    found = np.where(relevant[:, None] > 0, found, np.nan)
    recall = found / np.maximum(relevant, 1)[:, None]
    return RankCurve(ranks, *(_column_means(of, empty) for of in (found / ranks, recall, points)))


def by_radius(n: Counts, R: Counts, empty: str) -> RadiusCurve:
    """The curve over radius 0..bits, from every query's items and relevant items at each distance.

    >>> curve = by_radius(np.array([[0, 2, 2]]), np.array([[0, 1, 0]]), "skip")
    >>> curve.precision.tolist(), curve.recall.tolist(), curve.failures.tolist()
    ([0.0, 0.5, 0.25], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0])
    """
    used = R.sum(axis=1) > 0 if empty == "skip" else np.ones(len(R), dtype=bool)
    inside, found = np.cumsum(n[used], axis=1), np.cumsum(R[used], axis=1)
    pot, of_pot, relevant = inside.sum(axis=0), found.sum(axis=0), found[:, -1]
    return RadiusCurve(
        precision=(found / np.maximum(inside, 1)).mean(axis=0),
        recall=(found / np.maximum(relevant, 1)[:, None]).mean(axis=0),
        failures=(inside == 0).mean(axis=0),
        micro_precision=np.where(pot > 0, of_pot / np.maximum(pot, 1), np.nan),
        micro_recall=of_pot / max(1, relevant.sum()),
    )


def _column_means(matrix: Floats, empty: str) -> Floats:
    return np.array([mean_over_queries(column, empty) for column in matrix.T])
