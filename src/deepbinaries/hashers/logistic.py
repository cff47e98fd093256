"""Kernel logistic regression of many bits from the same features, each to its minimum by Newton's method."""

import numpy as np
from numpy.typing import NDArray

from deepbinaries.hashers.views import Floats

ENOUGH = 1e-6  # a step that lowers the loss by less is the last
MAX_STEPS = 30
JITTER = 1e-6  # of the mean curvature: keeps anchors that are alike from making the equations singular


def kernel_logistic(K: Floats, K0: Floats, B: Floats, C: float) -> Floats:
    """The weights of every bit, (m, bits): the minimum of `loss` for each column of B (n, bits), which holds -1 and +1.

    K (n, m) is how near items are to anchors, K0 (m, m) how near anchors are to each other.

    >>> K = np.array([[1.0, 0.2], [0.2, 1.0]])
    >>> np.sign(K @ kernel_logistic(K, K, np.array([[1.0], [-1.0]]), 0.01)).ravel().tolist()
    [1.0, -1.0]
    """
    half = K.astype(np.float32)  # enough for curvatures, which decide the way to the minimum and not where it is
    # At w = 0 all bits have the same curvature: their first steps cost one solution together.
    first = np.linalg.solve(_curvature(half, K0, np.full(len(K), 0.25), C), K.T @ B / 2)
    return np.column_stack([_minimum(K, half, K0, b, C, step) for b, step in zip(B.T, first.T, strict=True)])


def loss(K: Floats, K0: Floats, b: Floats, C: float, w: Floats) -> float:
    """sum_i log(1 + exp(-b_i k_i'w)) + C w'K0 w.

    >>> one = np.eye(1)
    >>> round(loss(one, one, np.ones(1), 0.01, np.zeros(1)), 4)
    0.6931
    """
    return float(np.logaddexp(0, -b * (K @ w)).sum() + C * w @ K0 @ w)


def _minimum(K: Floats, half: NDArray[np.float32], K0: Floats, b: Floats, C: float, step: Floats) -> Floats:
    w = np.zeros(K.shape[1])
    value = loss(K, K0, b, C, w)
    for _ in range(MAX_STEPS):
        ahead = loss(K, K0, b, C, w + step)
        while ahead > value and np.abs(step).max() > 0:  # a step of nothing ends it: it changes nothing
            step = step * 0.5
            ahead = loss(K, K0, b, C, w + step)
        w, lowered, value = w + step, value - ahead, ahead
        if lowered < ENOUGH:
            break
        p = 1 / (1 + np.exp(np.minimum(-b * (K @ w), 700)))  # beyond 700, exp is without end
        gradient = 2 * C * (K0 @ w) - K.T @ (b * (1 - p))
        step = np.asarray(np.linalg.solve(_curvature(half, K0, p * (1 - p), C), -gradient), dtype=np.float64)
    return w


def _curvature(K: NDArray[np.float32], K0: Floats, weights: Floats, C: float) -> Floats:
    """K' diag(weights) K + 2 C K0, a little more on the diagonal."""
    scaled = np.sqrt(weights).astype(np.float32)[:, None] * K
    curvature = (scaled.T @ scaled).astype(np.float64) + 2 * C * K0
    return np.asarray(curvature + JITTER * np.trace(curvature) / len(K0) * np.eye(len(K0)))
