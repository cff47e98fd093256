"""Harmonic numbers H(k) = 1 + 1/2 + ... + 1/k, without a table as long as the gallery.

Small k are looked up, large ones follow the Euler-Maclaurin expansion, whose next term is below
1e-16 where it takes over. Differences are formed before rounding: H(start + count) - H(start) for
start = 10 million would otherwise lose the seven digits that both share.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

TABLE_SIZE = 64
_TABLE = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, TABLE_SIZE))])

Whole = NDArray[np.int64]


def harmonic(k: Whole) -> NDArray[np.float64]:
    """H(k) for whole numbers k >= 0.

    >>> harmonic(np.array([0, 1, 2, 100])).round(6).tolist()
    [0.0, 1.0, 1.5, 5.187378]
    """
    large = np.maximum(k, TABLE_SIZE)
    expansion = np.log(large) + np.euler_gamma + _tail(large)
    return np.where(k < TABLE_SIZE, _TABLE[np.minimum(k, TABLE_SIZE - 1)], expansion)


def harmonic_between(start: Whole, count: Whole | int) -> NDArray[np.float64]:
    """The sum of 1/r over the `count` ranks r after `start`: H(start + count) - H(start).

    >>> harmonic_between(np.array([2]), np.array([2])).round(6).tolist()
    [0.583333]
    """
    large = np.maximum(start, TABLE_SIZE)
    total = np.log1p(count / large) + _tail(large + count) - _tail(large)
    early = start < TABLE_SIZE
    total[early] = harmonic((start + count)[early]) - harmonic(start[early])
    return total


def _tail(k: NDArray[Any]) -> NDArray[np.float64]:
    """H(k) - ln k - gamma: 1/2k - 1/12k² + 1/120k⁴ - 1/252k⁶."""
    inverse = 1.0 / k
    square = inverse * inverse
    return inverse / 2 - square * (1 / 12 - square * (1 / 120 - square / 252))
