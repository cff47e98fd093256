"""CVH: Cross-View Hashing.

Paper: Kumar, Udupa, "Learning Hash Functions for Cross-View Similarity Search", IJCAI 2011. Both views of an object
are projected linearly so that similar objects get similar codes in every pair of views; the signs are the codes.

Assumes: pairs of a vector that stands for the picture (here the whole picture's features) and one that stands for the
sentence (here how often each known word occurs in it). Labels are not looked at.

Differs from the paper in: an object is similar to itself alone (W = I), the form in which the method is usually
compared. Then its relaxed problem is canonical correlation analysis, and it is solved as such, by one singular value
decomposition. Bits beyond the rank of that problem are filled up by the rule that the setting `padding` names.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.covariances import covariances, root, share, shared_directions
from deepbinaries.hashers.linear import LINEAR, encode_linear, linear
from deepbinaries.hashers.padding import check_padding, pad, shortage
from deepbinaries.hashers.settings import check_bits, check_not_negative
from deepbinaries.hashers.shallow import Learnt, Log, ShallowHasher


@dataclass(frozen=True)
class CVHSettings:
    """Everything that decides what CVH learns; the seed draws what fills up short codes."""

    bits: int = 64  # M
    # Added to the diagonal of each view's covariance, as a share of its mean. The literature's 1e-4 (of unnormalised
    # sums) is far less; features of a deep network ask for more, and this was best on the validation part of scenes.
    regularisation: float = 0.1
    padding: str = "noise"  # bits that the views do not have in common: "noise" as published, or "constant"
    seed: int = 0

    def __post_init__(self) -> None:
        check_bits(self.bits)
        check_not_negative("regularisation", self.regularisation)
        check_padding(self.padding)


PRESETS = {"cvh": CVHSettings()}


class CVH(ShallowHasher):
    """The method: sgn((x - mean_x) Wx) for pictures, sgn((y - mean_y) Wy) for sentences."""

    method = "cvh"
    kind = CVHSettings
    presets = PRESETS
    shapes = LINEAR
    settings: CVHSettings

    def learn(self, pairs: Pairs, log: Log) -> Learnt:
        """Both projections, found in one step."""
        settings, S = self.settings, covariances(pairs)
        Rx, Ry = (root(Saa, share(Saa, settings.regularisation)) for Saa in (S.Sxx, S.Syy))
        Wx, Wy, s = shared_directions(S.Sxy, Rx, Ry)
        rng = np.random.default_rng(settings.seed)
        Wx, Wy = pad(Wx, Wy, Rx, Ry, settings.bits, padding=settings.padding, rng=rng)
        log({"correlation": float(s[: settings.bits].mean())} | shortage(len(s), settings.bits, settings.padding))
        return linear(S.mean_x, S.mean_y, Wx, Wy)

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The projections of pictures or sentences, (n, bits); the signs are the codes."""
        return encode_linear(self.learnt_, batch, method=self.method)
