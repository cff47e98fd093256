"""What the head is taught: which anchors should fit which box of the teacher's, and how sure each should be."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from deepbinaries.vision.regions import Shares
from recipes.rpn.network import RpnNetwork

MOST_BOXES = 60  # of the teacher's in one view, the surest
FITS = 0.5  # overlap from which an anchor is moved onto a box; and from which a moved one counts as a thing
NEAREST = 4  # anchors that are moved onto a box even where none fits it
FOCUS = 2.0  # how much more the badly judged anchors count than those that are nearly right
BOX_WEIGHT = 2.0


@dataclass(frozen=True)
class Truth:
    """The teacher's boxes in n views, filled up to the same number with empty ones."""

    boxes: Tensor  # (n, m, 4)
    objectness: Tensor  # (n, m); 0 where a box is none

    def select(self, places: Tensor) -> "Truth":
        return Truth(self.boxes[places], self.objectness[places])


def stacked(boxes: list[Shares], objectness: list[Shares], device: torch.device) -> Truth:
    """The boxes of each view, the surest first, as one table."""
    table = np.zeros((len(boxes), MOST_BOXES, 5), dtype=np.float32)
    for row, of_view, sure in zip(table, boxes, objectness, strict=True):
        best = np.argsort(-sure, kind="stable")[:MOST_BOXES]
        row[: len(best), :4], row[: len(best), 4] = of_view[best], sure[best]
    tensor = torch.from_numpy(table).to(device)
    return Truth(tensor[..., :4], tensor[..., 4])


def loss(network: RpnNetwork, maps: Tensor, truth: Truth) -> Tensor:
    """How far the head's answers are from the teacher's."""
    answers = network(maps)
    n, h, w = answers.shape[:3]
    boxes = network.boxes(answers).reshape(n, -1, 4)
    anchors = network.places(h, w).reshape(1, -1, 4).expand(n, -1, -1)
    m = int((truth.objectness > 0).sum(1).max().clamp(min=1))  # the rest of the table is empty
    truth = Truth(truth.boxes[:, :m], truth.objectness[:, :m])
    wanted = assigned(anchors, truth)
    of_boxes = placing_loss(boxes, wanted, truth)
    of_sureness = sureness_loss(answers[..., 0].reshape(n, -1), boxes.detach(), truth)
    return of_sureness + BOX_WEIGHT * of_boxes


def assigned(anchors: Tensor, truth: Truth) -> Tensor:
    """The box that each anchor is moved onto, (n, k), or -1."""
    overlap = overlaps(anchors, truth.boxes) * (truth.objectness > 0)[:, None]
    best, box = overlap.max(2)
    nearest = overlap.topk(NEAREST, dim=1)
    near = torch.zeros_like(overlap).scatter_(1, nearest.indices, nearest.values)
    best_near, box_near = near.max(2)
    return torch.where(best >= FITS, box, torch.where(best_near > 0, box_near, -1))


def placing_loss(boxes: Tensor, wanted: Tensor, truth: Truth) -> Tensor:
    """1 - generalised intersection over union of the moved anchors, weighted by the teacher's objectness."""
    rows, places = (wanted >= 0).nonzero(as_tuple=True)
    onto = wanted[rows, places]
    weight = truth.objectness[rows, onto]
    distance = 1 - generalised_overlap(boxes[rows, places], truth.boxes[rows, onto])
    return (weight * distance).sum() / weight.sum().clamp(min=1)


def sureness_loss(logits: Tensor, boxes: Tensor, truth: Truth) -> Tensor:
    """Soft cross-entropy: an anchor should be as sure as the teacher is of the thing that its box fits, times the fit.

    After the quality focal loss of Li and others (2020).
    """
    overlap = overlaps(boxes, truth.boxes)
    target = (torch.where(overlap >= FITS, overlap, 0) * truth.objectness[:, None]).amax(2)
    each = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    focus = (target - logits.sigmoid()).abs() ** FOCUS
    return (focus * each).sum() / target.sum().clamp(min=1)


def overlaps(boxes: Tensor, others: Tensor) -> Tensor:
    """Intersection over union of boxes (n, k, 4) with others (n, m, 4): (n, k, m); 0 for empty ones."""
    low = torch.maximum(boxes[:, :, None, :2], others[:, None, :, :2])
    high = torch.minimum(boxes[:, :, None, 2:], others[:, None, :, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    union = _areas(boxes)[:, :, None] + _areas(others)[:, None] - shared
    return shared / union.clamp(min=1e-9)


def generalised_overlap(boxes: Tensor, others: Tensor) -> Tensor:
    """The generalised intersection over union of box and other, row by row: (k,), -1 to 1."""
    low, high = torch.maximum(boxes[:, :2], others[:, :2]), torch.minimum(boxes[:, 2:], others[:, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    union = (_areas(boxes) + _areas(others) - shared).clamp(min=1e-9)
    hull = torch.maximum(boxes[:, 2:], others[:, 2:]) - torch.minimum(boxes[:, :2], others[:, :2])
    around = hull.prod(-1).clamp(min=1e-9)
    return shared / union - (around - union) / around


def _areas(boxes: Tensor) -> Tensor:
    return (boxes[..., 2:] - boxes[..., :2]).prod(-1)


def choose_anchors(boxes: Shares, weight: Shares, n: int, *, seed: int = 0, rounds: int = 30) -> NDArray[np.float32]:
    """Widths and heights, (n, 2), that many boxes are near to: k-means over log sizes, the largest first."""
    sizes = np.log((boxes[:, 2:] - boxes[:, :2]).clip(0.01))
    rng = np.random.default_rng(seed)
    centres = sizes[rng.choice(len(sizes), n, replace=False, p=weight / weight.sum(dtype=np.float64))]
    for _ in range(rounds):
        nearest = np.square(sizes[:, None] - centres).sum(2).argmin(1)
        for place in range(n):
            if (mine := nearest == place).any():
                centres[place] = np.average(sizes[mine], axis=0, weights=weight[mine])
    found: NDArray[np.float32] = np.exp(centres).clip(0.02, 1).astype(np.float32)
    return found[np.argsort(-found.prod(1))]
