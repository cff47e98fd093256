"""SCM: Semantic Correlation Maximisation.

Paper: Zhang, Li, "Large-Scale Supervised Multimodal Hashing with Semantic Correlation Maximization", AAAI 2014. Linear
codes of both views shall have the products that the labels have: S~ = 2 L^ L^' - 1 1', where the rows of L^ are the
label sets at length 1. S~ is N x N and never formed: all that is asked of it is C = X'S~Y = 2 (X'L^)(Y'L^)'.

Assumes: pairs of one vector a picture and one a text, and labels.

Two forms. `scm-orth` asks for uncorrelated bits and solves for all of them at once; it has no more directions than
there are labels, and further bits are filled up as `padding` says. `scm-seq` learns bit after bit what those before
have left over.

Differs from the paper in: nothing that is known. Codes of another length are learnt anew, since the target M S~ grows
with the length M. A public release stops the sequence where its leading value rises and takes the other bits from
canonical correlation analysis; the published numbers are those without, and `fallback="cca"` is the release's way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import sign
from deepbinaries.errors import DataError, unknown_name
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.covariances import (
    NOTHING,
    Covariances,
    covariances,
    root,
    share,
    shared_directions,
    whitened,
)
from deepbinaries.hashers.krylov import leading_pair
from deepbinaries.hashers.linear import LINEAR, encode_linear, linear
from deepbinaries.hashers.padding import check_padding, pad, shortage
from deepbinaries.hashers.settings import check_bits, check_not_negative
from deepbinaries.hashers.shallow import Learnt, Log, ShallowHasher
from deepbinaries.hashers.views import BLOCK, Floats, matrix

FORMS = ("seq", "orth")
FALLBACKS = ("none", "cca")


@dataclass(frozen=True)
class SCMSettings:
    """Everything that decides what SCM learns."""

    bits: int = 64  # M
    form: str = "seq"  # "seq": bit after bit; "orth": all at once, uncorrelated
    ridge: float = 1e-6  # added to the diagonal of X'X and Y'Y as it is, the literature's
    regularisation: float = 0.0  # added too, as a share of the mean of that diagonal; deep features may gain by it
    fallback: str = "none"  # of "seq", once the leading value rises: "none" goes on, "cca" takes correlated directions
    padding: str = "noise"  # what fills up the bits for which there is no direction
    seed: int = 0  # of that noise

    def __post_init__(self) -> None:
        check_bits(self.bits)
        if self.form not in FORMS:
            raise unknown_name("form of SCM", self.form, FORMS)
        if self.fallback not in FALLBACKS:
            raise unknown_name("fallback of SCM", self.fallback, FALLBACKS)
        check_not_negative("ridge", self.ridge)
        check_not_negative("regularisation", self.regularisation)
        check_padding(self.padding)


PRESETS = {"scm-seq": SCMSettings(), "scm-orth": SCMSettings(form="orth")}


class SCM(ShallowHasher):
    """The method: sgn((x - mean_x) Wx) for pictures, sgn((y - mean_y) Wy) for texts."""

    method = "scm"
    kind = SCMSettings
    presets = PRESETS
    shapes = LINEAR
    settings: SCMSettings

    def learn(self, pairs: Pairs, log: Log) -> Learnt:
        """Both projections, found from the pairs and their labels."""
        settings, rng = self.settings, np.random.default_rng(self.settings.seed)
        S = covariances(pairs)
        Rx, Ry = (root(Saa, settings.ridge + share(Saa, settings.regularisation)) for Saa in (S.Sxx, S.Syy))
        C = semantic_correlation(S)
        if settings.form == "orth":
            Wx, Wy, _ = shared_directions(C, Rx, Ry)
        else:
            views = matrix(pairs.images), matrix(pairs.texts)
            Wx, Wy = sequence(C, S, Rx, Ry, views, settings.bits, fall_back=settings.fallback == "cca", rng=rng)
        found = Wx.shape[1]
        Wx, Wy = pad(Wx, Wy, Rx, Ry, settings.bits, padding=settings.padding, rng=rng)
        log({"directions": min(found, settings.bits)} | shortage(found, settings.bits, settings.padding))
        return linear(S.mean_x, S.mean_y, Wx, Wy)

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The projections of pictures or texts, (n, bits); the signs are the codes."""
        return encode_linear(self.learnt_, batch, method=self.method)


def semantic_correlation(S: Covariances) -> Floats:
    """C = X'(2 L^ L^' - 1 1')Y, (dx, dy); the second part is nothing, since X and Y are centred."""
    for VL, V in ((S.XL, S.Sxx), (S.YL, S.Syy)):
        if np.linalg.norm(VL) <= NOTHING * np.sqrt(S.n * np.trace(V)):
            raise DataError("the labels tell no pair from another", next_step="give pairs that differ in their labels")
    return 2 * S.XL @ S.YL.T


def sequence(
    C: Floats,
    S: Covariances,
    Rx: Floats,
    Ry: Floats,
    views: Sequence[NDArray[np.float32]],
    M: int,
    *,
    fall_back: bool,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Wx (dx, M) and Wy (dy, M), one bit after the other: min |M S~ - sgn(X Wx) sgn(Y Wy)'|^2.

    Rx Rx' and Ry Ry' are the regularised covariances. For k = 1..M, with K_1 = Rx^-1 (M C) Ry^-T:

    (u, v) is the leading singular pair of K_k; wx = Rx^-T u, wy = Ry^-T v; bx = sgn(X wx), by = sgn(Y wy);
    K_k+1 = K_k - (Rx^-1 X'bx)(Ry^-1 Y'by)'.
    """
    # Every bit asks for four solutions with the same triangles, and numpy has no triangular solver.
    Rx_inv, Ry_inv = np.linalg.inv(Rx), np.linalg.inv(Ry)
    K, found, last = M * whitened(C, Rx, Ry), [], np.inf
    for _ in range(M):
        u, s, v = leading_pair(K.__matmul__, K.T.__matmul__, K.shape[1], rng=rng)
        if fall_back and s > last:
            break
        last = s
        wx, wy = Rx_inv.T @ u, Ry_inv.T @ v
        found.append((wx, wy))
        X_bx, Y_by = _bit_sums(views[0], S.mean_x, wx), _bit_sums(views[1], S.mean_y, wy)
        K = K - np.outer(Rx_inv @ X_bx, Ry_inv @ Y_by)
    Wx, Wy = (np.column_stack(W) for W in zip(*found, strict=True))
    if Wx.shape[1] < M:
        more_x, more_y, _ = shared_directions(S.Sxy, Rx, Ry)
        Wx, Wy = np.hstack([Wx, more_x]), np.hstack([Wy, more_y])
    return Wx, Wy


def _bit_sums(vectors: NDArray[np.float32], mean: Floats, w: Floats) -> Floats:
    """X' sgn(X w), (d,), where X are the vectors with their mean taken off, some thousand rows at a time."""
    total = np.zeros(len(mean))
    for start in range(0, len(vectors), BLOCK):
        X = vectors[start : start + BLOCK] - mean
        total += X.T @ sign(X @ w)
    return total
