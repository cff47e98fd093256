"""Where the regions of photographs lie in other views of them; found on the device, a batch at once."""

import torch
from torch import Tensor

from recipes.photo.augmentation import Placement

STILL_SEEN = 0.1  # of a box's area; of what a view leaves less of, the whole view speaks


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
