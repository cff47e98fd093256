"""Pictures made square, whatever their shape was: by Pillow one at a time, or on a GPU many at once."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.vision.pixels import Picture, as_image, as_pixels, size_of

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def stretched(picture: Picture, side: int) -> NDArray[np.uint8]:
    """The pixels of a picture made square, (side, side, 3)."""
    return np.asarray(as_image(picture).resize((side, side), Image.Resampling.BICUBIC))


def stretched_on(device: "torch.device", pictures: Sequence[Picture], side: int) -> "Tensor":
    """The same of several pictures, (n, 3, side, side) bytes on a device.

    A level differs here and there by one, at hard edges by a few: Pillow rounds and clips between its two passes.
    The picture travels to the GPU as it is: that is less than what becomes of it, and stretching it costs a CPU more
    than decoding it.
    """
    import torch

    squares = torch.empty(len(pictures), 3, side, side, dtype=torch.uint8, device=device)
    squares = squares.contiguous(memory_format=torch.channels_last)
    of_size: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place, picture in enumerate(pictures):
        of_size[size_of(picture)].append(place)
    for places in of_size.values():
        pixels = torch.stack([torch.from_numpy(as_pixels(pictures[place])) for place in places]).to(device)
        square = torch.nn.functional.interpolate(
            pixels.permute(0, 3, 1, 2).float(), (side, side), mode="bicubic", antialias=True
        )
        squares[places] = square.round_().clamp_(0, 255).byte()
    return squares
