"""A user's own pair of encoders, whose vectors a linear head turns into codes.

Vectors are brought to length 1 and each side to mean 0: encoders of this kind keep pictures and sentences apart, and
what a side has in common says nothing. Then

    shared: without captions. Both sides lie in one space already; its main directions over the pictures, turned so that
            taking signs loses least (Gong, Lazebnik, "Iterative Quantization", CVPR 2011), serve both.
    paired: with captions. Directions in which pictures and their captions agree (canonical correlation analysis, each
            weighed by how far they do), turned in the same way over both sides.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.files import read_bytes, written_whole
from deepbinaries.hashers.qch import polar
from deepbinaries.hashers.saving import load_learnt, save_learnt
from deepbinaries.hashers.settings import check_bits
from deepbinaries.onnx_files import MAX_BYTES, first_line, open_network

METHOD = "adopted"
TEXT = "text.onnx"
ROUNDS = 50  # of the rotation; it hardly changes after them
ALIKE = 1e-5  # mean square distance from the mean: vectors that are rounded to half precision are 1e-7 apart
SHRINKAGE = 0.1  # of the covariances towards a ball: captions are few beside the numbers of a vector

Floats = NDArray[np.float64]
INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


@dataclass(frozen=True)
class AdoptedSettings:
    """What the head and the text encoder need to know."""

    bits: int = 64
    pad_id: int = 0  # what the text encoder pads with
    text_sha256: str = ""  # of the text encoder

    def __post_init__(self) -> None:
        check_bits(self.bits)


class TextEncoder:
    """An ONNX file that takes token ids, with a mask and types of tokens if it wants them: a vector a sentence."""

    def __init__(self, content: bytes, path: Path, *, pad_id: int = 0):
        self.content = content
        self.sha256 = hashlib.sha256(content).hexdigest()
        self._path, self._pad_id = path, pad_id
        self._session = open_network(content, path)
        self._inputs = self._session.get_inputs()
        wrong = [found.name for found in self._inputs if found.type not in INTEGERS]
        if wrong or [_kind(found.name) for found in self._inputs].count("ids") != 1:
            names = ", ".join(found.name for found in self._inputs)
            raise DataError(
                f"{path} takes {names}, not token ids and at most a mask and types of tokens beside them",
                next_step="export the text encoder with the inputs input_ids, attention_mask and token_type_ids",
            )

    def vectors(self, tokens: NDArray[np.int32], width: int | None = None) -> NDArray[np.float32]:
        """Vectors (n, d) of tokens (n, length), of which 0 is padding; of several outputs the one of `width` numbers.

        One sentence at a time, so that none depends on its neighbours.
        """
        found = [self._vector(row[None], width) for row in tokens]
        return np.concatenate(found) if found else np.empty((0, width or 0), dtype=np.float32)

    def _vector(self, tokens: NDArray[np.int32], width: int | None) -> NDArray[np.float32]:
        there = tokens > 0
        # All tokens are of the first type: a second one would be for a second sentence.
        known = {"ids": np.where(there, tokens - 1, self._pad_id), "mask": there, "types": np.zeros_like(tokens)}
        given = {found.name: known[_kind(found.name)].astype(INTEGERS[found.type]) for found in self._inputs}
        try:
            outputs = self._session.run(None, given)
        except Exception as error:  # onnxruntime's errors have no family of their own
            raise DataError(
                f"{self._path} cannot encode {tokens.shape[1]} tokens ({first_line(error)})",
                next_step="check that the tokenizer and its length belong to this encoder",
            ) from error
        vectors = [output for output in outputs if np.ndim(output) == 2 and len(output) == 1]
        if not vectors:
            shapes = ", ".join(str(np.shape(output)) for output in outputs)
            raise DataError(
                f"{self._path} gives {shapes} for a sentence, and no vector",
                next_step="export the text encoder with an output (n, d): a vector a sentence",
            )
        fitting = [output for output in vectors if width in (None, output.shape[1])]
        if not fitting:
            widths = ", ".join(str(output.shape[1]) for output in vectors)
            raise DataError(
                f"{self._path} gives vectors of {widths} numbers, not of {width}",
                next_step="give the two encoders of one model, or captions to fit the head on",
            )
        vector: NDArray[np.float32] = fitting[0].astype(np.float32)
        return vector


class AdoptedPair:
    """The head on both sides, and the text encoder; the picture encoder is the model's backbone."""

    def __init__(self, settings: AdoptedSettings, text: TextEncoder, arrays: dict[str, NDArray[Any]]):
        self.settings, self.text, self.arrays_ = settings, text, arrays

    @property
    def bits(self) -> int:
        return self.settings.bits

    def fit(self, pairs: Pairs) -> NoReturn:  # noqa: ARG002
        """Refuse: the head is fitted when encoders are adopted."""
        raise UsageError("adopted encoders do not learn", next_step="adopt them again with other captions")

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """Real values, (n, bits); the signs are the codes."""
        if isinstance(batch, Images):
            return self._values(batch.whole, "image")
        return self._values(self.text.vectors(batch.tokens, self.arrays_["text_mean"].shape[0]), "text")

    def save(self, folder: str | Path) -> None:
        """Write the head, and the text encoder as `text.onnx`."""
        save_learnt(folder, METHOD, self.settings, self.arrays_)
        with written_whole(Path(folder) / TEXT) as file:
            file.write(self.text.content)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:  # noqa: ARG003
        """Read what `save` wrote; anything else is refused."""
        shapes = {"image_mean": ("d",), "image_W": ("d", "bits"), "text_mean": ("e",), "text_W": ("e", "bits")}
        settings, arrays = load_learnt(folder, METHOD, AdoptedSettings, shapes)
        path = Path(folder) / TEXT
        text = TextEncoder(read_bytes(path, limit=MAX_BYTES), path, pad_id=settings.pad_id)
        if text.sha256 != settings.text_sha256:
            raise DataError(f"{path} is another text encoder", next_step="copy the model again")
        return cls(settings, text, arrays)

    def _values(self, vectors: NDArray[np.float32], side: str) -> NDArray[np.float32]:
        mean, W = self.arrays_[f"{side}_mean"], self.arrays_[f"{side}_W"]
        if vectors.shape[1] != len(mean):
            raise DataError(
                f"these vectors have {vectors.shape[1]} numbers, the head was fitted on {len(mean)}",
                next_step="use the model's own encoders",
            )
        values: NDArray[np.float32] = ((unit(vectors) - mean) @ W).astype(np.float32)
        return values


