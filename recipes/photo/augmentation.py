"""Other views of the same photograph and sentence, made on the device for a whole batch at once."""

import torch
from torch import Tensor
from torch.nn import functional

from recipes.photo.networks import PAD

UNKNOWN = 1  # the id of a word that is not known
LIGHT = 0.25  # most change of brightness and of contrast
SMALLEST = 0.6  # of a photograph's side, where it is made less sharp
LEAST = 0.75  # of a photograph's side that is seen


def views(pixels: Tensor, side: int) -> Tensor:
    """Random parts of pixels (n, h, w, 3) in bytes, half of them mirrored, in another light: (n, 3, side, side).

    The sides of a part are drawn by themselves, so that things are seen a little larger and smaller, wider and higher.
    """
    n, device = len(pixels), pixels.device
    shares = LEAST + (1 - LEAST) * torch.rand(n, 2, device=device)
    turned = shares * torch.where(torch.rand(n, 2, device=device) < torch.tensor([0.5, 0.0], device=device), -1, 1)
    middles = (1 - shares) * (2 * torch.rand(n, 2, device=device) - 1)
    parts_of = torch.cat([torch.diag_embed(turned), middles[:, :, None]], 2)
    places = functional.affine_grid(parts_of, [n, 3, side, side], align_corners=False)
    whole = pixels.permute(0, 3, 1, 2).float()
    parts = functional.grid_sample(whole, places, padding_mode="border", align_corners=False)
    brightness, contrast = (1 + LIGHT * (2 * torch.rand(2, n, 1, 1, 1, device=device) - 1)).unbind()
    means = parts.mean((1, 2, 3), keepdim=True)
    return ((parts - means) * contrast + means * brightness).clamp(0, 255)


def smaller(pictures: Tensor) -> Tensor:
    """Half of pictures (n, 3, side, side) as sharp as smaller ones are: all of them of one size drawn at random."""
    side, half = pictures.shape[2], len(pictures) // 2
    small = int(side * (SMALLEST + (1 - SMALLEST) * torch.rand(()).item()))
    reduced = functional.interpolate(pictures[:half], (small, small), mode="bilinear", antialias=True)
    enlarged = functional.interpolate(reduced, (side, side), mode="bicubic").clamp(0, 255)
    return torch.cat([enlarged, pictures[half:]])


def forget_words(ids: Tensor, share: float) -> Tensor:
    """The sentences with some of their words made unknown."""
    forgotten = (torch.rand(ids.shape, device=ids.device) < share) & (ids != PAD)
    return torch.where(forgotten, UNKNOWN, ids)
