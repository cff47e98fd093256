"""Is one method better than another on the same queries, or is it luck?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbinaries.errors import UsageError
from deepbinaries.evaluation.uncertainty import Interval, over_queries

FLIPS = 10_000
BLOCK = 2**20  # signs held at once


@dataclass(frozen=True)
class Difference:
    """The mean of (first - second) over the same queries, its interval, and how often chance alone does as much."""

    mean: float
    interval: Interval
    p: float  # sign-flip permutation, two-sided
    p_holm: float | None = None  # corrected for the number of comparisons in the table; None: not in a table

    @property
    def differs(self) -> bool:
        """Whether its interval leaves zero out."""
        return not (self.interval.low <= 0 <= self.interval.high)

    def to_json(self) -> dict[str, Any]:
        found = {"mean": round(self.mean, 6), "interval": [round(self.interval.low, 6), round(self.interval.high, 6)]}
        return found | {"p": round(self.p, 6), "p_holm": None if self.p_holm is None else round(self.p_holm, 6)}


def compare(first: ArrayLike, second: ArrayLike, *, seed: int = 0) -> Difference:
    """How much the first method's per-query scores exceed the second's, query by query.

    >>> compare([0.5, 0.6, 0.7], [0.5, 0.6, 0.7]).p
    1.0
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise UsageError(
            f"scores of shapes {a.shape} and {b.shape} are not of the same queries",
            next_step="evaluate both methods on one split",
        )
    if (np.isnan(a) != np.isnan(b)).any():
        raise UsageError(
            f"query {np.flatnonzero(np.isnan(a) != np.isnan(b))[0]} has a score from one method only",
            next_step="evaluate both methods with the same labels and gallery",
        )
    differences = (a - b)[~np.isnan(a)]
    if not differences.size:
        raise UsageError("no query has a score", next_step="check that labels and codes are of the same items")
    return Difference(
        float(differences.mean()), over_queries(differences, seed=seed), sign_flip_p(differences, seed=seed)
    )


def compare_table(reference: ArrayLike, others: Mapping[str, ArrayLike], *, seed: int = 0) -> dict[str, Difference]:
    """The reference against every other method, with Holm's correction over all of them."""
    differences = {name: compare(reference, scores, seed=seed) for name, scores in others.items()}
    corrected = holm([difference.p for difference in differences.values()])
    return {
        name: replace(difference, p_holm=p)
        for (name, difference), p in zip(differences.items(), corrected.tolist(), strict=True)
    }


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """P-values corrected by Holm's step-down rule: the chance of even one false alarm stays at the level.

    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def sign_flip_p(differences: NDArray[np.float64], *, seed: int = 0, flips: int = FLIPS) -> float:
    """The share of sign patterns whose mean is at least as far from zero: all of them for few queries, else drawn.

    >>> sign_flip_p(np.array([1.0, 1.0, 1.0]))
    0.25
    """
    # The sums of one pattern may differ in their last digits from the observed one; a tie is a tie.
    enough = abs(differences.sum()) * (1 - 1e-12)
    n = len(differences)
    if 2**n <= flips:
        signs = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
        return float((abs(signs @ differences) >= enough).mean())
    rng, at_least = np.random.default_rng(seed), 0
    size = max(1, BLOCK // n)
    for start in range(0, flips, size):
        signs = 1 - 2 * rng.integers(0, 2, (min(size, flips - start), n), dtype=np.int8)
        at_least += int(np.count_nonzero(abs(signs @ differences) >= enough))
    return (1 + at_least) / (1 + flips)  # the observed pattern is one of them: never zero
