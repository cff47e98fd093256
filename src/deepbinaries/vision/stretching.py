"""Pictures made square, whatever their shape was: by Pillow one at a time, or on a GPU many at once."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.vision.pixels import Picture, as_image, as_pixels, size_of

if TYPE_CHECKING:
    import torch
    from torch import Tensor


LONGEST = 4096  # pixels of a side; the weights of longer ones would fill a GPU, so Pillow has them


def stretched(picture: Picture, side: int) -> NDArray[np.uint8]:
    """The pixels of a picture made square, (side, side, 3)."""
    return np.asarray(as_image(picture).resize((side, side), Image.Resampling.BICUBIC))


def stretched_on(device: "torch.device", pictures: Sequence[Picture], side: int) -> "Tensor":
    """The same of several pictures, (n, 3, side, side) bytes on a device; a level differs here and there by one.

    Pictures travel to the GPU as they are and all at once: that is less than what becomes of them, and to stretch
    them costs a CPU more than to decode them. Resizing is two products with short weights, rounded as Pillow does:
    first across, then down. For pictures that become wider and lower, releases of Pillow differ in that order, and
    hard edges by a few levels.
    """
    import torch

    pictures = [stretched(picture, side) if max(size_of(picture)) > LONGEST else picture for picture in pictures]
    squares = torch.empty(len(pictures), side, side, 3, dtype=torch.uint8, device=device)
    sizes = [size_of(picture) for picture in pictures]
    together = np.concatenate([as_pixels(picture).reshape(-1) for picture in pictures])
    parts = (
        torch.from_numpy(together)
        .to(device)
        .split(  # type: ignore[no-untyped-call]
            [3 * width * height for width, height in sizes]
        )
    )
    for square, part, (width, height) in zip(squares, parts, sizes, strict=True):
        columns = part.view(height, width, 3).transpose(0, 1).reshape(width, -1).float()
        wide = (weights_on(device, width, side) @ columns).round_().clamp_(0, 255)
        rows = wide.view(side, height, 3).transpose(0, 1).reshape(height, -1)
        square.copy_((weights_on(device, height, side) @ rows).round_().clamp_(0, 255).view(side, side, 3))
    return squares.permute(0, 3, 1, 2)  # its channels lie last in memory


@lru_cache(maxsize=64)
def weights_on(device: "torch.device", length: int, side: int) -> "Tensor":
    """`bicubic_weights` on a device; pictures of a collection have few lengths."""
    import torch

    return torch.from_numpy(bicubic_weights(length, side)).to(device)


def bicubic_weights(length: int, side: int) -> NDArray[np.float32]:
    """How much each of `length` pixels counts for each of `side` pixels, (side, length), by Pillow's bicubic filter.

    >>> (100 * bicubic_weights(4, 2)).round().tolist()
    [[46.0, 46.0, 12.0, -4.0], [-4.0, 12.0, 46.0, 46.0]]
    """
    scale = length / side
    reach = max(scale, 1.0)  # a pixel that stands for several looks at all of them
    middles = (np.arange(side) + 0.5) * scale
    first = np.maximum(np.floor(middles - 2 * reach + 0.5), 0)
    last = np.minimum(np.floor(middles + 2 * reach + 0.5), length)
    pixels = np.arange(length)
    x = np.abs(pixels + 0.5 - middles[:, None]) / reach
    weights = np.where(x < 1, (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2)
    weights[(x >= 2) | (pixels < first[:, None]) | (pixels >= last[:, None])] = 0
    normed: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return normed.astype(np.float32)
