"""CCA: Canonical Correlation Analysis, for retrieval by real values.

Paper: Hotelling, "Relations between two sets of variates", Biometrika 1936; as a method of cross-modal retrieval
Rasiwasia et al., "A New Approach to Cross-Modal Multimedia Retrieval", ACM Multimedia 2010. Both views are projected
to the directions in which they are most correlated, and compared there by their cosine.

    max tr(Wx' Sxy Wy)  subject to  Wx' Sxx Wx = Wy' Syy Wy = I

Assumes: pairs of a vector for the picture and one for the text. Labels are not looked at.

Differs from the paper in: `bits` is the number of directions. Where the views share fewer, the values beyond them are
zero, which no cosine notices.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import unknown_name
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.covariances import covariances, root, share, shared_directions
from deepbinaries.hashers.linear import LINEAR, encode_linear, linear
from deepbinaries.hashers.padding import pad, shortage
from deepbinaries.hashers.settings import check_bits, check_not_negative
from deepbinaries.hashers.shallow import Learnt, Log, ShallowHasher

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


class CCA(ShallowHasher):
    """The method: (x - mean_x) Wx for pictures, (y - mean_y) Wy for sentences."""

    method = "cca"
    kind = CCASettings
    presets = PRESETS
    shapes = LINEAR
    ranking = "cosine"  # its values are compared as they are, not by their signs
    settings: CCASettings

    def learn(self, pairs: Pairs, log: Log) -> Learnt:
        """Both projections, found in one step."""
        settings, S = self.settings, covariances(pairs)
        Rx, Ry = (root(Saa, share(Saa, settings.regularisation)) for Saa in (S.Sxx, S.Syy))
        Wx, Wy, s = shared_directions(S.Sxy, Rx, Ry)
        if settings.scale == "correlation":
            Wx, Wy = Wx * s, Wy * s
        Wx, Wy = pad(Wx, Wy, Rx, Ry, settings.bits, padding="constant", rng=np.random.default_rng(0))
        log({"correlation": float(s[: settings.bits].mean())} | shortage(len(s), settings.bits, "constant"))
        return linear(S.mean_x, S.mean_y, Wx, Wy)

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The projections of pictures or sentences, (n, bits), to be compared by their cosine."""
        return encode_linear(self.learnt_, batch, method=self.method)
