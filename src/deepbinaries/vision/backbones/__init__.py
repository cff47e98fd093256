"""Backbones: networks that turn pixels into features, each with its weights' identity and preprocessing.

Nothing here imports torch; a backbone's own file is loaded when its name is asked for.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import UsageError
from deepbinaries.registry import BACKBONES

# Names that open a family; what follows the colon says which one of it.
FAMILIES = {"onnx": "onnx:PATH", "timm": "timm:MODEL", "torchvision": "torchvision:MODEL"}

# A large JPEG is decoded to a smaller picture with so many times as many pixels along a side as are seen. An encoder
# that has `decoded` says so itself.
TWICE = 2


@dataclass(frozen=True)
class WeightsCard:
    """Which weights a backbone runs, under which terms, and how it prepares the pixels for them."""

    sha256: str  # of the file the weights come from
    licence: str
    source: str
    preprocessing: str  # in words; the backbone does it, never its caller
    made_of: str = ""  # of an exported network: SHA-256 of the weights it was before


class Backbone(Protocol):
    """A network without its classifier. Pixels are RGB, 0 to 255, not prepared in any way."""

    @property
    def name(self) -> str: ...

    @property
    def width(self) -> int:
        """d: features of a region."""
        ...

    @property
    def stride(self) -> int:
        """Pixels, along a side, that one cell of the map stands for; 0 where there are no maps, only vectors."""
        ...

    @property
    def crop_side(self) -> int:
        """The side of the square pictures that `vectors` is best at."""
        ...

    @property
    def card(self) -> WeightsCard: ...

    def maps(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Feature maps of pictures (n, h, w, 3): (n, width, h / stride, w / stride)."""
        ...

    def vectors(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """One feature vector a picture of (n, s, s, 3): (n, width)."""
        ...


def make_backbone(name: str, *, weights: str | Path | None = None, device: str = "cpu") -> Backbone:
    """The backbone called `name`, with its own weights or those in the file `weights`.

    `name` is a registered one, `onnx:PATH`, `timm:MODEL`, `torchvision:MODEL`, or `my.module:function`, which is
    called with `weights` and `device`. Weights are `.safetensors`, or `FILE.pth#sha256=DIGEST`.

    >>> make_backbone("efficientnet-light0")
    Traceback (most recent call last):
        ...
    deepbinaries.errors.UsageError: no backbone is called 'efficientnet-light0'; did you mean 'efficientnet-lite0'? ...
    """
    family, _, member = name.partition(":")
    if family not in FAMILIES:
        backbone: Backbone = BACKBONES.load(name)(weights=weights, device=device)
        return backbone
    if not member:
        raise UsageError(f"the backbone {name!r} does not say which one", next_step=f"write {FAMILIES[family]}")
    load: Any = BACKBONES.load(family)
    chosen: Backbone = load(member, weights=weights, device=device)
    return chosen
