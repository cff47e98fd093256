"""SePH: Semantics-Preserving Hashing.

Paper: Lin, Ding, Hu, Wang, "Semantics-Preserving Hashing for Cross-View Retrieval", CVPR 2015. Two stages: codes of the
training items are learnt from labels alone, so that the chance to pick a pair by its codes is the chance to pick it by
its labels; then each bit is predicted from each view by kernel logistic regression.

Assumes: pairs of one vector a picture and one a text, and labels.

Two forms. `seph-km` measures how near an item is to the centres of k-means; `seph-rnd` to random training items.

Codes of pictures and of texts are separate ones; an item of which both are known can be given one code of both by
`encode_pair`, as the paper does with the items that are searched.

Differs from the paper in: nothing that is known. A public port swaps the two views' queries, another begins from other
codes, has a factor of 2 in the kernel and stops the regression early; none of this is done here. Learnt from as many
pairs as is usual, since the first stage looks at all pairs of items.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import sign
from deepbinaries.errors import DataError, UsageError, unknown_name
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers.covariances import normalised_labels
from deepbinaries.hashers.kernels import cluster_centres, mean_squared_distance, rbf
from deepbinaries.hashers.logistic import kernel_logistic
from deepbinaries.hashers.sampling import sampled
from deepbinaries.hashers.saving import nothing_learnt
from deepbinaries.hashers.settings import check_bits, check_not_negative
from deepbinaries.hashers.shallow import Learnt, Log, ShallowHasher
from deepbinaries.hashers.views import Floats, blocks, check_width, matrix, view_of

ROWS = 1000  # whose similarities to all others are in memory at once
STEP = 500.0  # of the descent, and its other constants: those of t-SNE
MOMENTUM = 0.5
START = 1e-4  # the deviation of the first values

SHAPES = {
    "images.anchors": ("anchors_x", "dx"),
    "images.width": (1,),
    "images.weights": ("anchors_x", "bits"),
    "texts.anchors": ("anchors_y", "dy"),
    "texts.width": (1,),
    "texts.weights": ("anchors_y", "bits"),
    "prior": ("bits",),
}


@dataclass(frozen=True)
class SePHSettings:
    """Everything that decides what SePH learns."""

    bits: int = 64  # M
    anchors: str = "km"  # "km": centres of k-means; "rnd": random training items, the same for both views
    n_anchors: int = 500  # of a view, at most as many as there are items
    alpha: float = 0.01  # weight of |h| = 1 in the first stage
    steps: int = 100  # of the first stage
    regularisation: float = 0.01  # C, weight of w'Kw in the second
    sample: int = 5000  # pairs that are learnt from, at most
    seed: int = 0

    def __post_init__(self) -> None:
        check_bits(self.bits)
        if self.anchors not in ("km", "rnd"):
            raise unknown_name("kind of anchors", self.anchors, ("km", "rnd"))
        check_not_negative("alpha", self.alpha)
        check_not_negative("regularisation", self.regularisation)
        for name in ("n_anchors", "steps", "sample"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)} is too few", next_step="give at least 1")


PRESETS = {"seph-km": SePHSettings(), "seph-rnd": SePHSettings(anchors="rnd")}


class SePH(ShallowHasher):
    """The method: sgn(k(x)'w) for the items of either view, k(x) being how near x is to each anchor."""

    method = "seph"
    kind = SePHSettings
    presets = PRESETS
    shapes = SHAPES  # anchors, kernel width and weights of each view; the bits' prior
    settings: SePHSettings

    def learn(self, pairs: Pairs, log: Log) -> Learnt:
        """Both views' predictions of the codes that are found from labels."""
        settings, rng = self.settings, np.random.default_rng(self.settings.seed)
        pairs = sampled(pairs, settings.sample, rng)
        H, divergence = semantic_values(pairs, settings, rng)
        B = sign(H).astype(np.float64)
        m = min(settings.n_anchors, len(pairs))
        rows = np.sort(rng.choice(len(pairs), m, replace=False))
        learnt: Learnt = {"prior": prior_of(B)}
        sides: dict[str, Images | Texts] = {"images": pairs.images, "texts": pairs.texts}
        for view, side in sides.items():
            X = matrix(side).astype(np.float64)
            anchors = X[rows] if settings.anchors == "rnd" else cluster_centres(X, m, rng)
            width = max(mean_squared_distance(X), np.finfo(float).tiny)
            K, K0 = rbf(X, anchors, width), rbf(anchors, anchors, width)
            weights = kernel_logistic(K, K0, B, settings.regularisation)
            learnt |= {f"{view}.anchors": anchors, f"{view}.width": np.array([width]), f"{view}.weights": weights}
        log({"divergence": divergence})
        return learnt

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The log odds of each bit of pictures or of texts, (n, bits); the signs are the codes."""
        return self._log_odds(batch).astype(np.float32)

    def encode_pair(self, images: Images, texts: Texts) -> NDArray[np.float32]:
        """The log odds of each bit of items of which both views are known, (n, bits); the signs are unified codes.

        With p_t the chance of +1 by view t, and pi that of +1 among all training items, a bit is +1 when
        p_1 p_2 / pi >= (1 - p_1)(1 - p_2) / (1 - pi).
        """
        if len(images) != len(texts):
            raise DataError(
                f"{len(images)} pictures and {len(texts)} texts are no pairs", next_step="give both of the same items"
            )
        pi = self.learnt_["prior"] if self.learnt_ else 0.5
        return (self._log_odds(images) + self._log_odds(texts) - np.log(pi / (1 - pi))).astype(np.float32)

    def _log_odds(self, batch: Images | Texts) -> Floats:
        if not self.learnt_:
            raise nothing_learnt(self.method)
        view = view_of(batch)
        anchors, width, weights = (self.learnt_[f"{view}.{part}"] for part in ("anchors", "width", "weights"))
        check_width(batch, anchors.shape[1])
        values = [rbf(block, anchors, float(width[0])) @ weights for block in blocks(batch)]
        return np.concatenate([np.empty((0, self.bits)), *values])


def prior_of(B: Floats) -> Floats:
    """The share of +1 in each column of B; a column that never changes says nothing, and counts as 1/2.

    >>> prior_of(np.array([[1.0, 1.0], [-1.0, 1.0]])).tolist()
    [0.5, 0.5]
    """
    pi = (B > 0).mean(axis=0)
    return np.where((pi == 0) | (pi == 1), 0.5, pi)


def semantic_values(pairs: Pairs, settings: SePHSettings, rng: np.random.Generator) -> tuple[NDArray[Any], float]:
    """H (n, bits), whose signs are the training items' codes, and the value of the first stage's objective there.

    Descends from almost nothing as t-SNE does, with a gain for each entry; the best H on the way is kept.
    """
    if pairs.labels.counts().max(initial=0) < 2:
        raise DataError("no two items share a label", next_step="give pairs that share labels")
    L = normalised_labels(pairs.labels, 0, len(pairs)).astype(np.float32)
    H = rng.normal(0, START, (len(L), settings.bits)).astype(np.float32)
    gains, moved = np.ones_like(H), np.zeros_like(H)
    best, lowest = H, np.inf
    for step in range(settings.steps + 1):
        f, gradient = objective(H, L, settings.alpha)
        if f < lowest:
            best, lowest = H, f
        if step < settings.steps:
            gains = np.maximum(np.where((gradient > 0) == (moved > 0), gains * 0.8, gains + 0.2), 0.01)
            moved = MOMENTUM * moved - STEP * gains * gradient
            H = H + moved
            H = H - H.mean(axis=0)
    return best, lowest


def objective(H: NDArray[Any], L: NDArray[Any], alpha: float) -> tuple[float, NDArray[Any]]:
    """f and its gradient by H, (n, M); L are the label sets at length 1, (n, labels).

    P = A / sum A with A = L L' off the diagonal; Q = N / sum N with N_ij = 1 / (1 + |h_i - h_j|^2 / 4) off it.

    f = sum P log(P / Q) + alpha / (n M) | |H| - 1 |^2

    With R = (P - Q) * N, elementwise, the gradient is (diag(R 1) - R) H + 2 alpha / (n M) (|H| - 1) * sgn(H). Since R
    is a sum of P * N and N * N / sum N, both are added up block by block, and nothing is n x n.
    """
    n, M = H.shape
    sum_A = float(np.sum(L.sum(axis=0, dtype=np.float64) ** 2) - np.sum(L.astype(np.float64) ** 2))
    sum_N, P_log_ratio, tiny = 0.0, 0.0, np.finfo(H.dtype).tiny
    attracting, repelling = np.empty_like(H), np.empty_like(H)
    squares = np.sum(H**2, axis=1)
    for start in range(0, n, ROWS):
        rows = slice(start, min(start + ROWS, n))
        within = np.arange(rows.stop - start), np.arange(start, rows.stop)
        P = L[rows] @ L.T / np.asarray(sum_A, dtype=L.dtype)
        P[within] = 0
        N = 1 / (1 + np.maximum(squares[rows, None] + squares - 2 * H[rows] @ H.T, 0) / 4)
        P_log_ratio += float(np.sum(P * np.log(np.maximum(P, tiny) / N), dtype=np.float64))
        N[within] = 0
        sum_N += float(N.sum(dtype=np.float64))
        for forces, R in ((attracting, P * N), (repelling, N * N)):
            forces[rows] = R.sum(axis=1)[:, None] * H[rows] - R @ H
    weight = alpha / (n * M)
    f = P_log_ratio + float(np.log(sum_N)) + weight * float(np.sum((np.abs(H) - 1) ** 2, dtype=np.float64))
    gradient = attracting - repelling / sum_N + 2 * weight * (np.abs(H) - 1) * sign(H)
    return f, gradient.astype(H.dtype)
