"""Outermost singular and eigenvectors of matrices that are never formed: all that is asked for is their products.

Both functions let a small subspace grow until what it holds of the matrix no longer changes. Every new direction is
made orthogonal to all before it, so nothing is found twice.
"""

from collections.abc import Callable

import numpy as np

from deepbinaries.hashers.views import Floats

BLOCK = 16  # directions that an eigenvector search adds at once: one product with many vectors is cheaper than many

Times = Callable[[Floats], Floats]


def leading_pair(
    times: Times, transposed: Times, width: int, *, rng: np.random.Generator, tolerance: float = 1e-10
) -> tuple[Floats, float, Floats]:
    """u (n,), s and v (width,) of the largest singular value s of A, where `times` is A v and `transposed` is A'u.

    It stops when |A'u - s v| is below `tolerance` times s. The largest entry of u is positive.

    >>> A = np.array([[0.0, 3.0], [1.0, 0.0]])
    >>> u, s, v = leading_pair(lambda v: A @ v, lambda u: A.T @ u, 2, rng=np.random.default_rng(0))
    >>> (u.round(6) + 0.0).tolist(), round(s, 6), (v.round(6) + 0.0).tolist()
    ([1.0, 0.0], 3.0, [0.0, 1.0])
    """
    ahead = rng.normal(size=width)
    V, products = np.empty((width, 0)), []
    while True:
        V = np.column_stack([V, ahead / np.linalg.norm(ahead)])
        products.append(times(V[:, -1]))
        AV = np.column_stack(products)
        q = np.linalg.eigh(AV.T @ AV)[1][:, -1]  # squared values lose digits, but not those of the largest
        u, v = AV @ q, V @ q
        s = float(np.linalg.norm(u))
        u = u / max(s, np.finfo(float).tiny)
        ahead = transposed(u) - s * v
        if V.shape[1] >= min(width, len(u) + 1) or np.linalg.norm(ahead) <= tolerance * s:
            sign = -1.0 if u[np.abs(u).argmax()] < 0 else 1.0
            return sign * u, s, sign * v
        ahead = _without(_without(ahead, V), V)


def smallest_eigenvectors(
    times: Times, n: int, count: int, *, rng: np.random.Generator, tolerance: float = 1e-8
) -> tuple[Floats, Floats]:
    """The `count` smallest eigenvalues of a symmetric n x n matrix, ascending, and their vectors, (n, count).

    `times` multiplies the matrix with (n, some). It stops when |Q f - e f| is below `tolerance` times the largest
    eigenvalue for every pair, at the latest when the subspace is the whole space. A value that occurs more often than
    `BLOCK` times in the matrix may be found so often only.

    >>> Q, rng = np.diag([5.0, 1.0, 3.0]), np.random.default_rng(0)
    >>> values, vectors = smallest_eigenvectors(lambda V: Q @ V, 3, 2, rng=rng)
    >>> values.round(6).tolist(), np.abs(vectors).round(6).tolist()
    ([1.0, 3.0], [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    """
    V, ahead = np.empty((n, 0)), rng.normal(size=(n, min(BLOCK, n)))
    QV, checked = np.empty((n, 0)), count
    while True:
        for _ in range(3):  # what lies almost within the subspace is mostly rounding after one step
            ahead = np.linalg.qr(_without(ahead, V))[0]
        V = np.hstack([V, ahead])
        ahead = times(ahead)
        QV = np.hstack([QV, ahead])
        if V.shape[1] == n or V.shape[1] >= 1.5 * checked:
            checked = V.shape[1]
            T = V.T @ QV
            e, y = np.linalg.eigh((T + T.T) / 2)
            missing = QV @ y[:, :count] - V @ (y[:, :count] * e[:count])
            if checked == n or np.linalg.norm(missing, axis=0).max() <= tolerance * np.abs(e).max():
                return e[:count], V @ y[:, :count]
        ahead = ahead[:, : n - V.shape[1]]


def _without(vectors: Floats, V: Floats) -> Floats:
    """The part of vectors that is orthogonal to the orthonormal columns of V."""
    return vectors - V @ (V.T @ vectors)
