"""CVFL: Cross-View Feature Learning, for retrieval by real values.

Paper: Xie, Peng, Xiao, "Cross-View Feature Learning for Scalable Social Image Analysis", AAAI 2014. A linear map takes
texts to the features of pictures, where both are compared by their cosine. The map is smooth over picture features
that behave alike: Lv is the Laplacian of an affinity between them, so that no graph of items is needed.

    min |X - Y A|^2 + lambda |A|^2 + gamma tr(A Lv A')

Assumes: pairs of a vector for the picture and one for the text. Labels are not looked at.

Differs from the paper in: the affinity and both weights are our choice, since they are not published. `cvfl` has no
Laplacian and is ridge regression; `cvfl-lap` has it.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.covariances import covariances, share
from deepbinaries.hashers.regression import (
    REGRESSION,
    check_direction,
    encode_regression,
    in_direction,
    regression,
)
from deepbinaries.hashers.settings import check_bits, check_not_negative
from deepbinaries.hashers.shallow import Learnt, Log, ShallowHasher
from deepbinaries.hashers.views import Floats


@dataclass(frozen=True)
class CVFLSettings:
    """Everything that decides what CVFL learns; nothing is drawn, so there is no seed."""

    bits: int = 64  # taken and not followed: there are as many values as the predicted view has features
    ridge: float = 0.01  # lambda, as a share of the mean of the predicting view's covariance
    smoothness: float = 0.0  # gamma
    neighbours: int = 0  # features that each one is tied to by the Laplacian, 0: all; 10 is good for thousands
    direction: str = "text_to_image"  # or "image_to_text": pictures are mapped to the texts' features

    def __post_init__(self) -> None:
        check_bits(self.bits)
        check_direction(self.direction)
        for name in ("ridge", "smoothness", "neighbours"):
            check_not_negative(name, getattr(self, name))
        if not self.ridge:
            raise UsageError("without a ridge, features that never change divide by zero", next_step="0.01 is good")


PRESETS = {"cvfl": CVFLSettings(), "cvfl-lap": replace(CVFLSettings(), smoothness=0.1)}


class CVFL(ShallowHasher):
    """The method: x - mean_x for pictures, (y - mean_y) A for sentences."""

    method = "cvfl"
    kind = CVFLSettings
    presets = PRESETS
    shapes = REGRESSION  # the means of both views, and A
    ranking = "cosine"  # its values are compared as they are, not by their signs
    follows_bits = False  # there are as many values as the predicted view has features
    settings: CVFLSettings

    @property
    def bits(self) -> int:
        """How many values an item has: once it has learnt, as many as the predicted view has features."""
        return len(self.learnt_["to.mean"]) if self.learnt_ else self.settings.bits

    def learn(self, pairs: Pairs, log: Log) -> Learnt:
        """The map A, found in one step."""
        settings, S = self.settings, covariances(pairs)
        G, across = in_direction(S, settings.direction)
        Lv = None
        if settings.smoothness:
            # The affinity compares what features are, so that their means count too.
            raw = S.Sxx + S.n * np.outer(S.mean_x, S.mean_x)
            if settings.direction == "image_to_text":
                raw = S.Syy + S.n * np.outer(S.mean_y, S.mean_y)
            Lv = settings.smoothness * laplacian(raw, settings.neighbours)
        A = smooth_ridge(G, across, share(G, settings.ridge), Lv)
        log({"values": A.shape[1]})
        return regression(S, A, settings.direction)

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """Pictures and sentences in the space of the predicted view, (n, bits), to be compared by their cosine."""
        return encode_regression(self.learnt_, batch, direction=self.settings.direction, method=self.method)


def smooth_ridge(G: Floats, S: Floats, ridge: float, Lv: Floats | None = None) -> Floats:
    """A (d, e) with (G + ridge I) A + A Lv = S; without Lv it is ridge regression.

    Both sides are turned to eigenvectors, G + ridge I = Q diag(a) Q' and Lv = R diag(l) R', where the equation falls
    apart into single numbers: (Q' A R)_ij = (Q' S R)_ij / (a_i + l_j).

    >>> smooth_ridge(np.eye(1), np.array([[4.0, 0.0]]), 1.0).tolist()
    [[2.0, 0.0]]
    >>> smooth_ridge(np.eye(1), np.array([[4.0, 0.0]]), 1.0, np.array([[1.0, -1.0], [-1.0, 1.0]])).round(9).tolist()
    [[1.5, 0.5]]
    """
    loose = G + ridge * np.eye(len(G))
    if Lv is None:
        return np.linalg.solve(loose, S).astype(np.float64, copy=False)
    a, Q = np.linalg.eigh(loose)
    l, R = np.linalg.eigh(Lv)  # noqa: E741 - the equation's letter
    A: Floats = Q @ ((Q.T @ S @ R) / (a[:, None] + l)) @ R.T
    return A


def laplacian(G: Floats, neighbours: int) -> Floats:
    """D - W of the affinities W = exp(-distance / mean distance) between features whose second moments are G.

    >>> laplacian(np.eye(2), neighbours=0).round(3).tolist()
    [[0.135, -0.135], [-0.135, 0.135]]
    """
    squares = np.diagonal(G)
    distance = np.maximum(squares[:, None] + squares - 2 * G, 0.0)
    W = np.exp(-distance / max(float(distance.mean()), np.finfo(float).tiny))
    np.fill_diagonal(W, 0.0)
    if 0 < neighbours < len(W) - 1:
        least = np.partition(W, len(W) - neighbours, axis=1)[:, len(W) - neighbours, None]
        kept = least <= W
        W = np.where(kept | kept.T, W, 0.0)
    found: Floats = np.diag(W.sum(axis=1)) - W
    return found
