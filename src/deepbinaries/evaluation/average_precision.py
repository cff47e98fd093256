"""Average precision of rankings with ties: its expected value, and its true best and worst.

For one fixed order, average precision is the sum over relevant ranks r <= K of (relevant items in
the first r) / r, divided by D. Over ties everything below is in closed form, from buckets alone.
D is the number of relevant items, or the smaller of it and K; dividing by the items found has a
random divisor and lives in `hits_divisor`.
"""

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import unknown_name
from deepbinaries.evaluation import hits_divisor
from deepbinaries.evaluation.buckets import Buckets
from deepbinaries.evaluation.precision_sums import bucket_sums

Scores = NDArray[np.float64]

ORDERS = ("expected", "best", "worst")


def average_precision(
    buckets: Buckets, *, cutoff: int | None = None, divide_by: str = "relevant", ties: str = "expected"
) -> Scores:
    """Each query's average precision, (queries,); NaN where nothing is relevant.

    `ties` is the expected value over every order of tied items, or the best or worst order.

    >>> ranking = Buckets.of([1, 2], relevant=[1, 1])
    >>> [average_precision(ranking, ties=ties).round(4).item() for ties in ("worst", "expected", "best")]
    [0.8333, 0.9167, 1.0]
    """
    if ties not in ORDERS:
        raise unknown_name("order of ties", ties, ORDERS)
    if divide_by == "hits" and cutoff is not None:
        score = hits_divisor.average_precision(buckets, cutoff, ties)
    else:
        # Without a cutoff the three divisors agree: everything is found.
        D = np.minimum(cutoff, buckets.relevant) if divide_by == "min" and cutoff else buckets.relevant
        score = bucket_sums(buckets, cutoff, ties).sum(axis=1) / np.maximum(D, 1)
    return np.where(buckets.relevant > 0, score, np.nan)


def chance(buckets: Buckets, *, cutoff: int | None = None, divide_by: str = "relevant") -> Scores:
    """Each query's average precision under a ranking that knows nothing: all items in one bucket.

    >>> chance(Buckets.of([1, 2], relevant=[1, 1])).round(4).item()
    0.8056
    """
    one = Buckets.of(buckets.items[:, None], buckets.relevant[:, None])
    return average_precision(one, cutoff=cutoff, divide_by=divide_by)


def mean_over_queries(per_query: NDArray[np.float64], empty: str) -> float:
    """The mean over queries; those without a score (NaN) are left out, or count as 0 where `empty` is "zero".

    >>> mean_over_queries(np.array([0.5, np.nan]), "skip"), mean_over_queries(np.array([0.5, np.nan]), "zero")
    (0.5, 0.25)
    """
    used = np.nan_to_num(per_query, nan=0.0) if empty == "zero" else per_query[~np.isnan(per_query)]
    return float(used.mean()) if used.size else float("nan")
