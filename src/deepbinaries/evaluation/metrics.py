"""Precision, recall, hits and ranks, all as expected values over every order of tied items.

Each function gives one number a query, NaN where nothing is relevant to it.
"""

import numpy as np
from numpy.typing import NDArray

from deepbinaries.evaluation.buckets import Buckets, Counts
from deepbinaries.evaluation.harmonic import harmonic_between

PerQuery = NDArray[np.float64]


def found_at(buckets: Buckets, k: int) -> PerQuery:
    """The expected number of relevant items among the first k ranks.

    >>> found_at(Buckets.of([1, 4], relevant=[1, 2]), k=2).item()
    1.5
    """
    found = (buckets.R * buckets.places(k) / np.maximum(buckets.n, 1)).sum(axis=1)
    return np.where(buckets.relevant > 0, found, np.nan)


def precision_at(buckets: Buckets, k: int) -> PerQuery:
    """The expected share of relevant items among the first k ranks; ranks beyond the gallery count as misses."""
    return found_at(buckets, k) / k


def recall_at(buckets: Buckets, k: int) -> PerQuery:
    """The expected share of the relevant items that stand among the first k ranks."""
    return found_at(buckets, k) / np.maximum(buckets.relevant, 1)


def hit_at(buckets: Buckets, k: int) -> PerQuery:
    """The probability that at least one relevant item is among the first k ranks: "R@k" with ties.

    >>> hit_at(Buckets.of([2, 4], relevant=[0, 1]), k=3).item()
    0.25
    """
    n, R, m = _of_first_relevant(buckets, buckets.n, buckets.R, buckets.places(k))
    # All m places miss with probability C(n-R, m) / C(n, m), which is the same with m and R exchanged:
    # the shorter of the two products is taken. A factor of zero ends it, whatever follows.
    few, many = np.minimum(m, R), np.maximum(m, R)
    miss = np.ones(len(buckets))
    for i in range(int(few.max(initial=0))):
        miss *= np.where(i < few, (n - many - i) / np.maximum(n - i, 1), 1)
    return np.where(buckets.relevant > 0, 1 - miss, np.nan)


def reciprocal_rank(buckets: Buckets) -> PerQuery:
    """The expected value of 1 / rank of the first relevant item.

    >>> reciprocal_rank(Buckets.of([2], relevant=[1])).item()
    0.75
    """
    n, R, C = _of_first_relevant(buckets, buckets.n, buckets.R, buckets.C)
    expected = harmonic_between(C, n) / np.maximum(n, 1)  # of a single relevant item
    for q in np.flatnonzero(R > 1):
        # The first of R items stands at place j with probability C(n-j, R-1) / C(n, R); each is the last
        # one's times (n - j - R + 1) / (n - j).
        j = np.arange(1, n[q] - R[q] + 2)
        steps = (n[q] - j[:-1] - R[q] + 1) / (n[q] - j[:-1])
        expected[q] = (np.concatenate([[1.0], np.cumprod(steps)]) * (R[q] / n[q]) / (C[q] + j)).sum()
    return np.where(buckets.relevant > 0, expected, np.nan)


def first_rank(buckets: Buckets) -> PerQuery:
    """The expected rank of the first relevant item: C + (n + 1) / (R + 1) in its bucket.

    >>> first_rank(Buckets.of([3, 4], relevant=[0, 1])).item()
    5.5
    """
    n, R, C = _of_first_relevant(buckets, buckets.n, buckets.R, buckets.C)
    return np.where(buckets.relevant > 0, C + (n + 1) / (R + 1), np.nan)


def lookup_precision(buckets: Buckets, radius: int) -> PerQuery:
    """The share of relevant items among all within a Hamming radius; 0 where there are none. Buckets are distances.

    >>> lookup_precision(Buckets.of([[1, 1, 2], [0, 0, 4]], relevant=[[1, 0, 0], [0, 0, 2]]), radius=1).tolist()
    [0.5, 0.0]
    """
    inside, found = buckets.n[:, : radius + 1].sum(axis=1), buckets.R[:, : radius + 1].sum(axis=1)
    return np.where(buckets.relevant > 0, found / np.maximum(inside, 1), np.nan)


def lookup_failure(buckets: Buckets, radius: int) -> PerQuery:
    """1 where nothing at all lies within a Hamming radius, otherwise 0."""
    inside = buckets.n[:, : radius + 1].sum(axis=1)
    return np.where(buckets.relevant > 0, inside == 0, np.nan)


def _of_first_relevant(buckets: Buckets, *letters: Counts) -> list[Counts]:
    """Some letters of the nearest bucket that holds something relevant, (queries,) each."""
    first = np.argmax(buckets.R > 0, axis=1)[:, None]
    return [np.take_along_axis(letter, first, axis=1)[:, 0] for letter in letters]
