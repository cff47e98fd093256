"""CMSSH: Cross-Modality Similarity-Sensitive Hashing.

Paper: Bronstein, Bronstein, Michel, Paragios, "Data Fusion through Cross-modality Metric Learning using
Similarity-Sensitive Hashing", CVPR 2010. Boosting over bits: each bit is a weak learner that says of a picture x_i and
a text y_j whether they are similar, h = sgn(p'x_i + a) sgn(q'y_j + b), and pairs it is wrong about weigh more for the
next one.

Assumes: one vector a picture and one a text, and labels; s = +1 for items that share one, -1 for others.

Differs from the paper in: the offsets a and b are searched on a grid of quantiles; the paper's rule is not known. With
offsets at the weighted mean the loss stops falling after some sixteen bits. Learnt from as many drawn pairs as is
usual, among a sample of the items. Codes are compared by their plain distance; the weight of each bit is kept beside.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import sign
from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.krylov import leading_pair
from deepbinaries.hashers.linear import WITH_OFFSETS, encode_linear, linear
from deepbinaries.hashers.sampling import sampled
from deepbinaries.hashers.settings import check_bits
from deepbinaries.hashers.shallow import Learnt, Log, ShallowHasher
from deepbinaries.hashers.views import Floats, matrix

DRAWS = 1000  # of as many pairs as are wanted: after these, similar pairs are too rare to go on looking
QUANTILES = np.linspace(0.02, 0.98, 24)  # of the projections: where a bit may change its sign
APART = 1e-4  # deviations by which a change of sign keeps away from an item
PERFECT = 1 - 1e-12  # agreement beyond which a bit's weight would be without end
CLOSE = 1e-5  # a direction of a weak learner need not be closer than single precision can say

Single = NDArray[np.float32]
Learner = tuple[Floats, float, Floats, float, float]  # p, a, q, b, alpha


@dataclass(frozen=True)
class CMSSHSettings:
    """Everything that decides what CMSSH learns. Codes of M bits are the first M of longer ones."""

    bits: int = 64  # M
    similar: int = 10_000  # pairs of a picture and a text that share a label
    different: int = 50_000  # pairs that share none
    sample: int = 10_000  # items that the pairs are made of, at most
    seed: int = 0

    def __post_init__(self) -> None:
        check_bits(self.bits)
        for name in ("similar", "different", "sample"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)} is too few", next_step="give at least 1")


PRESETS = {"cmssh": CMSSHSettings()}


class CMSSH(ShallowHasher):
    """The method: sgn(p_k'(x - mean_x) + a_k) for pictures, sgn(q_k'(y - mean_y) + b_k) for texts."""

    method = "cmssh"
    kind = CMSSHSettings
    presets = PRESETS
    shapes = WITH_OFFSETS | {"weights": ("bits",)}  # the weight of each bit beside
    settings: CMSSHSettings

    def learn(self, pairs: Pairs, log: Log) -> Learnt:
        """The weak learner of each bit, found one after the other from drawn pairs of pictures and texts."""
        settings, rng = self.settings, np.random.default_rng(self.settings.seed)
        pairs = sampled(pairs, settings.sample, rng)
        i, j, s = drawn_pairs(pairs.labels, settings.similar, settings.different, rng)
        X, Y = matrix(pairs.images), matrix(pairs.texts)
        mean_x, mean_y = (vectors.mean(axis=0, dtype=np.float64) for vectors in (X, Y))
        X -= mean_x.astype(np.float32)
        Y -= mean_y.astype(np.float32)
        learners = islice(boosting(X, Y, i, j, s, rng), settings.bits)
        p, a, q, b, alpha = (np.array(part) for part in zip(*learners, strict=True))
        log({"similar": int((s > 0).sum()), "different": int((s < 0).sum())})
        return linear(mean_x, mean_y, p.T, q.T) | {"images.offset": a, "texts.offset": b, "weights": alpha}

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The projections of pictures or texts with their offsets, (n, bits); the signs are the codes."""
        return encode_linear(self.learnt_, batch, method=self.method)


