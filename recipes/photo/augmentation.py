"""Other views of the same photograph and sentence, made on the device for a whole batch at once."""

import torch
from torch import Tensor

from recipes.photo.networks import PAD

UNKNOWN = 1  # the id of a word that is not known
LIGHT = 0.25  # most change of brightness and of contrast


def views(pixels: Tensor, side: int) -> Tensor:
    """Random crops of pixels (n, h, w, 3) in bytes, half of them mirrored, in another light: (n, 3, side, side).

    A crop is cut out and never resized: what is encoded later is as sharp, and as large, as what was learnt from.
    """
    n, height, width, _ = pixels.shape
    across = torch.arange(side, device=pixels.device).repeat(n, 1)
    rows = across + _whole_number_below(height - side + 1, n, pixels)
    mirrored = torch.rand(n, 1, device=pixels.device) < 0.5
    columns = torch.where(mirrored, across.flip(1), across) + _whole_number_below(width - side + 1, n, pixels)
    items = torch.arange(n, device=pixels.device)
    crops = pixels[items[:, None, None], rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2).float()
    brightness, contrast = (1 + LIGHT * (2 * torch.rand(2, n, 1, 1, 1, device=pixels.device) - 1)).unbind()
    means = crops.mean((1, 2, 3), keepdim=True)
    return ((crops - means) * contrast + means * brightness).clamp(0, 255)


def forget_words(ids: Tensor, share: float) -> Tensor:
    """The sentences with some of their words made unknown."""
    forgotten = (torch.rand(ids.shape, device=ids.device) < share) & (ids != PAD)
    return torch.where(forgotten, UNKNOWN, ids)


def _whole_number_below(end: int, n: int, like: Tensor) -> Tensor:
    return torch.randint(end, (n, 1), device=like.device)
