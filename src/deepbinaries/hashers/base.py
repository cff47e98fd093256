"""The contract of a hasher: what it is given, what it gives back, and a check that proves both.

Pictures arrive as region features, sentences as token ids. A method that works on one vector a picture
takes `Images.whole`, the features of the whole picture. Nothing here needs torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, Error, UsageError

POSITION = 4  # numbers at the end of a region's features: height, width and centre of its box


@dataclass(frozen=True, eq=False)
class Images:
    """Pictures as features of their regions, the most attractive first, the whole picture last."""

    regions: NDArray[Any]  # (n, K + 1, width + 4) float16 or float32; may be a memory map

    def __len__(self) -> int:
        return len(self.regions)

    def __getitem__(self, rows: Any) -> "Images":
        """Some rows: a slice, a list or a mask; one row alone still gives a sequence of one."""
        return Images(self.regions[_several(rows)])

    @property
    def width(self) -> int:
        """d: features of a region, its position not counted."""
        return int(self.regions.shape[2]) - POSITION

    @property
    def whole(self) -> NDArray[np.float32]:
        """The features of the whole pictures, (n, width)."""
        return np.asarray(self.regions[:, -1, : self.width], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Texts:
    """Sentences as token ids; 0 fills them up."""

    tokens: NDArray[np.int32]  # (n, length)
    n_words: int  # ids are below this: the size of the vocabulary, special tokens counted

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, rows: Any) -> "Texts":
        return Texts(self.tokens[_several(rows)], self.n_words)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Training pairs: row i of the three belong together."""

    images: Images
    texts: Texts
    labels: Labels

    def __post_init__(self) -> None:
        if not len(self.images) == len(self.texts) == len(self.labels):
            raise DataError(
                f"{len(self.images):,} pictures, {len(self.texts):,} sentences and {len(self.labels):,} label sets "
                "are no pairs",
                next_step="give the three of the same rows, in the same order",
            )

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, rows: NDArray[np.integer]) -> "Pairs":
        """Some of the pairs."""
        return Pairs(self.images[rows], self.texts[rows], self.labels.select(rows))


class Hasher(Protocol):
    """A method; its constructor only stores settings, `fit` learns, `encode` never does."""

    bits: int

    def fit(self, pairs: Pairs) -> Self: ...

    def encode(self, batch: Images | Texts) -> NDArray[np.float32]:
        """Real values, (n, bits); their signs are the codes."""

    def save(self, folder: str | Path) -> None:
        """Write everything learnt: safetensors and JSON, never pickle."""

    @classmethod
    def load(cls, folder: str | Path) -> Self: ...


def check_hasher(make: Callable[[], Hasher], pairs: Pairs, folder: Path) -> None:
    """Prove that `make()` builds a hasher that keeps the contract; stop at the first broken promise."""
    hasher = make()
    _refuses(lambda: hasher.encode(pairs.images), "encode before fit must raise one of our errors")
    regions, tokens = np.array(pairs.images.regions), pairs.texts.tokens.copy()
    _promise(hasher.fit(pairs) is hasher, "fit must return the hasher itself")
    unchanged = np.array_equal(regions, pairs.images.regions) and np.array_equal(tokens, pairs.texts.tokens)
    _promise(unchanged, "fit must not change what it is given")
    for side in (pairs.images, pairs.texts):
        _check_side(hasher, side)
    again = make().fit(pairs)
    hasher.save(folder)
    loaded = type(hasher).load(folder)
    for side in (pairs.images, pairs.texts):
        values = hasher.encode(side)
        _promise(np.array_equal(values, again.encode(side)), "the same seed must learn the same values")
        _promise(np.array_equal(values, loaded.encode(side)), "what is saved and loaded must encode alike")
    narrow = Images(pairs.images.regions[:, :, 1:])
    _refuses(lambda: hasher.encode(narrow), "features of another width must raise one of our errors")


def _several(rows: Any) -> Any:
    return [rows] if isinstance(rows, int | np.integer) else rows


def _check_side(hasher: Hasher, side: Images | Texts) -> None:
    values = hasher.encode(side)
    _promise(
        values.shape == (len(side), hasher.bits),
        f"encode gives {values.shape}, not {(len(side), hasher.bits)}: one row an item, one column a bit",
    )
    _promise(bool(np.isfinite(values).all()), "encode gives values that are not finite")
    few = [side[row] for row in range(min(len(side), 5))]
    alone = np.vstack([hasher.encode(item) for item in few])
    _promise(
        np.allclose(values[: len(few)], alone, atol=1e-4),
        "an item's values change with its batch: is a layer still in training mode?",
    )
    _promise(hasher.encode(side[:0]).shape == (0, hasher.bits), "no items must give no rows")


def _promise(kept: bool, broken: str) -> None:
    if not kept:
        raise UsageError("the hasher breaks its contract", next_step=broken)


def _refuses(call: Callable[[], Any], broken: str) -> None:
    try:
        call()
    except Error:
        return
    except Exception as error:
        raise UsageError(f"the hasher breaks its contract ({error})", next_step=broken) from error
    raise UsageError("the hasher breaks its contract", next_step=broken)
