"""Label projection: a method in one file, as an example of how to add one.

Assumes: pairs with labels. Every label set gets a target code, the sign of a random projection of its labels; ridge
regression then maps pictures and sentences towards their targets. Values are (x - mean) W, their signs are the codes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deepbinaries.hashers import Images, Pairs, Texts
from deepbinaries.hashers.linear import LINEAR, encode_linear, linear
from deepbinaries.hashers.saving import load_learnt, save_learnt
from deepbinaries.hashers.settings import changed, check_bits
from deepbinaries.hashers.views import matrix

NAME = "label-projection"


@dataclass(frozen=True)
class Settings:
    bits: int = 64
    regularisation: float = 0.1  # this share of the features' mean variance is added to each variance
    seed: int = 0  # of the projection

    def __post_init__(self) -> None:
        check_bits(self.bits)


class LabelProjection:
    def __init__(self, settings: Settings, *, device: str = "auto"):
        self.settings = settings
        self.device = device  # there is nothing for a GPU to do
        self.learnt_: dict[str, NDArray[Any]] = {}

    @classmethod
    def preset(cls, name: str, *, device: str = "auto", **settings: Any) -> Self:
        return cls(changed({name: Settings()}, name, settings), device=device)

    @property
    def bits(self) -> int:
        return self.settings.bits

    def fit(self, pairs: Pairs, **_: Any) -> Self:  # validation, checkpoints and log are for methods with epochs
        labels = pairs.labels.matrix().astype(float)
        rng = np.random.default_rng(self.settings.seed)
        projected = (labels - labels.mean(axis=0)) @ rng.standard_normal((labels.shape[1], self.bits))
        targets = np.where(projected >= 0, 1.0, -1.0)
        (mean_x, Wx), (mean_y, Wy) = (self._towards(targets, view) for view in (pairs.images, pairs.texts))
        self.learnt_ = linear(mean_x, mean_y, Wx, Wy)
        return self

    def _towards(self, targets: NDArray[Any], view: Images | Texts) -> tuple[NDArray[Any], NDArray[Any]]:
        x = matrix(view).astype(float)  # one vector an item: (n, d)
        mean = x.mean(axis=0)
        x -= mean
        covariance = x.T @ x
        covariance += self.settings.regularisation * np.trace(covariance) / len(mean) * np.eye(len(mean))
        return mean, np.linalg.solve(covariance, x.T @ targets)

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        return encode_linear(self.learnt_, batch, method=NAME)

    def save(self, folder: str | Path) -> None:
        save_learnt(folder, NAME, self.settings, self.learnt_)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        settings, learnt = load_learnt(folder, NAME, Settings, LINEAR)
        hasher = cls(settings, device=device)
        hasher.learnt_ = learnt
        return hasher
