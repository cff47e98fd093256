"""Rankings by real values: the values before signing, or real queries against binary codes.

Scores are computed in float64. Equal gallery rows get equal scores by construction: a matrix
product may round the same sum differently in another column, which would break a true tie.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbinaries.errors import DataError, UsageError, unknown_name

BLOCK = 2**20  # scores held at once


def costs(queries: ArrayLike, gallery: ArrayLike, ranking: str) -> Iterator[NDArray[np.float64]]:
    """Each query's costs over the gallery, (gallery,): minus the inner product or the cosine; the lowest is first.

    >>> [row.tolist() for row in costs([[1.0, 2.0]], [[1.0, 1.0], [0.0, -1.0]], "inner")]
    [[-3.0, 2.0]]
    """
    if ranking not in ("inner", "cosine"):
        raise unknown_name("ranking of real values", ranking, ["inner", "cosine"])
    asking, stored = as_values(queries, "queries"), as_values(gallery, "gallery")
    if asking.shape[1] != stored.shape[1]:
        raise UsageError(
            f"queries have {asking.shape[1]} values each and gallery items {stored.shape[1]}",
            next_step="encode both with the same model",
        )
    if ranking == "cosine":
        asking, stored = _unit(asking, "queries"), _unit(stored, "gallery")
    distinct, place = np.unique(stored, axis=0, return_inverse=True)
    size = max(1, BLOCK // max(1, len(distinct)))
    for start in range(0, len(asking), size):
        yield from (-(asking[start : start + size] @ distinct.T))[:, place]


def as_values(values: ArrayLike, side: str) -> NDArray[np.float64]:
    """An (n, width) matrix of finite float64; what is wrong is said with the side and the row."""
    matrix = np.asarray(values)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise DataError(
            f"the values of the {side} are {matrix.dtype} of shape {matrix.shape}",
            next_step="give real numbers, one row an item",
        )
    wrong = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if wrong.size:
        raise DataError(
            f"row {wrong[0]} of the {side} holds a NaN or an infinity",
            next_step="look for a division by zero or a diverged network before ranking",
        )
    plain: NDArray[np.float64] = matrix.astype(np.float64) + 0.0  # -0.0 becomes 0.0: equal rows look equal
    return plain


def _unit(values: NDArray[np.float64], side: str) -> NDArray[np.float64]:
    lengths: NDArray[np.float64] = np.linalg.norm(values, axis=1, keepdims=True)
    nowhere = np.flatnonzero(lengths == 0)
    if nowhere.size:
        raise DataError(
            f"row {nowhere[0]} of the {side} is zero and points nowhere", next_step='rank by "inner" products instead'
        )
    return values / lengths
