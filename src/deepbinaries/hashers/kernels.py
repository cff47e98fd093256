"""Radial basis features of a view: how near each item is to each of some anchors.

Paper of the form used here: Lin, Ding, Hu, Wang, "Semantics-Preserving Hashing for Cross-View Retrieval", CVPR 2015.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.hashers.views import Floats

MAX_ROUNDS = 100  # of k-means, when clusters still change


def mean_squared_distance(X: Floats) -> float:
    """The mean of |x_i - x_j|^2 over all ordered pairs of rows, i = j among them, without looking at pairs.

    >>> mean_squared_distance(np.array([[0.0], [2.0]]))  # the mean of 0, 4, 4 and 0
    2.0
    """
    return 2 * float(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))


def squared_distances(X: NDArray[Any], A: NDArray[Any]) -> NDArray[Any]:
    """|x_i - a_j|^2, (n, m); rounding never makes it negative.

    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[25.0, 0.0]]
    """
    squares = np.sum(X**2, axis=1)[:, None] + np.sum(A**2, axis=1) - 2 * X @ A.T
    nearest: NDArray[Any] = np.maximum(squares, 0)
    return nearest


def rbf(X: Floats, anchors: Floats, width: float) -> Floats:
    """exp(-|x_i - a_j|^2 / width), (n, m); there is no factor of 2 in it.

    >>> rbf(np.array([[1.0]]), np.array([[1.0]]), 1.0).tolist()
    [[1.0]]
    """
    return np.exp(-squared_distances(X, anchors) / width)


def cluster_centres(X: Floats, m: int, rng: np.random.Generator) -> Floats:
    """The m centres of k-means, (m, d): begun at m of the rows; a centre without rows is put on another row.

    >>> cluster_centres(np.array([[0.0], [1.0], [9.0]]), 2, np.random.default_rng(0)).tolist()
    [[0.5], [9.0]]
    """
    # Distances cost the most by far and decide only who is nearest: single precision does.
    rows = X.astype(np.float32)
    centres = X[np.sort(rng.choice(len(X), m, replace=False))]
    nearest = np.full(len(X), -1)
    for _ in range(MAX_ROUNDS):
        found = squared_distances(rows, centres.astype(np.float32)).argmin(axis=1)
        if np.array_equal(found, nearest):
            break
        nearest = found
        filled = np.unique(nearest)
        empty = np.setdiff1d(np.arange(m), filled)
        order = np.argsort(nearest, kind="stable")
        starts = np.searchsorted(nearest[order], filled)
        sums = np.add.reduceat(X[order], starts, axis=0)
        centres[filled] = sums / np.bincount(nearest, minlength=m)[filled, None]
        centres[empty] = X[rng.choice(len(X), len(empty), replace=False)]
    return centres
