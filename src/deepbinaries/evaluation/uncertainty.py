"""How far a mean would move with other queries, other seeds, or both.

Everything is drawn from a seed: the same scores give the same interval, to the bit.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbinaries.errors import DataError, UsageError

RESAMPLES = 2000
FEW = 500  # below this many queries the percentile interval is corrected for bias and skew (BCa)
BLOCK = 2**20  # draws held at once

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An interval for a mean; NaN at both ends where there is too little to draw from."""

    low: float
    high: float
    method: str
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.low:.4f} to {self.high:.4f} ({self.level:.0%}, {self.method})"


@dataclass(frozen=True)
class Spread:
    """The mean over seeds, its t-interval and the standard deviation from seed to seed."""

    mean: float
    deviation: float
    interval: Interval
    n_seeds: int


def over_queries(per_query: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES, level: float = 0.95) -> Interval:
    """The bootstrap interval of a mean over queries; queries without a score (NaN) are left out.

    >>> over_queries([0.5, 0.5, 0.5]).low
    0.5
    """
    values = _scores(per_query)
    if len(values) < 2:
        return Interval(math.nan, math.nan, "none: fewer than two queries", level)
    means = np.concatenate(
        [values[rows].mean(axis=1) for rows in _draws(len(values), resamples, np.random.default_rng(seed))]
    )
    if len(values) >= FEW:
        return _between(means, (1 - level) / 2, (1 + level) / 2, "percentile bootstrap over queries", level)
    low, high = _bca_levels(values, means, level)
    return _between(means, low, high, "BCa bootstrap over queries", level)


def over_seeds(scores: ArrayLike, *, level: float = 0.95) -> Spread:
    """The mean over seeds with its t-interval; at least two seeds.

    >>> spread = over_seeds([0.50, 0.52, 0.54])
    >>> round(spread.mean, 3), round(spread.interval.low, 3), round(spread.interval.high, 3)
    (0.52, 0.47, 0.57)
    """
    values = _scores(scores)
    if len(values) < 2:
        raise UsageError(f"a spread needs two seeds, there are {len(values)}", next_step="run five, or three at least")
    mean, deviation = float(values.mean()), float(values.std(ddof=1))
    reach = t_quantile(level, len(values) - 1) * deviation / math.sqrt(len(values))
    return Spread(mean, deviation, Interval(mean - reach, mean + reach, "t over seeds", level), len(values))


def over_seeds_and_queries(
    per_seed: ArrayLike,
    *,
    same_queries: bool = True,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """The interval of a mean over (seeds, queries) scores: seeds are drawn, then queries inside them.

    When all seeds answered the same queries, one draw of queries serves all seeds of a resample: a
    hard query is hard for every seed, and separate draws would shrink that noise as if it were new
    each time. Set `same_queries` to False where every seed has queries of its own.
    """
    scores = np.atleast_2d(np.asarray(per_seed, dtype=np.float64))
    if scores.ndim != 2 or len(scores) < 2 or scores.shape[1] < 2:
        raise UsageError(
            f"two levels need two seeds and two queries, the scores have shape {scores.shape}",
            next_step="give one row a seed and one column a query",
        )
    if same_queries:
        scores = scores[:, ~np.isnan(scores).all(axis=0)]
    if np.isnan(scores).any():
        raise DataError("a seed has no score for a query", next_step="leave queries without relevant items out")
    n_seeds, n_queries = scores.shape
    rng = np.random.default_rng(seed)
    means = np.empty(resamples)
    for i in range(resamples):
        seeds = rng.integers(0, n_seeds, (n_seeds, 1))
        queries = rng.integers(0, n_queries, (1 if same_queries else n_seeds, n_queries))
        means[i] = scores[seeds, queries].mean()
    return _between(means, (1 - level) / 2, (1 + level) / 2, "two-level bootstrap, seeds then queries", level)


def t_quantile(level: float, freedom: int) -> float:
    """The t with P(|T| <= t) = level for Student's distribution of whole `freedom` degrees.

    >>> round(t_quantile(0.95, 4), 3)
    2.776
    """
    low, high = 0.0, math.pi / 2  # halving the angle theta = atan(t / sqrt(freedom)), on which P rises
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_probability(middle, freedom) < level else (low, middle)
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _t_probability(theta: float, freedom: int) -> float:
    """P(|T| <= sqrt(freedom) tan(theta)): a finite sum of powers of the cosine, for whole degrees of freedom."""
    cosine, odd = math.cos(theta), freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for i in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (i - 1) / i
    return 2 / math.pi * (theta + math.sin(theta) * total) if odd else math.sin(theta) * total


def _bca_levels(values: Floats, means: Floats, level: float) -> tuple[float, float]:
    """Efron's corrected quantile levels: z0 for the bias of the median, a for the skew."""
    normal, n = NormalDist(), len(means)
    mean, deviations = values.mean(), values - values.mean()
    spread = (deviations**2).sum()
    if spread == 0:
        return (1 - level) / 2, (1 + level) / 2
    below = (np.count_nonzero(means < mean) + np.count_nonzero(means <= mean)) / 2
    z0 = normal.inv_cdf(min(max(below / n, 0.5 / n), 1 - 0.5 / n))
    a = float((deviations**3).sum() / (6 * spread**1.5))  # the jackknife's, which for a mean is this
    ends = (z0 + normal.inv_cdf((1 - level) / 2), z0 + normal.inv_cdf((1 + level) / 2))
    low, high = (normal.cdf(z0 + z / (1 - a * z)) for z in ends)
    return low, high


def _between(means: Floats, low: float, high: float, method: str, level: float) -> Interval:
    ends = np.quantile(means, [low, high])
    return Interval(float(ends[0]), float(ends[1]), method, level)


def _draws(n: int, resamples: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """`resamples` rows of n indices below n, some rows at a time."""
    size = max(1, BLOCK // n)
    for start in range(0, resamples, size):
        yield rng.integers(0, n, (min(size, resamples - start), n))


def _scores(scores: Any) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise UsageError(f"scores are one row of numbers, these have shape {values.shape}", next_step="flatten them")
    return values[~np.isnan(values)]
