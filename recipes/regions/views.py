"""Other views of the same photographs, and where their regions lie in them; made on the device, a batch at once."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from recipes.photo.augmentation import LEAST, LIGHT

STILL_SEEN = 0.1  # of a box's area; of what a view leaves less of, the whole view speaks


@dataclass(frozen=True, eq=False)
class Placement:
    """Where views lie in their pictures, each measured from -1 to 1: a picture's place is turned * view + middle."""

    turned: Tensor  # (n, 2), across and down: the part's share of the side, below zero where it is mirrored
    middles: Tensor  # (n, 2)


def drawn(n: int, rng: torch.Generator) -> Placement:
    """Random parts of `n` pictures, half of them mirrored, on the device of the generator."""
    shares = LEAST + (1 - LEAST) * torch.rand(n, 2, generator=rng, device=rng.device)
    middles = (1 - shares) * (2 * torch.rand(n, 2, generator=rng, device=rng.device) - 1)
    across, down = shares.unbind(1)
    mirrored = torch.rand(n, generator=rng, device=rng.device) < 0.5
    return Placement(torch.stack([torch.where(mirrored, -across, across), down], 1), middles)


def seen(pixels: Tensor, at: Placement, side: int) -> Tensor:
    """These parts of pixels (n, h, w, 3) in bytes, as (n, 3, side, side) from 0 to 255."""
    matrices = torch.cat([torch.diag_embed(at.turned), at.middles[:, :, None]], 2)
    places = functional.affine_grid(matrices, [len(pixels), 3, side, side], align_corners=False)
    whole = pixels.permute(0, 3, 1, 2).float()
    return functional.grid_sample(whole, places, padding_mode="border", align_corners=False)


def relit(pictures: Tensor, rng: torch.Generator) -> Tensor:
    """Pictures (n, 3, h, w) in another light, each in its own."""
    drawn_light = torch.rand(2, len(pictures), 1, 1, 1, generator=rng, device=rng.device)
    brightness, contrast = (1 + LIGHT * (2 * drawn_light - 1)).unbind()
    means = pictures.mean((1, 2, 3), keepdim=True)
    return ((pictures - means) * contrast + means * brightness).clamp(0, 255)


def moved(boxes: Tensor, at: Placement) -> Tensor:
    """Boxes (n, k, 4) of the pictures, in shares, as they lie in the views: cut off where the view ends.

    A box that is hardly in the view becomes the whole of it, as the whole picture's box does.

    >>> left_half = Placement(torch.tensor([[0.5, 1.0]]), torch.tensor([[-0.5, 0.0]]))
    >>> moved(torch.tensor([[[0.25, 0.0, 0.75, 0.5], [0.5, 0.0, 1.0, 1.0]]]), left_half).tolist()
    [[[0.5, 0.0, 1.0, 0.5], [0.0, 0.0, 1.0, 1.0]]]
    """
    ends = boxes.reshape(*boxes.shape[:2], 2, 2)  # (n, k, which end, across or down)
    ends = ((2 * ends - 1 - at.middles[:, None, None]) / at.turned[:, None, None] + 1) / 2
    ends = ends.sort(dim=2).values  # what was at the left of a mirrored picture is at the right
    inside = ends.clamp(0, 1)
    left = (inside[:, :, 1] - inside[:, :, 0]).prod(2) >= STILL_SEEN * (ends[:, :, 1] - ends[:, :, 0]).prod(2)
    view = boxes.new_tensor([0.0, 0.0, 1.0, 1.0])
    return torch.where(left[..., None], inside.flatten(2), view)


def positions_of(boxes: Tensor) -> Tensor:
    """The four position digits of boxes (n, k, 4), as `deepbinaries.vision.regions.positions` gives them.

    >>> positions_of(torch.tensor([[[0.5, 0.0, 1.0, 0.25]]])).tolist()
    [[[0.25, 0.5, 0.75, 0.125]]]
    """
    x0, y0, x1, y1 = boxes.unbind(2)
    return torch.stack([y1 - y0, x1 - x0, (x0 + x1) / 2, (y0 + y1) / 2], 2)


def boxes_of(positions: Tensor) -> Tensor:
    """The boxes of position digits (n, k, 4), which are rounded: cut off at the picture's edge.

    >>> boxes_of(positions_of(torch.tensor([[[0.5, 0.0, 1.0, 0.25]]]))).tolist()
    [[[0.5, 0.0, 1.0, 0.25]]]
    """
    height, width, x, y = positions.unbind(2)
    return torch.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], 2).clamp(0, 1)
