"""CMFH: Collective Matrix Factorisation Hashing.

Paper: Ding, Guo, Zhou, "Collective Matrix Factorization Hashing for Multimodal Data", CVPR 2014. One latent matrix V
factorises both views and is predicted from each; the signs of the predictions are the codes.

    f = sum_t lambda_t |X_t - V U_t|^2 + mu sum_t |V - X_t P_t|^2 + gamma (|V|^2 + sum_t |U_t|^2 + sum_t |P_t|^2)

Assumes: pairs of a vector for the picture and one for the text. Labels are not looked at.

Differs from the paper in: after one step V = X A_1 + Y A_2, so that only the A_t are kept, and a step costs the same
for any number of items; it starts from random A_t instead of a random V. f depends on the scale of the features. `cmfh`
takes them as they come; `cmfh-scaled` brings both views to one size, which the features of deep networks need.

An item that has both views can be given one code of both, `encode_pair`. Codes of one view each are the default, since
no other method has such codes, and results of the two kinds must not be mixed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.covariances import Covariances, covariances
from deepbinaries.hashers.linear import LINEAR, encode_linear, linear
from deepbinaries.hashers.settings import check_bits, check_not_negative
from deepbinaries.hashers.shallow import Learnt, Log, ShallowHasher
from deepbinaries.hashers.views import Floats

SHAPES = LINEAR | {"images.together": ("dx", "bits"), "texts.together": ("dy", "bits")}


@dataclass(frozen=True)
class CMFHSettings:
    """Everything that decides what CMFH learns."""

    bits: int = 64  # M
    image_weight: float = 0.5  # lambda_1
    text_weight: float = 0.5  # lambda_2
    prediction: float = 100.0  # mu
    regularisation: float = 0.01  # gamma
    size: float = 0.0  # root mean square length to which each view is scaled; 0: as it comes
    iterations: int = 100  # at most; it ends when f falls by less than a millionth
    seed: int = 0  # of the first A_t and P_t

    def __post_init__(self) -> None:
        check_bits(self.bits)
        for name in ("image_weight", "text_weight", "prediction", "regularisation", "size"):
            check_not_negative(name, getattr(self, name))
        if not (self.image_weight and self.text_weight and self.prediction and self.regularisation):
            raise UsageError("a weight of CMFH is zero", next_step="the paper has 0.5, 0.5, 100 and 0.01")
        if self.iterations < 1:
            raise UsageError(f"iterations={self.iterations} learn nothing", next_step="100 are enough")


PRESETS = {"cmfh": CMFHSettings(), "cmfh-scaled": replace(CMFHSettings(), size=0.3)}


class CMFH(ShallowHasher):
    """The method: sgn((x - mean_x) P_1) for pictures, sgn((y - mean_y) P_2) for sentences."""

    method = "cmfh"
    kind = CMFHSettings
    presets = PRESETS
    shapes = SHAPES  # mean, projection P_t and share A_t of each view
    settings: CMFHSettings

    def learn(self, pairs: Pairs, log: Log) -> Learnt:
        """Both projections; `log` is told the objective of each iteration."""
        settings, S = self.settings, covariances(pairs)
        scale_x, scale_y = (_scale(Saa, S.n, settings.size) for Saa in (S.Sxx, S.Syy))
        scaled = replace(S, Sxx=S.Sxx * scale_x**2, Syy=S.Syy * scale_y**2, Sxy=S.Sxy * scale_x * scale_y)
        before = np.inf
        for iteration, state in enumerate(factorise(scaled, settings), start=1):
            log({"objective": state.objective, "image_scale": scale_x, "text_scale": scale_y})
            if iteration == settings.iterations or before - state.objective <= 1e-6 * before < np.inf:
                break
            before = state.objective
        together = {"images.together": state.A[0] * scale_x, "texts.together": state.A[1] * scale_y}
        return linear(S.mean_x, S.mean_y, state.P[0] * scale_x, state.P[1] * scale_y) | together

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The projections of pictures or sentences, (n, bits); the signs are the codes."""
        return encode_linear(self.learnt_, batch, method=self.method)

    def encode_pair(self, images: Images, texts: Texts) -> NDArray[np.float32]:
        """The values of items that have both views, (n, bits): their rows of V; the signs are unified codes."""
        if len(images) != len(texts):
            raise DataError(f"{len(images)} pictures and {len(texts)} texts are no pairs", next_step="give as many")
        parts = {name: array for name, array in self.learnt_.items() if name.endswith(".mean")}
        parts |= {f"{view}.projection": self.learnt_[f"{view}.together"] for view in ("images", "texts") if parts}
        return encode_linear(parts, images, method=self.method) + encode_linear(parts, texts, method=self.method)


class State(NamedTuple):
    """Where the factorisation stands after an iteration; V = X A_1 + Y A_2."""

    A: tuple[Floats, Floats]  # (d_t, bits)
    P: tuple[Floats, Floats]  # (d_t, bits)
    objective: float  # f


def factorise(S: Covariances, settings: CMFHSettings) -> Iterator[State]:
    """Endless iterations, each of which minimises f over all U_t, then over V, then over all P_t."""
    rng, M = np.random.default_rng(settings.seed), settings.bits
    mu, gamma, weights = settings.prediction, settings.regularisation, (settings.image_weight, settings.text_weight)
    within, I = (S.Sxx, S.Syy), np.eye(M)  # noqa: E741 - the identity
    A, P = ([rng.random((len(Stt), M)) for Stt in within] for _ in range(2))
    # Needed in every iteration, and well conditioned by gamma / mu.
    inverses: list[NDArray[Any]] = [np.linalg.inv(Stt + gamma / mu * np.eye(len(Stt))) for Stt in within]
    XV = _across(S, A)
    while True:
        VV = sum(At.T @ XtV for At, XtV in zip(A, XV, strict=True))
        U = [np.linalg.solve(VV + gamma / weight * I, XtV.T) for weight, XtV in zip(weights, XV, strict=True)]
        H = sum(weight * Ut @ Ut.T for weight, Ut in zip(weights, U, strict=True)) + (2 * mu + gamma) * I
        A = [
            np.asarray(np.linalg.solve(H, weight * Ut + mu * Pt.T).T, dtype=np.float64)
            for weight, Ut, Pt in zip(weights, U, P, strict=True)
        ]
        XV = _across(S, A)
        P = [inverse @ XtV for inverse, XtV in zip(inverses, XV, strict=True)]
        VV = sum(At.T @ XtV for At, XtV in zip(A, XV, strict=True))
        f = gamma * np.trace(VV)
        for Stt, weight, Ut, Pt, XtV in zip(within, weights, U, P, XV, strict=True):
            f += weight * (np.trace(Stt) - 2 * np.sum(Ut * XtV.T) + np.sum(Ut * (VV @ Ut)))
            # |V - X_t P_t|^2 and |P_t|^2 together, by (X_t'X_t + gamma / mu) P_t = X_t'V.
            f += mu * (np.trace(VV) - np.sum(Pt * XtV)) + gamma * np.sum(Ut**2)
        yield State((A[0], A[1]), (P[0], P[1]), float(f))


def _across(S: Covariances, A: list[Floats]) -> list[Floats]:
    """X'V and Y'V of V = X A_1 + Y A_2."""
    return [S.Sxx @ A[0] + S.Sxy @ A[1], S.Sxy.T @ A[0] + S.Syy @ A[1]]


def _scale(S: Floats, n: int, size: float) -> float:
    """The factor that gives vectors with these sums of squares the root mean square length `size`."""
    length = float(np.sqrt(np.trace(S) / n))
    return size / length if size and length else 1.0
