"""IMH: Inter-Media Hashing.

Paper: Song, Yang, Yang, Huang, Shen, "Inter-Media Hashing for Large-Scale Retrieval from Heterogeneous Data Sources",
SIGMOD 2013. Neighbours within a view shall have similar codes, the two views of an item the same one, and both views
shall predict it linearly. With F the codes before signing, L_t the Laplacian of view t's graph of neighbours:

    min  lam sum_t tr(F' L_t F) + sum_t (|X_t W_t - F|^2 + beta_t |W_t|^2)   subject to  F'F = I

W_t = (X_t'X_t + beta_t I)^-1 X_t'F, so F are the eigenvectors of the smallest eigenvalues of

    Q = sum_t (I - X_t (X_t'X_t + beta_t I)^-1 X_t' + lam L_t)

Assumes: pairs of one vector a picture and one a text. Labels are not looked at.

Differs from the paper in: every item has both views, so the two are given one F (the limit of a large weight on their
agreement, which public code sets to 1e10). Q is never formed, only multiplied with vectors. The constant vector, whose
bit would be the same for everyone, is taken out. Thresholds are medians of the training items alone; public code takes
those of whatever it encodes, so that a code would depend on its neighbours in the batch. The constants are ours: the
paper's are not known.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.covariances import share
from deepbinaries.hashers.kernels import squared_distances
from deepbinaries.hashers.krylov import smallest_eigenvectors
from deepbinaries.hashers.linear import WITH_OFFSETS, encode_linear, linear
from deepbinaries.hashers.sampling import sampled
from deepbinaries.hashers.settings import check_bits, check_not_negative
from deepbinaries.hashers.shallow import Learnt, Log, ShallowHasher
from deepbinaries.hashers.views import Floats, matrix

ROWS = 1000  # whose distances to all others are in memory at once
APART = 1e-6  # deviations by which a change of sign keeps away from the median


@dataclass(frozen=True)
class IMHSettings:
    """Everything that decides what IMH learns."""

    bits: int = 64  # M
    neighbours: int = 10  # k, of an item in each view's graph
    smoothness: float = 1.0  # lam
    regularisation: float = 0.01  # beta_t, as a share of the mean of X_t'X_t's diagonal
    sample: int = 10_000  # pairs that are learnt from, at most: graphs look at all pairs of items
    seed: int = 0

    def __post_init__(self) -> None:
        check_bits(self.bits)
        check_not_negative("smoothness", self.smoothness)
        check_not_negative("regularisation", self.regularisation)
        for name in ("neighbours", "sample"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)} is too few", next_step="give at least 1")


PRESETS = {"imh": IMHSettings()}


class IMH(ShallowHasher):
    """The method: sgn((x_t - mean_t) W_t - median_t) for the items of either view."""

    method = "imh"
    kind = IMHSettings
    presets = PRESETS
    shapes = WITH_OFFSETS
    settings: IMHSettings

    def learn(self, pairs: Pairs, log: Log) -> Learnt:
        """Both projections and their medians, found from a sample of the pairs."""
        settings, rng = self.settings, np.random.default_rng(self.settings.seed)
        pairs = sampled(pairs, settings.sample, rng)
        if len(pairs) <= settings.bits:
            raise DataError(
                f"{len(pairs)} pairs teach fewer than {settings.bits} bits", next_step="give more pairs or fewer bits"
            )
        X, Y = (matrix(side).astype(np.float64) for side in (pairs.images, pairs.texts))
        mean_x, mean_y = X.mean(axis=0), Y.mean(axis=0)
        centred = [X - mean_x, Y - mean_y]
        regressors = [regressor(V, settings.regularisation) for V in centred]
        graphs = [Graph.of(V, settings.neighbours) for V in centred]
        times = operator(centred, regressors, graphs, settings.smoothness)
        e, F = smallest_eigenvectors(times, len(pairs), settings.bits, rng=rng)
        Wx, Wy = (P @ F for P in regressors)
        # The sign of a bit is free: the largest entry on the image side is made positive, so that runs agree.
        signs = np.where(Wx[np.abs(Wx).argmax(axis=0), np.arange(settings.bits)] < 0, -1.0, 1.0)
        Wx, Wy = Wx * signs, Wy * signs
        offsets = [offset(V @ W) for V, W in zip(centred, (Wx, Wy), strict=True)]
        log({"objective": float(e.sum())})
        return linear(mean_x, mean_y, Wx, Wy) | {"images.offset": offsets[0], "texts.offset": offsets[1]}

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The projections of pictures or texts from which the medians are taken off, (n, bits)."""
        return encode_linear(self.learnt_, batch, method=self.method)


