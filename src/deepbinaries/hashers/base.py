"""The contract of a hasher: what it is given, what it gives back, and a check that proves both.

Pictures arrive as region features, sentences as token ids. A method that works on one vector a picture
takes `Images.whole`, the features of the whole picture. Nothing here needs torch.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import Error, UsageError
from deepbinaries.features.inputs import POSITION, Images, Pairs, Texts

__all__ = ["POSITION", "Hasher", "Images", "Pairs", "Texts", "check_hasher"]


class Hasher(Protocol):
    """A method; its constructor only stores settings, `fit` learns, `encode` never does."""

    @property
    def bits(self) -> int:
        """The length of a code."""

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
