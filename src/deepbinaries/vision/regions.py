"""Which regions of a picture are looked at: the paper's choice by attraction, the same for every proposer.

A proposal has a box, a confidence c that it holds a thing, and a share d of the picture's area. Its attraction is
a = (c + d) / 2; the K = 20 most attractive are kept in descending order, and the whole picture comes last.
The paper does not say how near-duplicates are suppressed; we follow Faster R-CNN, whose proposals it used.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.vision.windows import WINDOWS

SMALLEST_SIDE = 16  # pixels
TOO_ALIKE = 0.7  # intersection over union above which the less confident of two boxes goes
MOST_PROPOSALS = 300  # that remain when near-duplicates are gone
WHOLE_PICTURE = np.array([[0, 0, 1, 1]], dtype=np.float32)

Shares = NDArray[np.float32]


@dataclass(frozen=True)
class Proposals:
    """Where a proposer sees things, in its own order."""

    boxes: Shares  # (k, 4): x0, y0, x1, y1 in shares of the picture's width and height
    confidence: Shares  # (k,), between 0 and 1

    def __post_init__(self) -> None:
        if self.boxes.ndim != 2 or self.boxes.shape != (len(self.confidence), 4) or self.confidence.ndim != 1:
            raise DataError(
                f"boxes of shape {self.boxes.shape} do not go with confidences of shape {self.confidence.shape}",
                next_step="give one row of four shares and one confidence a proposal",
            )
        if not np.isfinite(self.boxes).all():
            raise DataError("a proposed box is not finite", next_step="check the proposer's weights and its input")
        if not ((self.confidence >= 0) & (self.confidence <= 1)).all():
            raise DataError("a confidence is not between 0 and 1", next_step="check the proposer's weights")


@dataclass(frozen=True)
class Regions:
    """The regions of one picture: the kept ones, the most attractive first, then the whole picture."""

    boxes: Shares  # (keep + 1, 4): x0, y0, x1, y1 in shares
    attraction: Shares  # (keep + 1,); what nobody proposed counts with confidence 0
    proposer: str


def check_keep(keep: int) -> None:
    """Refuse more regions than there are windows to fill up with."""
    if not 0 <= keep <= len(WINDOWS):
        raise UsageError(
            f"keep={keep} is outside 0..{len(WINDOWS)}, the windows that stand in for missing proposals",
            next_step="the paper keeps 20",
        )


def choose_regions(proposals: Proposals, size: tuple[int, int], *, keep: int = 20, proposer: str) -> Regions:
    """The `keep` most attractive regions of a picture of `size` (width, height) pixels, and the whole picture last.

    Where fewer are proposed, the largest fixed windows that repeat none of them follow.

    >>> dog = Proposals(np.array([[0, 0.25, 0.5, 0.75]], np.float32), np.array([0.75], np.float32))
    >>> regions = choose_regions(dog, (640, 480), keep=2, proposer="yolox")
    >>> regions.boxes.tolist()
    [[0.0, 0.25, 0.5, 0.75], [0.0, 0.0, 0.75, 0.75], [0.0, 0.0, 1.0, 1.0]]
    >>> regions.attraction.tolist()
    [0.5, 0.28125, 0.5]
    """
    check_keep(keep)
    boxes = proposals.boxes.astype(np.float32).clip(0, 1)
    confidence = proposals.confidence.astype(np.float32)
    sides = (boxes[:, 2:] - boxes[:, :2]) * size
    large_enough = np.flatnonzero((sides > SMALLEST_SIDE - 1e-3).all(axis=1))  # shares are rounded
    distinct = large_enough[suppress(boxes[large_enough], confidence[large_enough])]
    boxes, confidence = boxes[distinct], confidence[distinct]
    attraction = (confidence + areas(boxes)) / 2
    best = np.lexsort((-confidence, -attraction))[:keep]  # stable, so that proposals come in their own order
    fillers = _fillers(boxes[best], keep - len(best))
    unproposed = np.vstack([fillers, WHOLE_PICTURE])
    return Regions(
        boxes=np.vstack([boxes[best], unproposed]),
        attraction=np.concatenate([attraction[best], areas(unproposed) / 2]),
        proposer=proposer,
    )


def positions(boxes: NDArray[np.floating]) -> Shares:
    """The four position digits of each box, (n, 4): height, width, centre x, centre y, all in shares.

    >>> positions(np.array([[0, 0, 1, 1], [0.5, 0, 1, 0.25]])).tolist()
    [[1.0, 1.0, 0.5, 0.5], [0.25, 0.5, 0.75, 0.125]]
    """
    x0, y0, x1, y1 = np.asarray(boxes).T
    return np.stack([y1 - y0, x1 - x0, (x0 + x1) / 2, (y0 + y1) / 2], axis=1).astype(np.float32)


def suppress(boxes: Shares, confidence: Shares) -> NDArray[np.intp]:
    """The boxes that no more confident kept box is too alike, the most confident first, at most 300.

    >>> suppress(np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 0, 0.5, 0.5]]), np.array([0.3, 0.6, 0.5])).tolist()
    [1, 2]
    """
    waiting = np.argsort(-confidence, kind="stable")
    kept = waiting[:0]
    # In portions: one table of overlaps over thousands of boxes would cost more than all the rest.
    while len(waiting) and len(kept) < MOST_PROPOSALS:
        portion, waiting = waiting[:MOST_PROPOSALS], waiting[MOST_PROPOSALS:]
        portion = portion[~_repeats(boxes[portion], boxes[kept])]
        alike = overlaps(boxes[portion], boxes[portion]) > TOO_ALIKE
        stays = np.ones(len(portion), dtype=bool)
        for place in np.flatnonzero(alike.sum(axis=1) > 1):  # every box is alike to itself
            if stays[place]:
                stays[place + 1 :] &= ~alike[place, place + 1 :]
        kept = np.concatenate([kept, portion[stays]])
    return kept[:MOST_PROPOSALS]


def areas(boxes: Shares) -> Shares:
    """The area of each box."""
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def overlaps(boxes: Shares, others: Shares) -> Shares:
    """Intersection over union of each box with each other, (n, m); every box has an area.

    >>> overlaps(np.array([[0, 0, 1, 1.0]]), np.array([[0, 0, 1, 0.5], [2, 2, 3, 3]])).tolist()
    [[0.5, 0.0]]
    """
    x0, y0, x1, y1 = boxes.T[:, :, None]
    u0, v0, u1, v1 = np.ascontiguousarray(others.T)  # read along its rows, many times
    # In place: to set up new tables of this size takes four times as long as to fill them.
    across = np.minimum(x1, u1)
    across -= np.maximum(x0, u0)
    down = np.minimum(y1, v1)
    down -= np.maximum(y0, v0)
    shared: Shares = np.maximum(across, 0, out=across)
    shared *= np.maximum(down, 0, out=down)
    union = np.add(areas(boxes)[:, None], areas(others), out=down)
    union -= shared
    shared /= union
    return shared


def _repeats(boxes: Shares, others: Shares) -> NDArray[np.bool_]:
    """Which boxes are too alike to one of the others."""
    return np.asarray((overlaps(boxes, others) > TOO_ALIKE).any(axis=1))


def _fillers(boxes: Shares, n: int) -> Shares:
    """The `n` largest windows; those that repeat one of the boxes only when there are no others."""
    largest = np.argsort(_repeats(WINDOWS, boxes), kind="stable")  # the windows are in descending size
    return WINDOWS[largest[:n]]