def regressor(X: Floats, regularisation: float) -> Floats:
    """(X'X + beta I)^-1 X', (d, n): what turns wished values into the weights that predict them best.

    >>> regressor(np.array([[1.0], [-1.0]]), 0.0).tolist()
    [[0.5, -0.5]]
    """
    S = X.T @ X
    try:
        return np.asarray(np.linalg.solve(S + share(S, regularisation) * np.eye(len(S)), X.T), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise DataError(
            "a view has features that always say the same", next_step="give a larger regularisation"
        ) from error


def offset(values: Floats) -> Floats:
    """What takes the median off each column of (n, bits) values, (bits,).

    An item on the median itself is +1: without the little that is added, rounding would decide about texts of the
    same words.

    >>> offset(np.array([[1.0], [2.0], [9.0]])).round(3).tolist()
    [-2.0]
    """
    median, deviation = np.median(values, axis=0), np.std(values, axis=0)
    return np.asarray(APART * deviation - median, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Graph:
    """W = (W0 + W0') / 2 in rows, where W0[i, j] = 1 when j is one of the k nearest of i."""

    starts: NDArray[np.intp]  # (n,): where in the two lists below each item's neighbours begin
    others: NDArray[np.intp]  # who they are; one that is near both ways occurs twice
    degrees: Floats  # (n,): the row sums of W

    @classmethod
    def of(cls, X: Floats, k: int) -> "Graph":
        """The graph of the items of a view; everyone has a neighbour.

        >>> Graph.of(np.array([[0.0], [1.0], [9.0]]), 1).degrees.tolist()  # 0 - 1 both ways, 9 - 1 one way
        [1.0, 1.5, 0.5]
        """
        n, k = len(X), min(k, len(X) - 1)
        nearest = np.concatenate([_nearest(X, start, k) for start in range(0, n, ROWS)])
        ends = np.repeat(np.arange(n), k), nearest.ravel()
        rows, others = np.concatenate(ends), np.concatenate(ends[::-1])
        order = np.argsort(rows, kind="stable")
        starts = np.searchsorted(rows[order], np.arange(n))
        return cls(starts, others[order], np.bincount(rows, minlength=n) / 2)

    def laplacian_times(self, V: Floats) -> Floats:
        """(D - W) V, (n, columns)."""
        return self.degrees[:, None] * V - np.add.reduceat(V[self.others], self.starts, axis=0) / 2


def _nearest(X: Floats, start: int, k: int) -> NDArray[np.intp]:
    """The k nearest other items of some rows, in no order."""
    squares = squared_distances(X[start : start + ROWS], X)
    squares[np.arange(len(squares)), start + np.arange(len(squares))] = np.inf  # nobody is a neighbour of their own
    return np.argpartition(squares, k - 1, axis=1)[:, :k]


def operator(
    views: list[Floats], regressors: list[Floats], graphs: list[Graph], smoothness: float
) -> Callable[[Floats], Floats]:
    """The function V -> Q V, (n, columns), with the constant vector lifted above all others."""
    # No eigenvalue of a Laplacian is above twice the largest degree.
    lift = 2 + 2 * smoothness * sum(float(graph.degrees.max()) for graph in graphs)

    def times(V: Floats) -> Floats:
        QV: Floats = lift * np.broadcast_to(V.mean(axis=0), V.shape)
        for X, P, graph in zip(views, regressors, graphs, strict=True):
            QV = QV + V - X @ (P @ V) + smoothness * graph.laplacian_times(V)
        return QV

    return times
