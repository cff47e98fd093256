"""How much of what the teacher is sure of lies among a picture's regions, and the sureness that finds the most."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deepbinaries.vision.regions import SMALLEST_SIDE, Proposals, Shares, areas, choose_regions, overlaps, suppress

PROPOSALS = 20
FOUND = 0.5  # intersection over union
SIZES = {"small": 0.02, "medium": 0.15, "large": 1.0}  # up to this share of the picture's area
SCALES = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
SHIFTS = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0)


def hits(regions: Shares, things: Shares) -> NDArray[np.bool_]:
    """Which of the things, (m, 4), lie in one of the regions, (k, 4).

    >>> hits(np.array([[0, 0, 1, 0.6]]), np.array([[0, 0, 1, 1.0], [0, 0, 0.1, 0.1]])).tolist()
    [True, False]
    """
    return np.asarray((overlaps(things, regions) >= FOUND).any(axis=1))


@dataclass
class Count:
    """Things and how many of them are found, in all and by their size."""

    pictures: int = 0
    things: list[float] = field(default_factory=list)  # their areas
    found: list[bool] = field(default_factory=list)

    def add(self, regions: Shares, things: Shares) -> None:
        self.pictures += 1
        self.things += areas(things).tolist()
        self.found += hits(regions, things).tolist()

    def report(self) -> dict[str, float | int]:
        """Recall over all things of all pictures, and of small, medium and large ones."""
        area, found = np.array(self.things), np.array(self.found)
        report: dict[str, float | int] = {"pictures": self.pictures, "things": len(found), "recall": _share(found)}
        least = 0.0
        for name, most in SIZES.items():
            report[f"recall_{name}"] = _share(found[(area > least) & (area <= most)])
            least = most
        return report


def count(proposed: Iterable[Proposals], things: Sequence[Shares], sizes: Sequence[tuple[int, int]]) -> Count:
    """What the regions that the package chooses of each picture's proposals find; the whole picture does not count."""
    total = Count()
    for proposals, of_picture, size in zip(proposed, things, sizes, strict=True):
        regions = choose_regions(proposals, size, keep=PROPOSALS, proposer="")
        total.add(regions.boxes[:PROPOSALS], of_picture)
    return total


def calibrate(
    proposed: Sequence[Proposals], things: Sequence[Shares], sizes: Sequence[tuple[int, int]]
) -> tuple[float, float, float]:
    """Scale and shift of the logits whose regions find most, and what they find.

    Attraction weighs sureness against area: what sureness means decides which of the two wins. Order, and so what is
    suppressed, stays as it is.
    """
    pictures = [_distinct(proposals, size) for proposals, size in zip(proposed, sizes, strict=True)]
    # Where fewer than twenty remain, windows follow that hardly find a thing; they are left out here.
    table = [
        (logits, areas(boxes), overlaps(of_picture, boxes) >= FOUND)
        for (boxes, logits), of_picture in zip(pictures, things, strict=True)
    ]
    best = (-1.0, 1.0, 0.0)
    for scale in SCALES:
        for shift in SHIFTS:
            found: list[NDArray[np.bool_]] = []
            for logits, area, fits in table:
                attraction = 1 / (1 + np.exp(-(scale * logits + shift))) + area
                best_places = np.argsort(-attraction, kind="stable")[:PROPOSALS]
                found.append(np.asarray(fits[:, best_places].any(axis=1)))
            best = max(best, (_share(np.concatenate(found)), scale, shift), key=lambda one: one[0])
    recall, scale, shift = best
    return scale, shift, recall


def _distinct(proposals: Proposals, size: tuple[int, int]) -> tuple[Shares, Shares]:
    """The boxes that `choose_regions` would choose among, and their logits."""
    large = ((proposals.boxes[:, 2:] - proposals.boxes[:, :2]) * size > SMALLEST_SIDE - 1e-3).all(axis=1)
    boxes, confidence = proposals.boxes[large], proposals.confidence[large].clip(1e-6, 1 - 1e-6)
    kept = suppress(boxes, confidence)
    return boxes[kept], np.log(confidence[kept] / (1 - confidence[kept]))


def _share(found: NDArray[np.bool_]) -> float:
    return round(float(found.mean()), 4) if len(found) else 0.0
