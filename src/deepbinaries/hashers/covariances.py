"""Covariances of the two views in one pass over their rows, and the directions in which the views agree.

Everything is of the size of the features, never of the number of items: 50,000 pictures of 4,096 numbers need as much
memory as one block of them and a few matrices of 4,096 x 4,096.
"""

from dataclasses import dataclass

import numpy as np

from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError
from deepbinaries.features.inputs import Pairs
from deepbinaries.hashers.views import Floats, blocks, width

# A share of the largest singular value, below which a direction is not shared. Chance alone correlates more; what is
# below comes of rounding, as where features sum to one up to their last digit.
NOTHING = 1e-4


@dataclass(frozen=True, eq=False)
class Covariances:
    """Sums over the centred training pairs; X and Y are the views with their means taken off, L the labels."""

    n: int
    mean_x: Floats  # (dx,)
    mean_y: Floats  # (dy,)
    Sxx: Floats  # X'X, (dx, dx), not divided by n
    Syy: Floats  # Y'Y
    Sxy: Floats  # X'Y
    XL: Floats  # X'L^, (dx, labels), where each row of L^ has length 1
    YL: Floats  # Y'L^


def covariances(pairs: Pairs) -> Covariances:
    """The sums over all pairs, added up block by block, so that features may stay on disk.

    >>> from deepbinaries.features.inputs import Images, Texts
    >>> views = Images.from_vectors(np.array([[1.0], [3.0]])), Texts.from_vectors(np.array([[0.0], [4.0]]))
    >>> found = covariances(Pairs(*views, Labels.from_names([["a"], ["b"]])))
    >>> found.mean_x.tolist(), found.Sxx.tolist(), found.Sxy.tolist(), found.XL.tolist()
    ([2.0], [[2.0]], [[4.0]], [[-1.0, 1.0]])
    """
    n, dx, dy, c = len(pairs), width(pairs.images), width(pairs.texts), len(pairs.labels.names)
    if n < 2:
        raise DataError(f"{n} pairs teach nothing", next_step="give at least two")
    Gxx, Gyy, Gxy = np.zeros((dx, dx)), np.zeros((dy, dy)), np.zeros((dx, dy))
    XL, YL, sx, sy, sl = np.zeros((dx, c)), np.zeros((dy, c)), np.zeros(dx), np.zeros(dy), np.zeros(c)
    near_x, near_y, start = np.zeros(dx), np.zeros(dy), 0
    for X, Y in zip(blocks(pairs.images), blocks(pairs.texts), strict=True):
        if start == 0:  # sums of squares around a guess of the mean: around zero, large means would cost digits
            near_x, near_y = X.mean(axis=0), Y.mean(axis=0)
        X, Y = X - near_x, Y - near_y
        L = normalised_labels(pairs.labels, start, len(X))
        Gxx += X.T @ X
        Gyy += Y.T @ Y
        Gxy += X.T @ Y
        XL += X.T @ L
        YL += Y.T @ L
        start += len(X)
        sx, sy, sl = sx + X.sum(axis=0), sy + Y.sum(axis=0), sl + L.sum(axis=0)
    mx, my = sx / n, sy / n  # what the guess missed
    return Covariances(
        n,
        near_x + mx,
        near_y + my,
        Gxx - n * np.outer(mx, mx),
        Gyy - n * np.outer(my, my),
        Gxy - n * np.outer(mx, my),
        XL - np.outer(mx, sl),
        YL - np.outer(my, sl),
    )


def normalised_labels(labels: Labels, start: int, n: int) -> Floats:
    """n rows of the label matrix, each divided by its length, (n, labels); an item without labels has zeros.

    >>> normalised_labels(Labels.from_names([["a"], [], ["a", "b"]]), 1, 2).round(3).tolist()
    [[0.0, 0.0], [0.707, 0.707]]
    """
    L = labels.select(np.arange(start, start + n)).matrix().astype(np.float64)
    lengths: Floats = np.linalg.norm(L, axis=1, keepdims=True)
    return L / np.maximum(lengths, 1e-8)


def share(S: Floats, regularisation: float) -> float:
    """What is added to the diagonal of S: a share of its mean.

    >>> share(np.diag([2.0, 4.0]), 0.1)
    0.30000000000000004
    """
    return float(regularisation * np.trace(S) / len(S))


def root(S: Floats, added: float) -> Floats:
    """The lower triangular R with R R' = S + added I.

    >>> root(np.diag([3.0, 8.0]), 1.0).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    try:
        R: Floats = np.linalg.cholesky(S + added * np.eye(len(S))).astype(np.float64)
    except np.linalg.LinAlgError as error:
        raise DataError(
            "a view has features that always say the same", next_step="give a larger regularisation"
        ) from error
    return R


def whitened(C: Floats, Rx: Floats, Ry: Floats) -> Floats:
    """Rx^-1 C Ry^-T, (dx, dy): what the views share, measured in their own variances."""
    return np.linalg.solve(Ry, np.linalg.solve(Rx, C).T).T


def shared_directions(C: Floats, Rx: Floats, Ry: Floats) -> tuple[Floats, Floats, Floats]:
    """Wx (dx, r), Wy (dy, r) and s (r,), largest first; r is the rank of C.

    max tr(Wx' C Wy)  subject to  Wx' Rx Rx' Wx = Wy' Ry Ry' Wy = I

    Rx^-1 C Ry^-T = U diag(s) V', Wx = Rx^-T U, Wy = Ry^-T V. The sign of a direction is free: the largest entry on the
    image side is made positive, so that runs agree.

    >>> Wx, Wy, s = shared_directions(np.array([[1.0], [0.0]]), np.diag([2.0, 1.0]), np.diag([1.0]))
    >>> Wx.tolist(), Wy.tolist(), s.tolist()
    ([[0.5], [0.0]], [[1.0]], [0.5])
    """
    U, s, Vt = np.linalg.svd(whitened(C, Rx, Ry), full_matrices=False)
    shared = s > NOTHING * max(s[0], np.finfo(float).tiny)
    if not shared.any():
        raise DataError("pictures and sentences have nothing in common", next_step="check that they are pairs")
    Wx, Wy = np.linalg.solve(Rx.T, U[:, shared]), np.linalg.solve(Ry.T, Vt[shared].T)
    largest = np.abs(Wx).argmax(axis=0)
    signs = np.where(np.take_along_axis(Wx, largest[None], axis=0)[0] < 0, -1.0, 1.0)
    return Wx * signs, Wy * signs, s[shared]
