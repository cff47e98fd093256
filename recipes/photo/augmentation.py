"""Other views of the same photograph and sentence, made on the device for a whole batch at once."""

import torch
from torch import Tensor
from torch.nn import functional

from recipes.photo.networks import PAD

UNKNOWN = 1  # the id of a word that is not known
SMALLEST = 0.5  # share of the photograph that a crop shows at least
NARROWEST = 0.8  # width of a crop over its height, before the photograph is stretched; or the other way round
LIGHT = 0.25  # most change of brightness and of contrast


def views(pixels: Tensor, side: int) -> Tensor:
    """Random crops of pixels (n, h, w, 3) in bytes, half of them mirrored, in another light: (n, 3, side, side)."""
    n = len(pixels)
    pictures = pixels.permute(0, 3, 1, 2).float()
    area = _between(SMALLEST, 1.0, n, pixels)
    shape = torch.exp(_between(-1.0, 1.0, n, pixels) * -torch.tensor(NARROWEST).log()).sqrt()
    width, height = ((area.sqrt() * shape).clamp(max=1), (area.sqrt() / shape).clamp(max=1))
    mirrored = torch.where(_between(0.0, 1.0, n, pixels) < 0.5, -1.0, 1.0)
    zero = torch.zeros_like(width)
    x, y = ((1 - length) * _between(-1.0, 1.0, n, pixels) for length in (width, height))
    affine = torch.stack([width * mirrored, zero, x, zero, height, y], dim=1).view(n, 2, 3)
    grid = functional.affine_grid(affine, [n, 3, side, side], align_corners=False)
    crops = functional.grid_sample(pictures, grid, padding_mode="reflection", align_corners=False)
    brightness, contrast = (_between(1 - LIGHT, 1 + LIGHT, n, pixels).view(n, 1, 1, 1) for _ in range(2))
    means = crops.mean((1, 2, 3), keepdim=True)
    return ((crops - means) * contrast + means * brightness).clamp(0, 255)


def forget_words(ids: Tensor, share: float) -> Tensor:
    """The sentences with some of their words made unknown."""
    forgotten = (torch.rand(ids.shape, device=ids.device) < share) & (ids != PAD)
    return torch.where(forgotten, UNKNOWN, ids)


def _between(low: float, high: float, n: int, like: Tensor) -> Tensor:
    return low + (high - low) * torch.rand(n, device=like.device)