def _kind(name: str) -> str:
    """What an input of a text encoder takes, as its name tells."""
    if "mask" in name:
        return "mask"
    return "types" if "token_type" in name or "segment" in name else "ids"


def shared_head(images: NDArray[Any], texts: NDArray[Any], bits: int, seed: int = 0) -> dict[str, NDArray[Any]]:
    """The head for vectors (n, d) of one space; `texts` are any sentences: only their mean is taken."""
    X, mean = _centred(images, bits, "picture")
    check_directions(X, bits, "picture")
    if texts.shape[1] != images.shape[1]:
        raise DataError(
            f"pictures have {images.shape[1]} numbers and sentences {texts.shape[1]}: that is no common space",
            next_step="give captions to fit the head on",
        )
    main = np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :bits]
    W = main @ turned_to_signs(X @ main, seed)
    return _arrays(mean, W, _centred(texts, bits, "text")[1], W)


def paired_head(images: NDArray[Any], texts: NDArray[Any], bits: int, seed: int = 0) -> dict[str, NDArray[Any]]:
    """The head for vectors (n, d) and (n, e) of which row i of both belong together."""
    (X, mean_x), (Y, mean_y) = _centred(images, bits, "picture"), _centred(texts, bits, "text")
    check_directions(X, bits, "picture")
    check_directions(Y, bits, "caption")
    Wx, Wy = _whitening(X), _whitening(Y)
    U, agreement, Vt = np.linalg.svd(Wx.T @ (X.T @ Y / len(X)) @ Wy, full_matrices=False)
    Wx, Wy = Wx @ U[:, :bits] * agreement[:bits], Wy @ Vt.T[:, :bits] * agreement[:bits]
    R = turned_to_signs(np.vstack([X @ Wx, Y @ Wy]), seed)
    return _arrays(mean_x, Wx @ R, mean_y, Wy @ R)


def turned_to_signs(Z: Floats, seed: int = 0) -> Floats:
    """The rotation R, (bits, bits), after which Z R is near its signs; found in turn with them from a random start.

    >>> R = turned_to_signs(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]))
    >>> np.abs(R).round(2).tolist()
    [[0.71, 0.71], [0.71, 0.71]]
    """
    R = polar(np.random.default_rng(seed).normal(size=(Z.shape[1], Z.shape[1])))
    for _ in range(ROUNDS):
        R = polar(Z.T @ np.where(Z @ R >= 0, 1.0, -1.0))
    return R


def unit(vectors: NDArray[Any]) -> Floats:
    """Vectors of length 1.

    >>> unit(np.array([[3.0, 4.0]])).tolist()
    [[0.6, 0.8]]
    """
    wide = np.asarray(vectors, dtype=np.float64)
    if not np.isfinite(wide).all():
        raise DataError("an encoder gives numbers that are not finite", next_step="check how its pixels are prepared")
    scaled: Floats = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12)
    return scaled


def check_directions(X: Floats, bits: int, side: str) -> None:
    """Refuse centred vectors that differ in fewer directions than there are bits: the other bits would be noise."""
    directions = int(np.linalg.matrix_rank(X.T @ X, hermitian=True))
    if directions < bits:
        raise DataError(
            f"these {side}s differ in {directions} directions, too few for {bits} bits",
            next_step=f"give some hundred different ones, or ask for at most {directions} bits",
        )


def _centred(vectors: NDArray[Any], bits: int, side: str) -> tuple[Floats, Floats]:
    if vectors.shape[1] < bits:
        raise UsageError(
            f"vectors of {vectors.shape[1]} numbers have no {bits} bits", next_step=f"at most {vectors.shape[1]}"
        )
    if len(vectors) < 2:
        raise DataError(f"a head cannot be fitted on {len(vectors)} pictures", next_step="give some hundred")
    X = unit(vectors)
    mean: Floats = X.mean(axis=0)
    X -= mean
    if np.square(X).sum(axis=1).mean() < ALIKE:
        raise DataError(
            f"the {side} encoder gives about the same vector for all of {len(X):,} {side}s",
            next_step="check that it is the right file, and that its input is prepared as it wants",
        )
    return X, mean


def _whitening(X: Floats) -> Floats:
    """W with W' C W = I for the covariance C of X, shrunk towards a ball."""
    C = X.T @ X / len(X)
    C = (1 - SHRINKAGE) * C + SHRINKAGE * np.trace(C) / len(C) * np.eye(len(C))
    variances, directions = np.linalg.eigh(C)
    W: Floats = directions / np.sqrt(np.maximum(variances, 1e-12))
    return W


def _arrays(image_mean: Floats, image_W: Floats, text_mean: Floats, text_W: Floats) -> dict[str, NDArray[Any]]:
    arrays = {"image_mean": image_mean, "image_W": image_W, "text_mean": text_mean, "text_W": text_W}
    return {name: array.astype(np.float32) for name, array in arrays.items()}
