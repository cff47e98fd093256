"""Fixed windows, scored by where the features of a backbone are strong. Needs no weights of its own."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.errors import DataError
from deepbinaries.vision.regions import SMALLEST_SIDE, WHOLE_PICTURE, Proposals, Shares, areas, choose_regions
from deepbinaries.vision.windows import WINDOWS

NARROWEST = (WINDOWS[:, 2:] - WINDOWS[:, :2]).min(axis=0)  # width and height, in shares


class Grid:
    """The windows of `vision.windows`; confident where the picture has much to say.

    A window's confidence is its mean energy, scaled so that the weakest window of the picture has 0 and the
    strongest 1. Without an energy map, or with one that is the same everywhere, all have .5, and the choice is by
    area alone.
    """

    name = "grid"
    digest = ""

    def propose(
        self,
        picture: Image.Image,  # noqa: ARG002  (the energy has seen it)
        energy: NDArray[np.floating] | None = None,
        id: str = "",  # noqa: A002, ARG002
    ) -> Proposals:
        return Proposals(WINDOWS, _confidence(energy, ()))

    def choose_all(self, energies: NDArray[np.floating] | None, sizes: Sequence[tuple[int, int]], keep: int) -> Shares:
        """The boxes that `choose_regions` takes of each picture's proposals, (n, keep + 1, 4).

        `energies` are (n, height, width) of their maps; `sizes` are widths and heights of the pictures in pixels.
        """
        confidence = _confidence(energies, (len(sizes),))
        # No two windows are alike, so all that remains of the choice is an order.
        attraction = (confidence + areas(WINDOWS)) / 2
        best = np.lexsort((-confidence, -attraction))[:, :keep]
        boxes = np.concatenate([WINDOWS[best], np.broadcast_to(WHOLE_PICTURE, (len(sizes), 1, 4))], axis=1)
        large_enough = (NARROWEST * np.reshape(sizes, (-1, 2)) > SMALLEST_SIDE - 1e-3).all(axis=1)
        large_enough &= keep <= len(WINDOWS)  # more are refused below
        for row in np.flatnonzero(~large_enough).tolist():
            proposals = Proposals(WINDOWS, confidence[row])
            boxes[row] = choose_regions(proposals, sizes[row], keep=keep, proposer=self.name).boxes
        return boxes


def _confidence(energies: NDArray[np.floating] | None, shape: tuple[int, ...]) -> Shares:
    """The confidence of each window, (*shape, 47), on maps (*shape, height, width), if there are any."""
    if energies is None:
        return np.full((*shape, len(WINDOWS)), 0.5, dtype=np.float32)
    whole = energies.ndim == len(shape) + 2 and energies.shape[:-2] == shape and 0 not in energies.shape[-2:]
    if not whole or not np.isfinite(energies).all():
        raise DataError(
            f"an energy map of shape {energies.shape} is no table of finite numbers",
            next_step="give the mean squared features of a picture, (height, width)",
        )
    means = mean_energy(energies, WINDOWS)
    lowest, highest = means.min(axis=-1, keepdims=True), means.max(axis=-1, keepdims=True)
    span = highest - lowest
    even = span <= 1e-6 * np.abs(means).max(axis=-1, keepdims=True)  # nothing but rounding
    return np.where(even, 0.5, (means - lowest) / np.where(even, 1, span)).astype(np.float32)


def mean_energy(energy: NDArray[np.floating], boxes: NDArray[np.floating]) -> NDArray[np.float64]:
    """The mean inside each box of maps (..., height, width): (..., boxes). A cell that is cut counts by the inner part.

    >>> mean_energy(np.array([[0.0, 4.0]]), np.array([[0, 0, 1, 1], [0.25, 0, 0.75, 1], [0.5, 0, 1, 1]])).tolist()
    [2.0, 2.0, 4.0]
    """
    energy = np.asarray(energy, dtype=np.float64)
    x0, y0, x1, y1 = np.asarray(boxes, dtype=np.float64).T
    down, across = _parts_inside(y0, y1, energy.shape[-2]), _parts_inside(x0, x1, energy.shape[-1])
    sums = ((down @ energy) * across).sum(axis=-1)
    return np.asarray(sums / (down.sum(axis=1) * across.sum(axis=1)))


def _parts_inside(start: NDArray[np.float64], end: NDArray[np.float64], n_cells: int) -> NDArray[np.float64]:
    """How much of each of `n_cells` equal cells along a side lies between start and end, (boxes, cells)."""
    cells = np.arange(n_cells)
    parts: NDArray[np.float64] = np.minimum(end[:, None] * n_cells, cells + 1)
    parts -= np.maximum(start[:, None] * n_cells, cells)
    return np.clip(parts, 0, None)
