"""What each bucket adds to a sum of precisions: on average over its orders, at best, at worst.

Letters as in `buckets`: n items, R relevant, after C items with P relevant; m places are counted.
"""

import numpy as np
from numpy.typing import NDArray

from deepbinaries.evaluation.buckets import Buckets, Counts
from deepbinaries.evaluation.harmonic import harmonic_between

Sums = NDArray[np.float64]
Letter = Counts | int


def bucket_sums(buckets: Buckets, cutoff: int | None, ties: str) -> Sums:
    """The sum of precisions at the relevant ranks of each bucket, (queries, buckets), cut at rank `cutoff`."""
    sums = np.zeros(buckets.n.shape)
    letters = buckets.n, buckets.R, buckets.C, buckets.P, buckets.places(cutoff)
    n, R, C, P, m = (letter.ravel()[buckets.with_relevant] for letter in letters)
    if ties == "expected":
        added = expected_sum(n, R, C, P, m)
    # Moving a relevant item one rank up inside its bucket never lowers the sum, also across the cut;
    # so the best order has the relevant items first, the worst has them last.
    elif ties == "best":
        added = run_sum(np.minimum(R, m), C, P)
    else:
        x = np.maximum(m - (n - R), 0)
        added = run_sum(x, C + m - x, P)
    sums.ravel()[buckets.with_relevant] = added
    return sums


def expected_sum(n: Letter, R: Counts, C: Counts, P: Letter, m: Letter) -> Sums:
    """The sum of precisions over the first m places of a bucket, averaged over every order of it.

    Place j holds a relevant item with probability R/n. Given that, each of the other n - 1 items is
    as likely at any earlier place, so a(j - 1) relevant ones stand there on average, a = (R-1)/(n-1).
    The precision is (P + 1 + a(j - 1)) / (C + j), and the sum over j follows from
    (j - 1)/(C + j) = 1 - (C + 1)/(C + j) with L = H(C + m) - H(C).
    """
    a = (R - 1) / np.maximum(n - 1, 1)
    L = harmonic_between(C, m)
    return R / np.maximum(n, 1) * (a * (m - (C + 1) * L) + (P + 1) * L)


def run_sum(x: Counts, C: Counts, P: Letter) -> Sums:
    """The sum of precisions of x relevant items in a row, right after C items with P relevant ones."""
    return x + (P - C) * harmonic_between(C, x)
