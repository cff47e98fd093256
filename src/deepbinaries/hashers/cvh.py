"""CVH: Cross-View Hashing.

Paper: Kumar, Udupa, "Learning Hash Functions for Cross-View Similarity Search", IJCAI 2011. Both views of an object
are projected linearly so that similar objects get similar codes in every pair of views; the signs are the codes.

Assumes: pairs of a vector that stands for the picture (here the whole picture's features) and one that stands for the
sentence (here how often each known word occurs in it). Labels are not looked at.

Differs from the paper in: an object is similar to itself alone (W = I), the form in which the method is usually
compared. Then its relaxed problem is canonical correlation analysis, and it is solved as such, by one singular value
decomposition. Bits beyond the rank of that problem would be noise, and are left out.
"""

import dataclasses
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from deepbinaries.errors import DataError, UsageError, unknown_name
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.files import read_bytes, read_json, write_json, written_whole
from deepbinaries.language.vocabulary import FIRST_WORD

FORMAT = "deepbinaries-cvh"
VERSION = 1
MAX_BYTES = 2**30
BLOCK = 4096  # rows that are in memory at once
NO_CORRELATION = 1e-10  # a share of the largest one, below which a direction is rounding and nothing else

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CVHSettings:
    """Everything that decides what CVH learns; nothing is drawn, so there is no seed."""

    bits: int = 64  # M
    # Added to the diagonal of each view's covariance, as a share of its mean. The literature's 1e-4 (of unnormalised
    # sums) is far less; features of a deep network ask for more, and this was best on the validation part of scenes.
    regularisation: float = 0.1

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 1024:
            raise UsageError(f"bits={self.bits} is outside 1..1024", next_step="64 is a good start")
        if not 0 <= self.regularisation < np.inf:
            raise UsageError(
                f"regularisation={self.regularisation} is no share of a variance", next_step="0.1 is a good start"
            )


PRESETS = {"cvh": CVHSettings()}


