"""QCH: Quantised Correlation Hashing, in our reading.

Paper: Wu, Yang, Zheng, Wang, Wang, "Quantized Correlation Hashing for Fast Cross-Modal Search", IJCAI 2015. The codes
of both views are to lose little by quantisation and to be correlated across views, in one problem that is solved by
alternation.

    max tr(Bx' Zx Wx) / N + tr(By' Zy Wy) / N + lambda tr(Wx' C Wy)

Zx and Zy are the whitened views, Bx and By the codes, C says what the views share. Wx and Wy are isometries. For those,
the first two terms are the quantisation losses, up to a constant: without the third it is ITQ in each view.

Assumes: pairs of a vector for the picture and one for the text, with labels; without `labels`, C is the correlation.

Differs from the paper in: its text was not at hand, only its abstract. Objective, solver and weight are reconstructed
from that and from what surveys say, so that results speak of this reading, not of the authors' own.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.covariances import covariances
from deepbinaries.hashers.linear import LINEAR, encode_linear, linear
from deepbinaries.hashers.settings import check_bits, check_not_negative
from deepbinaries.hashers.shallow import Learnt, Log, ShallowHasher
from deepbinaries.hashers.views import BLOCK, Floats, matrix

Singles = NDArray[np.float32]


@dataclass(frozen=True)
class QCHSettings:
    """Everything that decides what QCH learns."""

    bits: int = 64  # M
    correlation: float = 10.0  # lambda
    labels: bool = True  # whether C knows the labels
    iterations: int = 50
    seed: int = 0  # of the first rotation

    def __post_init__(self) -> None:
        check_bits(self.bits)
        check_not_negative("correlation", self.correlation)
        if self.iterations < 1:
            raise UsageError(f"iterations={self.iterations} learn nothing", next_step="50 are enough")


PRESETS = {"qch": QCHSettings()}


class QCH(ShallowHasher):
    """The method: sgn((x - mean_x) Tx Wx) for pictures, sgn((y - mean_y) Ty Wy) for sentences; T whitens."""

    method = "qch"
    kind = QCHSettings
    presets = PRESETS
    shapes = LINEAR
    settings: QCHSettings

    def learn(self, pairs: Pairs, log: Log) -> Learnt:
        """Both projections; `log` is told the objective of each iteration."""
        settings, S = self.settings, covariances(pairs)
        weight, N = settings.correlation, S.n
        Tx, Ty = whitening(S.Sxx, N), whitening(S.Syy, N)
        C = Tx.T @ (2 * S.XL @ S.YL.T if settings.labels else S.Sxy) @ Ty / N
        U, s, Vt = np.linalg.svd(C, full_matrices=False)
        if s[0] <= 1e-12:
            raise DataError("pictures and sentences have nothing in common", next_step="check that they are pairs")
        if settings.labels:
            C /= s[0]
        rotation = polar(np.random.default_rng(settings.seed).normal(size=(len(s), settings.bits)))
        Wx, Wy = U @ rotation, Vt.T @ rotation
        X, Y = matrix(pairs.images), matrix(pairs.texts)
        for _ in range(settings.iterations):
            fits_x, XB = quantise(X, S.mean_x, Tx @ Wx)
            fits_y, YB = quantise(Y, S.mean_y, Ty @ Wy)
            log({"objective": (fits_x + fits_y) / N + weight * float(np.sum(Wx * (C @ Wy)))})
            Wx = polar(Tx.T @ XB / N + weight * C @ Wy)
            Wy = polar(Ty.T @ YB / N + weight * C.T @ Wx)
        return linear(S.mean_x, S.mean_y, Tx @ Wx, Ty @ Wy)

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The projections of pictures or sentences, (n, bits); the signs are the codes."""
        return encode_linear(self.learnt_, batch, method=self.method)


def whitening(S: Floats, n: int) -> Floats:
    """T (d, r) with T' S T / n = I, over the directions in which S is more than a millionth of its largest.

    >>> whitening(np.diag([0.0, 8.0]), n=2).round(9).tolist()
    [[0.0], [0.5]]
    """
    values, Q = np.linalg.eigh(S)
    kept = values > 1e-6 * max(float(values[-1]), np.finfo(float).tiny)
    T: Floats = Q[:, kept] * np.sqrt(n / values[kept])
    return T


def polar(A: Floats) -> Floats:
    """The isometry W nearest to A: it maximises tr(W'A), with W'W = I where A is tall and WW' = I where it is wide.

    >>> polar(np.diag([2.0, -3.0])).tolist()
    [[1.0, 0.0], [0.0, -1.0]]
    """
    P, _, Qt = np.linalg.svd(A, full_matrices=False)
    W: Floats = P @ Qt
    return W


def quantise(X: Singles, mean: Floats, W: Floats) -> tuple[float, Floats]:
    """tr(B'Z) and (X - mean)'B of the codes B = sgn(Z), Z = (X - mean) W, block by block.

    >>> fits, XB = quantise(np.array([[1.0], [3.0]], dtype=np.float32), np.array([2.0]), np.array([[2.0]]))
    >>> fits, XB.tolist()
    (4.0, [[2.0]])
    """
    fits, XB = 0.0, np.zeros(W.shape)
    centre, weights = mean.astype(np.float32), W.astype(np.float32)
    for start in range(0, len(X), BLOCK):
        centred = X[start : start + BLOCK] - centre
        Z = centred @ weights
        B = np.where(Z >= 0, np.float32(1), np.float32(-1))
        fits += float(np.abs(Z).sum(dtype=np.float64))
        XB += centred.T @ B
    return fits, XB
