"""NDCG: discounted gains of graded relevance, against the best ranking there could be."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import unknown_name
from deepbinaries.evaluation.buckets import Buckets

Floats = NDArray[np.float64]

GAINS: Mapping[str, Callable[[Floats], Floats]] = {
    "g": lambda g: g,  # the number of shared labels
    "2^g-1": lambda g: np.exp2(g) - 1,
}


def ndcg_at(buckets: Buckets, k: int, gain: str = "2^g-1") -> Floats:
    """Each query's expected NDCG over the first k ranks, (queries,); NaN where nothing is relevant.

    An item of grade g gains g or 2^g - 1, a rank r discounts by 1 / log2(r + 1). The ideal ranking
    does not depend on ties, so only the gains are averaged.

    >>> graded = Buckets(np.array([[[1, 0], [0, 1]]]))  # an irrelevant item, then one of grade 1
    >>> ndcg_at(graded, k=2).round(4).item()
    0.6309
    """
    if gain not in GAINS:
        raise unknown_name("gain", gain, GAINS)
    gains = GAINS[gain](np.arange(buckets.counts.shape[1], dtype=np.float64))
    depth = min(k, int(buckets.items.max(initial=0)))
    discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, depth + 2)))])  # of the first r ranks

    mean_gain = np.einsum("g,qgb->qb", gains, buckets.counts) / np.maximum(buckets.n, 1)
    begin, m = np.minimum(buckets.C, depth), buckets.places(k)
    expected = (mean_gain * (discounts[begin + m] - discounts[begin])).sum(axis=1)

    of_grade = buckets.counts.sum(axis=2)[:, ::-1]  # the ideal ranking: highest grades first
    end = np.minimum(np.cumsum(of_grade, axis=1), depth)
    begin = np.minimum(np.cumsum(of_grade, axis=1) - of_grade, depth)
    ideal = (gains[::-1] * (discounts[end] - discounts[begin])).sum(axis=1)
    return np.where(buckets.relevant > 0, expected / np.where(ideal > 0, ideal, 1), np.nan)
