"""Average precision divided by the relevant items found in the first K ranks.

A cut inside a bucket makes the divisor depend on the tie order. Best and worst are then not
"relevant first" and "relevant last": leaving an item out of the cut can raise the score. So the
number x of relevant items among the m counted places is enumerated: given x, the divisor is fixed.
"""

import numpy as np
from numpy.typing import NDArray

from deepbinaries.evaluation.buckets import Buckets
from deepbinaries.evaluation.precision_sums import bucket_sums, expected_sum, run_sum


def average_precision(buckets: Buckets, cutoff: int, ties: str) -> NDArray[np.float64]:
    """Each query's sum of precisions over the items found, (queries,); 0 where nothing is found.

    >>> ranking = Buckets.of([1, 10, 2], relevant=[1, 0, 1])
    >>> average_precision(ranking, 12, "best").item(), average_precision(ranking, 12, "worst").round(3).item()
    (1.0, 0.583)
    """
    n, R, C, P, m = buckets.n, buckets.R, buckets.C, buckets.P, buckets.places(cutoff)
    whole = m == n
    before = np.where(whole, bucket_sums(buckets, cutoff, ties), 0).sum(axis=1)
    score: NDArray[np.float64] = before / np.maximum(np.where(whole, R, 0).sum(axis=1), 1)
    for q, b in np.argwhere((m > 0) & (m < n)).tolist():  # at most one bucket of a query is cut
        at_the_cut = [int(letter[q, b]) for letter in (n, R, C, P, m)]
        score[q] = _over_the_cut(*at_the_cut, before=float(before[q]), ties=ties)
    return score


def _over_the_cut(n: int, R: int, C: int, P: int, m: int, *, before: float, ties: str) -> float:
    """The score of one query whose earlier buckets add up to `before`; the letters are those of the cut bucket."""
    x = np.arange(max(0, m - (n - R)), min(m, R) + 1)
    C_of_x, found = np.full_like(x, C), np.maximum(P + x, 1)
    if ties == "best":
        return float(((before + run_sum(x, C_of_x, P)) / found).max())
    if ties == "worst":
        return float(((before + run_sum(x, C_of_x + m - x, P)) / found).min())
    # Given x, any x of the m places are as likely as any others: a bucket of m items, all of it counted.
    return float(hypergeometric(n, R, m) @ ((before + expected_sum(m, x, C_of_x, P, m)) / found))


def hypergeometric(n: int, R: int, m: int) -> NDArray[np.float64]:
    """The probabilities of x = max(0, m - (n - R)) .. min(m, R) relevant items among m of n, R being relevant.

    Built from the ratios of neighbours, which are exact, in logarithms, which do not overflow.

    >>> hypergeometric(4, 2, 2).round(4).tolist()
    [0.1667, 0.6667, 0.1667]
    """
    x = np.arange(max(0, m - (n - R)), min(m, R))
    ratios = (R - x) * (m - x) / ((x + 1) * (n - R - m + x + 1))
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
    weights: NDArray[np.float64] = np.exp(logarithms - logarithms.max())
    weights /= weights.sum()
    return weights
