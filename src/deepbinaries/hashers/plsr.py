"""PLSR: Partial Least Squares Regression, for retrieval by real values.

Paper: Wold's PLS2, as in Rosipal, Kraemer, "Overview and Recent Advances in Partial Least Squares", 2006. One view is
predicted from a few directions of the other, chosen one after the other by their covariance with what is left to
predict; items are compared by cosine in the space of the predicted view.

Assumes: pairs of a vector for the picture and one for the text. Labels are not looked at.

Differs from the paper in: it is a regression, and how it becomes a retrieval is our reading. Texts are mapped to the
pictures' features, since TVDB's paper gives one value for 4096 dimensions, the width of those. The number of components
is not published. It is computed from the covariances alone (Dayal, MacGregor 1997), with columns centred, not scaled.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.covariances import covariances
from deepbinaries.hashers.krylov import leading_pair
from deepbinaries.hashers.regression import (
    REGRESSION,
    check_direction,
    encode_regression,
    in_direction,
    regression,
)
from deepbinaries.hashers.settings import check_bits
from deepbinaries.hashers.shallow import Learnt, Log, ShallowHasher
from deepbinaries.hashers.views import Floats

ROUNDING = 1e-10  # a share of the whole, below which nothing is left to predict, or to predict from


@dataclass(frozen=True)
class PLSRSettings:
    """Everything that decides what PLSR learns; nothing is drawn, so there is no seed."""

    bits: int = 64  # taken and not followed: there are as many values as the predicted view has features
    components: int = 100  # k; never more than the rank of the predicting view
    direction: str = "text_to_image"  # or "image_to_text": pictures are mapped to the texts' features

    def __post_init__(self) -> None:
        check_bits(self.bits)
        check_direction(self.direction)
        if self.components < 1:
            raise UsageError(f"components={self.components} predict nothing", next_step="give a number from 1 on")


PRESETS = {"plsr": PLSRSettings()}


class PLSR(ShallowHasher):
    """The method: x - mean_x for pictures, (y - mean_y) B for sentences."""

    method = "plsr"
    kind = PLSRSettings
    presets = PRESETS
    shapes = REGRESSION  # the means of both views, and B
    ranking = "cosine"  # its values are compared as they are, not by their signs
    follows_bits = False  # there are as many values as the predicted view has features
    settings: PLSRSettings

    @property
    def bits(self) -> int:
        """How many values an item has: once it has learnt, as many as the predicted view has features."""
        return len(self.learnt_["to.mean"]) if self.learnt_ else self.settings.bits

    def learn(self, pairs: Pairs, log: Log) -> Learnt:
        """The regression B, found in one step."""
        settings, S = self.settings, covariances(pairs)
        B, used = pls(*in_direction(S, settings.direction), settings.components)
        log({"components": used, "values": B.shape[1]})
        return regression(S, B, settings.direction)

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """Pictures and sentences in the space of the predicted view, (n, bits), to be compared by their cosine."""
        return encode_regression(self.learnt_, batch, direction=self.settings.direction, method=self.method)


def pls(G: Floats, S: Floats, components: int, *, tolerance: float = 1e-4) -> tuple[Floats, int]:
    """B (d, e) that predicts e features from d of covariance G, and the components used; S (d, e) is across.

    For a = 1, 2, ...: w is the leading left singular vector of S, r = w - sum_j (p_j' w) r_j, t = r' G r,
    p = G r / t, q = S' r / t, and S loses t p q'. B = R Q'. It ends early when nothing is left to predict.
    Each w is found up to the tolerance: where several directions predict alike, any of them will do.

    >>> B, used = pls(np.diag([4.0, 1.0]), np.array([[8.0], [3.0]]), components=5)
    >>> B.round(9).tolist(), used
    ([[2.0], [3.0]], 2)
    """
    S, whole, rng = S.copy(), np.linalg.norm(S), np.random.default_rng(0)  # any start finds the same direction
    R: list[Floats] = []
    P: list[Floats] = []
    Q: list[Floats] = []
    while len(R) < min(components, len(G)) and np.linalg.norm(S) > ROUNDING * whole:
        w, _, _ = leading_pair(partial(np.matmul, S), partial(np.matmul, S.T), S.shape[1], rng=rng, tolerance=tolerance)
        r = w - sum((p @ w) * earlier for p, earlier in zip(P, R, strict=True))
        t = float(r @ G @ r)
        if t <= ROUNDING * np.trace(G) / len(G):
            break
        R, P, Q = [*R, r], [*P, G @ r / t], [*Q, S.T @ r / t]
        S -= t * np.outer(P[-1], Q[-1])
    if not R:
        raise DataError("pictures and sentences have nothing in common", next_step="check that they are pairs")
    return np.array(R).T @ np.array(Q), len(R)
