"""Fixed windows, scored by where the features of a backbone are strong. Needs no weights of its own."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.errors import DataError
from deepbinaries.vision.regions import Proposals
from deepbinaries.vision.windows import WINDOWS


class Grid:
    """The windows of `vision.windows`; confident where the picture has much to say.

    A window's confidence is its mean energy, scaled so that the weakest window of the picture has 0 and the
    strongest 1. Without an energy map, or with one that is the same everywhere, all have .5, and the choice is by
    area alone.
    """

    name = "grid"
    digest = ""
    quick = True

    def propose(
        self,
        picture: Image.Image,  # noqa: ARG002  (the energy has seen it)
        energy: NDArray[np.floating] | None = None,
        id: str = "",  # noqa: A002, ARG002
    ) -> Proposals:
        unknown = np.full(len(WINDOWS), 0.5, dtype=np.float32)
        if energy is None:
            return Proposals(WINDOWS, unknown)
        means = mean_energy(energy, WINDOWS)
        span = np.ptp(means)
        if span <= 1e-6 * np.abs(means).max():  # nothing but rounding
            return Proposals(WINDOWS, unknown)
        return Proposals(WINDOWS, ((means - means.min()) / span).astype(np.float32))


def mean_energy(energy: NDArray[np.floating], boxes: NDArray[np.floating]) -> NDArray[np.float64]:
    """The mean of a map (height, width) inside each box; cells that a box cuts count by the part inside.

    >>> mean_energy(np.array([[0.0, 4.0]]), np.array([[0, 0, 1, 1], [0.25, 0, 0.75, 1], [0.5, 0, 1, 1]])).tolist()
    [2.0, 2.0, 4.0]
    """
    energy = np.asarray(energy, dtype=np.float64)
    if energy.ndim != 2 or not energy.size or not np.isfinite(energy).all():
        raise DataError(
            f"an energy map of shape {energy.shape} is no table of finite numbers",
            next_step="give the mean squared features of one picture, (height, width)",
        )
    x0, y0, x1, y1 = np.asarray(boxes, dtype=np.float64).T
    down, across = _parts_inside(y0, y1, energy.shape[0]), _parts_inside(x0, x1, energy.shape[1])
    sums = ((down @ energy) * across).sum(axis=1)
    return np.asarray(sums / (down.sum(axis=1) * across.sum(axis=1)))


def _parts_inside(start: NDArray[np.float64], end: NDArray[np.float64], n_cells: int) -> NDArray[np.float64]:
    """How much of each of `n_cells` equal cells along a side lies between start and end, (boxes, cells)."""
    cells = np.arange(n_cells)
    parts: NDArray[np.float64] = np.minimum(end[:, None] * n_cells, cells + 1)
    parts -= np.maximum(start[:, None] * n_cells, cells)
    return np.clip(parts, 0, None)