class CVH:
    """The method: sgn((x - mean_x) Wx) for pictures, sgn((y - mean_y) Wy) for sentences."""

    def __init__(self, settings: CVHSettings = PRESETS["cvh"], *, device: str = "auto"):
        self.settings = settings
        self.device = device  # it runs on the CPU whatever is asked for
        self.means_: dict[str, Floats] = {}  # by view: (d,)
        self.projections_: dict[str, Floats] = {}  # by view: (d, bits)

    @classmethod
    def preset(cls, name: str, *, device: str = "auto", **settings: Any) -> Self:
        """The hasher of a preset, with some settings changed."""
        if name not in PRESETS:
            raise unknown_name("preset", name, PRESETS)
        known = {field.name for field in dataclasses.fields(CVHSettings)}
        for setting in settings:
            if setting not in known:
                raise unknown_name(f"setting of {name}", setting, known)
        return cls(replace(PRESETS[name], **settings), device=device)

    @property
    def bits(self) -> int:
        """The length of a code: as asked for, or after `fit` as many bits as the two views have in common."""
        return self.projections_["images"].shape[1] if self.projections_ else self.settings.bits

    def fit(
        self,
        pairs: Pairs,
        *,
        validation: Pairs | None = None,  # noqa: ARG002 - there are no epochs to score
        checkpoints: Path | None = None,  # noqa: ARG002 - nor anything to resume
        log: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> Self:
        """Learn both projections from the pairs, in one step that `log` is told as the only epoch."""
        began = time.monotonic()
        if len(pairs) < 2:
            raise DataError(f"{len(pairs)} pairs teach nothing", next_step="give at least two")
        mean_x, mean_y = mean(pairs.images), mean(pairs.texts)
        Sxx, Syy, Sxy = covariances(pairs, mean_x, mean_y)
        Wx, Wy, s = correlated_directions(Sxx, Syy, Sxy, self.settings.regularisation)
        if not len(s):
            raise DataError("pictures and sentences have nothing in common", next_step="check that they are pairs")
        M = self.settings.bits
        self.means_ = {"images": mean_x, "texts": mean_y}
        self.projections_ = {"images": Wx[:, :M], "texts": Wy[:, :M]}
        entry: dict[str, Any] = {"epoch": 1, "correlation": float(s[:M].mean())}
        if len(s) < M:
            entry["warning"] = f"the views have {len(s)} directions in common: the codes have so many bits, not {M}"
        log(entry | {"seconds": round(time.monotonic() - began, 3)})
        return self

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """The projections of pictures or sentences, (n, bits); the signs are the codes."""
        if not self.projections_:
            raise UsageError("this CVH has learnt nothing yet", next_step="call fit, or load a trained one")
        view = "images" if isinstance(batch, Images) else "texts"
        mean, W = self.means_[view], self.projections_[view]
        if isinstance(batch, Images) and batch.width != len(mean):
            raise DataError(
                f"these pictures have {batch.width} features, the model was trained on {len(mean)}",
                next_step="prepare them with the model's own backbone",
            )
        if isinstance(batch, Texts) and batch.n_words - FIRST_WORD != len(mean):
            raise DataError(
                f"these sentences are of {batch.n_words - FIRST_WORD} words, the model knows {len(mean)}",
                next_step="encode sentences with the model's own vocabulary",
            )
        values = [(block - mean) @ W for block in blocks(batch)]
        return np.concatenate([np.empty((0, self.bits)), *values]).astype(np.float32)

    def save(self, folder: str | Path) -> None:
        """Write `hasher.safetensors` and `hasher.json`, which holds settings and the digest of the former."""
        if not self.projections_:
            raise UsageError("this CVH has learnt nothing yet", next_step="call fit first")
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        learnt = {f"{view}.mean": mean for view, mean in self.means_.items()}
        learnt |= {f"{view}.projection": np.ascontiguousarray(W) for view, W in self.projections_.items()}
        content = save_arrays(learnt)
        with written_whole(folder / "hasher.safetensors") as file:
            file.write(content)
        facts = {"format": FORMAT, "version": VERSION, "settings": dataclasses.asdict(self.settings)}
        write_json(facts | {"sha256": hashlib.sha256(content).hexdigest()}, folder / "hasher.json", indent=1)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """Read what `save` wrote; anything else is refused."""
        folder = Path(folder)
        facts = read_json(folder / "hasher.json")
        content = read_bytes(folder / "hasher.safetensors", limit=MAX_BYTES)
        try:
            if (facts["format"], facts["version"]) != (FORMAT, VERSION):
                raise ValueError(f"{facts['format']} version {facts['version']} is not {FORMAT} version {VERSION}")
            if facts["sha256"] != hashlib.sha256(content).hexdigest():
                raise ValueError("the digest of hasher.safetensors is another one")
            hasher, arrays = cls(CVHSettings(**facts["settings"]), device=device), load_arrays(content)
            hasher.means_ = {view: arrays[f"{view}.mean"] for view in ("images", "texts")}
            hasher.projections_ = {view: arrays[f"{view}.projection"] for view in ("images", "texts")}
            for view, W in hasher.projections_.items():
                if W.shape != (*hasher.means_[view].shape, hasher.bits) or not np.isfinite(W).all():
                    raise ValueError(f"the projection of {view} has the shape {W.shape}, or is not finite")
        except (KeyError, TypeError, ValueError, UsageError, SafetensorError) as error:
            raise DataError(f"{folder} holds no whole CVH ({error})", next_step="copy or train it again") from error
        return hasher


def correlated_directions(
    Sxx: Floats, Syy: Floats, Sxy: Floats, regularisation: float
) -> tuple[Floats, Floats, Floats]:
    """Wx (dx, r), Wy (dy, r) and the correlations s (r,), largest first; r is the rank of what the views share.

    max tr(Wx' Sxy Wy)  subject to  Wx' (Sxx + ex I) Wx = Wy' (Syy + ey I) Wy = I

    With lower triangular Rx Rx' = Sxx + ex I, and Ry likewise: Rx^-1 Sxy Ry^-T = U diag(s) V', Wx = Rx^-T U,
    Wy = Ry^-T V.

    >>> Wx, Wy, s = correlated_directions(np.diag([4.0, 1.0]), np.diag([1.0]), np.array([[1.0], [0.0]]), 0.0)
    >>> Wx.tolist(), Wy.tolist(), s.tolist()
    ([[0.5], [0.0]], [[1.0]], [0.5])
    """
    Rx, Ry = _root(Sxx, regularisation), _root(Syy, regularisation)
    whitened = np.linalg.solve(Ry, np.linalg.solve(Rx, Sxy).T).T
    U, s, Vt = np.linalg.svd(whitened, full_matrices=False)
    shared = s > NO_CORRELATION * max(s[0], np.finfo(float).tiny)
    Wx, Wy = np.linalg.solve(Rx.T, U[:, shared]), np.linalg.solve(Ry.T, Vt[shared].T)
    # The sign of a direction is free: the largest entry on the image side is made positive, so that runs agree.
    largest = np.abs(Wx).argmax(axis=0)
    signs = np.where(np.take_along_axis(Wx, largest[None], axis=0)[0] < 0, -1.0, 1.0)
    return Wx * signs, Wy * signs, s[shared]


def mean(view: Images | Texts) -> Floats:
    """The mean of a view over its rows, (d,)."""
    total: Floats = sum((block.sum(axis=0) for block in blocks(view)), start=np.zeros(()))
    return total / len(view)


def covariances(pairs: Pairs, mean_x: Floats, mean_y: Floats) -> tuple[Floats, Floats, Floats]:
    """Sxx, Syy and Sxy of the centred views, summed over blocks of rows, so that features may stay on disk."""
    dx, dy = len(mean_x), len(mean_y)
    Sxx, Syy, Sxy = np.zeros((dx, dx)), np.zeros((dy, dy)), np.zeros((dx, dy))
    for X, Y in zip(blocks(pairs.images), blocks(pairs.texts), strict=True):
        X, Y = X - mean_x, Y - mean_y
        Sxx += X.T @ X
        Syy += Y.T @ Y
        Sxy += X.T @ Y
    return Sxx, Syy, Sxy


def blocks(view: Images | Texts) -> Iterator[Floats]:
    """The vectors of a view, some thousand rows at a time."""
    for start in range(0, len(view), BLOCK):
        rows = slice(start, start + BLOCK)
        if isinstance(view, Texts):
            yield word_counts(view[rows])
            continue
        block = view[rows].whole.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
        if bad.size:
            raise DataError(
                f"row {start + bad[0]} of the picture features holds a number that is not finite",
                next_step="prepare the features again",
            )
        yield block


def word_counts(texts: Texts) -> Floats:
    """How often each sentence holds each word, (n, words); padding, ends and unknown words have no column.

    >>> word_counts(Texts(np.array([[3, 4, 4, 1, 2, 0]], dtype=np.int32), n_words=6)).tolist()
    [[1.0, 2.0, 0.0]]
    """
    if len(texts) and int(texts.tokens.max()) >= texts.n_words:
        raise DataError(
            f"a token id is {int(texts.tokens.max())}, the vocabulary has {texts.n_words}",
            next_step="encode sentences with the model's own vocabulary",
        )
    counts = np.zeros((len(texts), texts.n_words))
    np.add.at(counts, (np.arange(len(texts))[:, None], texts.tokens), 1)
    return counts[:, FIRST_WORD:]


def _root(S: Floats, regularisation: float) -> Floats:
    """The lower triangular R with R R' = S + e I, where e is a share of the mean of S's diagonal."""
    try:
        return np.linalg.cholesky(S + regularisation * np.trace(S) / len(S) * np.eye(len(S)))
    except np.linalg.LinAlgError as error:
        raise DataError(
            "a view has features that always say the same", next_step="give a larger regularisation"
        ) from error
