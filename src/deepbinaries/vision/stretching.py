"""Pictures made square, whatever their shape was: by Pillow one at a time, or on a GPU many at once."""

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deepbinaries.vision.pixels import Picture, as_image, as_pixels, size_of
from deepbinaries.vision.small import square
from deepbinaries.vision.transfers import sent

if TYPE_CHECKING:
    import torch
    from torch import Tensor


LONGEST = 4096  # pixels of a side; the weights of longer ones would fill a GPU, so Pillow has them
STEP = 64  # pixels; pictures whose sides end in the same step are stretched at once, the smaller ones filled up
MOST_PIXELS = 2**26  # that are stretched at once: as floats, 0.8 GB


def stretched(picture: Picture, side: int) -> NDArray[np.uint8]:
    """The pixels of a picture made square, (side, side, 3)."""
    return np.asarray(square(as_image(picture), side))


def stretched_on(device: "torch.device", pictures: Sequence[Picture], side: int) -> "Tensor":
    """The same of several pictures, (n, 3, side, side) bytes on a device; a level differs here and there by one.

    Pictures travel to the GPU as they are and all at once: that is less than what becomes of them, and to stretch
    them costs a CPU more than to decode them. Resizing is two products with short weights, rounded as Pillow does:
    first across, then down. For pictures that become wider and lower, releases of Pillow differ in that order, and
    hard edges by a few levels.
    """
    import torch

    pictures = [stretched(picture, side) if max(size_of(picture)) > LONGEST else picture for picture in pictures]
    order: list[int] = []
    squares = [torch.empty(0, side, side, 3, dtype=torch.uint8, device=device)]
    for (width, height), places in _alike(pictures).items():
        most = max(1, MOST_PIXELS // (width * height))
        for start in range(0, len(places), most):
            some = places[start : start + most]
            squares.append(_stretched_at_once(device, [pictures[place] for place in some], (width, height), side))
            order += some
    return torch.cat(squares)[sent(np.argsort(order), device)].permute(0, 3, 1, 2)  # its channels lie last in memory


def _alike(pictures: Sequence[Picture]) -> dict[tuple[int, int], list[int]]:
    """The places of pictures of about the same size, under the size that holds them all."""
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place, picture in enumerate(pictures):
        width, height = (-(-length // STEP) * STEP for length in size_of(picture))
        groups[width, height].append(place)
    return groups


def _stretched_at_once(
    device: "torch.device", pictures: Sequence[Picture], size: tuple[int, int], side: int
) -> "Tensor":
    """Pictures no larger than `size`, stretched: (n, side, side, 3). Whatever fills them up has no weight."""
    import torch

    n, (width, height) = len(pictures), size
    # Pinned at once, so that it need not be copied into memory that is.
    filled = torch.empty(n, height, width, 3, dtype=torch.uint8, pin_memory=device.type == "cuda")
    across, down = [], []
    for place, picture in zip(filled.numpy(), pictures, strict=True):
        w, h = size_of(picture)
        place[:h, :w] = as_pixels(picture)
        across.append(weights_on(device, w, width, side))
        down.append(weights_on(device, h, height, side))
    pixels = filled.to(device, non_blocking=True)
    columns = pixels.transpose(1, 2).reshape(n, width, -1).float()
    wide = (torch.stack(across) @ columns).round_().clamp_(0, 255)
    rows = wide.view(n, side, height, 3).transpose(1, 2).reshape(n, height, -1)
    return (torch.stack(down) @ rows).round_().clamp_(0, 255).to(torch.uint8).view(n, side, side, 3)


@lru_cache(maxsize=256)
def weights_on(device: "torch.device", length: int, filled: int, side: int) -> "Tensor":
    """`bicubic_weights` on a device, (side, filled), zeros beyond `length`; pictures of a collection have few."""
    import torch

    return torch.from_numpy(np.pad(bicubic_weights(length, side), [(0, 0), (0, filled - length)])).to(device)


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
