"""Other views of the same photograph and sentence, made on the device for a whole batch at once."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from recipes.photo.networks import PAD

UNKNOWN = 1  # the id of a word that is not known
LIGHT = 0.25  # most change of brightness and of contrast
SMALLEST = 0.6  # of a photograph's side, where it is made less sharp
LEAST = 0.75  # of a photograph's side that is seen


@dataclass(frozen=True, eq=False)
class Placement:
    """Where views lie in their pictures, each measured from -1 to 1: a picture's place is turned * view + middle."""

    turned: Tensor  # (n, 2), across and down: the part's share of the side, below zero where it is mirrored
    middles: Tensor  # (n, 2)


def views(pixels: Tensor, side: int) -> Tensor:
    """Random parts of pixels (n, h, w, 3) in bytes, half of them mirrored, in another light: (n, 3, side, side)."""
    return relit(seen(pixels, drawn(len(pixels), pixels.device), side))


def drawn(n: int, device: torch.device, rng: torch.Generator | None = None) -> Placement:
    """Random parts of `n` pictures, half of them mirrored.

    The sides of a part are drawn by themselves, so that things are seen a little larger and smaller, wider and higher.
    """
    shares = LEAST + (1 - LEAST) * torch.rand(n, 2, generator=rng, device=device)
    mirrored = torch.rand(n, 2, generator=rng, device=device) < torch.tensor([0.5, 0.0], device=device)
    middles = (1 - shares) * (2 * torch.rand(n, 2, generator=rng, device=device) - 1)
    return Placement(torch.where(mirrored, -shares, shares), middles)


def seen(pixels: Tensor, at: Placement, side: int) -> Tensor:
    """These parts of pixels (n, h, w, 3) in bytes, as (n, 3, side, side) from 0 to 255."""
    matrices = torch.cat([torch.diag_embed(at.turned), at.middles[:, :, None]], 2)
    places = functional.affine_grid(matrices, [len(pixels), 3, side, side], align_corners=False)
    whole = pixels.permute(0, 3, 1, 2).float()
    return functional.grid_sample(whole, places, padding_mode="border", align_corners=False)


def relit(pictures: Tensor, rng: torch.Generator | None = None) -> Tensor:
    """Pictures (n, 3, h, w) in another light, each in its own."""
    light = torch.rand(2, len(pictures), 1, 1, 1, generator=rng, device=pictures.device)
    brightness, contrast = (1 + LIGHT * (2 * light - 1)).unbind()
    means = pictures.mean((1, 2, 3), keepdim=True)
    return ((pictures - means) * contrast + means * brightness).clamp(0, 255)


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