def drawn_pairs(
    labels: Labels, similar: int, different: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """i, j and s of as many pairs as asked for, or as are found in a reasonable time; the similar ones first.

    >>> labels = Labels.from_names([["a"], ["b"]])
    >>> i, j, s = drawn_pairs(labels, 2, 1, np.random.default_rng(0))
    >>> (i == j).tolist(), s.tolist()
    ([True, True, False], [1.0, 1.0, -1.0])
    """
    masks, wanted = labels.masks(), {True: similar, False: different}
    found: dict[bool, NDArray[np.int64]] = {kind: np.empty((2, 0), dtype=np.int64) for kind in wanted}
    for _ in range(DRAWS):
        both = rng.integers(0, len(labels), (2, similar + different))
        share = ((masks[:, both[0]] & masks[:, both[1]]) != 0).any(axis=0)
        for kind, n in wanted.items():
            if found[kind].shape[1] < n:
                found[kind] = np.hstack([found[kind], both[:, share == kind]])[:, :n]
        if all(found[kind].shape[1] == n for kind, n in wanted.items()):
            break
    for kind, word in ((True, "a"), (False, "no")):
        if not found[kind].size:
            raise DataError(f"no two items share {word} label", next_step="give pairs that differ in their labels")
    i, j = np.hstack([found[True], found[False]])
    return i, j, np.repeat([1.0, -1.0], [found[True].shape[1], found[False].shape[1]])


def boosting(
    X: Single, Y: Single, i: NDArray[np.int64], j: NDArray[np.int64], s: Floats, rng: np.random.Generator
) -> Iterator[Learner]:
    """One weak learner after the other, without end; X (n, dx) and Y (n, dy) are centred."""
    w = np.where(s > 0, 0.5 / (s > 0).sum(), 0.5 / (s < 0).sum())
    while True:
        p, q = correlated_pair(X, Y, i, j, s * w, w, rng)
        x, y = _projected(X, p), _projected(Y, q)
        a, b, r = best_offsets(x, y, i, j, s * w)
        r = min(r, PERFECT)
        alpha = 0.5 * float(np.log((1 + r) / (1 - r)))
        yield p, a, q, b, alpha
        w = w * np.exp(-alpha * s * sign(x + a)[i] * sign(y + b)[j])
        w /= w.sum()


def correlated_pair(
    X: Single, Y: Single, i: NDArray[np.int64], j: NDArray[np.int64], sw: Floats, w: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """p (dx,) and q (dy,): the leading singular pair of C = sum_pairs s w (x_i - mx)(y_j - my)'.

    mx and my are the weighted means. C is never formed: the pairs are summed up by item first.
    """
    mx, my = _summed(X, i, w), _summed(Y, j, w)  # w sums up to 1

    def times(q: Floats) -> Floats:
        t: Floats = sw * (_projected(Y, q) - my @ q)[j]
        return _summed(X, i, t) - mx * float(t.sum())

    def transposed(p: Floats) -> Floats:
        t: Floats = sw * (_projected(X, p) - mx @ p)[i]
        return _summed(Y, j, t) - my * float(t.sum())

    p, _, q = leading_pair(times, transposed, Y.shape[1], rng=rng, tolerance=CLOSE)
    return p, q


def best_offsets(
    x: Floats, y: Floats, i: NDArray[np.int64], j: NDArray[np.int64], sw: Floats
) -> tuple[float, float, float]:
    """a, b and r = sum_pairs s w sgn(x_i + a) sgn(y_j + b), the largest over a grid of quantiles.

    >>> x, pairs = np.array([-1.0, 0.0, 1.0]), np.arange(3)
    >>> a, b, r = best_offsets(x, -x, pairs, pairs[::-1], np.full(3, 1 / 3))
    >>> round(r, 6)
    1.0
    """
    # A little below the quantiles: texts of the same words lie on them, and rounding must not decide about their bits.
    a, b = (APART * v.std() - np.quantile(v, QUANTILES) for v in (x, y))
    r = (sign(x[:, None] + a)[i] * sw[:, None]).T @ sign(y[:, None] + b)[j]
    row, column = np.unravel_index(r.argmax(), r.shape)
    return float(a[row]), float(b[column]), float(r[row, column])


def _projected(V: Single, direction: Floats) -> Floats:
    """V d, (n,), in single precision: a second copy of all vectors would be too large."""
    return np.asarray(V @ direction.astype(np.float32), dtype=np.float64)


def _summed(V: Single, rows: NDArray[np.int64], weights: Floats) -> Floats:
    """The sum of weight times row of V over a list of rows with repeats, (d,)."""
    by_row = np.bincount(rows, weights, len(V))
    return np.asarray(by_row.astype(np.float32) @ V, dtype=np.float64)
