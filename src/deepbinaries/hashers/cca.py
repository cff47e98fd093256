"""CCA: Canonical Correlation Analysis, for retrieval by real values.

Paper: Hotelling, "Relations between two sets of variates", Biometrika 1936; as a method of cross-modal retrieval
Rasiwasia et al., "A New Approach to Cross-Modal Multimedia Retrieval", ACM Multimedia 2010. Both views are projected
to the directions in which they are most correlated, and compared there by their cosine.

    max tr(Wx' Sxy Wy)  subject to  Wx' Sxx Wx = Wy' Syy Wy = I

Assumes: pairs of a vector for the picture and one for the text. Labels are not looked at.

Differs from the paper in: `bits` is the number of directions. Where the views share fewer, the values beyond them are
zero, which no cosine notices.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import unknown_name
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.covariances import covariances, root, share, shared_directions
from deepbinaries.hashers.linear import LINEAR, encode_linear, linear
from deepbinaries.hashers.padding import pad, shortage
from deepbinaries.hashers.saving import load_learnt, save_learnt
from deepbinaries.hashers.settings import changed, check_bits, check_not_negative

SCALES = ("none", "correlation")


@dataclass(frozen=True)
class CCASettings:
    """Everything that decides what CCA learns; nothing is drawn, so there is no seed."""

    bits: int = 64  # directions, each of them a real value
    regularisation: float = 0.1  # as CVH's, of which this is the real-valued form
    scale: str = "none"  # "correlation": each direction counts by its correlation, so that weak ones add less noise

    def __post_init__(self) -> None:
        check_bits(self.bits)
        check_not_negative("regularisation", self.regularisation)
        if self.scale not in SCALES:
            raise unknown_name("scale", self.scale, SCALES)


PRESETS = {"cca": CCASettings()}


class CCA:
    """The method: (x - mean_x) Wx for pictures, (y - mean_y) Wy for sentences."""

    ranking = "cosine"  # its values are compared as they are, not by their signs

    def __init__(self, settings: CCASettings = PRESETS["cca"], *, device: str = "auto"):
        self.settings = settings
        self.device = device  # it runs on the CPU whatever is asked for
        self.learnt_: dict[str, NDArray[Any]] = {}  # mean and projection of each view

    @classmethod
    def preset(cls, name: str, *, device: str = "auto", **settings: Any) -> Self:
        """The hasher of a preset, with some settings changed."""
        return cls(changed(PRESETS, name, settings), device=device)

    @property
    def bits(self) -> int:
        """How many values an item has."""
        return self.settings.bits

    def fit(
        self,
        pairs: Pairs,
        *,
        validation: Pairs | None = None,  # noqa: ARG002 - there are no epochs to score
        checkpoints: Path | None = None,  # noqa: ARG002 - nor anything to resume
        log: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> Self:
        """Learn both projections from the pairs, in one step that `log` is told as the only epoch."""
        began, settings, S = time.monotonic(), self.settings, covariances(pairs)
        Rx, Ry = (root(Saa, share(Saa, settings.regularisation)) for Saa in (S.Sxx, S.Syy))
        Wx, Wy, s = shared_directions(S.Sxy, Rx, Ry)
        if settings.scale == "correlation":
            Wx, Wy = Wx * s, Wy * s
        Wx, Wy = pad(Wx, Wy, Rx, Ry, settings.bits, padding="constant", rng=np.random.default_rng(0))
        self.learnt_ = linear(S.mean_x, S.mean_y, Wx, Wy)
        entry: dict[str, Any] = {"epoch": 1, "correlation": float(s[: settings.bits].mean())}
        entry |= shortage(len(s), settings.bits, "constant")
        log(entry | {"seconds": round(time.monotonic() - began, 3)})
        return self

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The projections of pictures or sentences, (n, bits), to be compared by their cosine."""
        return encode_linear(self.learnt_, batch, method="cca")

    def save(self, folder: str | Path) -> None:
        """Write `hasher.safetensors` and `hasher.json`."""
        save_learnt(folder, "cca", self.settings, self.learnt_)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """Read what `save` wrote; anything else is refused."""
        settings, learnt = load_learnt(folder, "cca", CCASettings, LINEAR)
        hasher = cls(settings, device=device)
        hasher.learnt_ = learnt
        return hasher
