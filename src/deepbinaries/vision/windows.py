"""Fixed windows over a picture: the regions to look at when nobody says where the things are."""

import numpy as np
from numpy.typing import NDArray

# Width and height in shares of the picture's, and how many windows lie evenly across and down.
SHAPES = (
    (3 / 4, 3 / 4, 2, 2),
    (1, 1 / 2, 1, 3),
    (1 / 2, 1, 3, 1),
    (1 / 2, 1 / 2, 3, 3),
    (2 / 3, 1 / 3, 2, 3),
    (1 / 3, 2 / 3, 3, 2),
    (1 / 3, 1 / 3, 4, 4),
)


def _all_windows() -> NDArray[np.float32]:
    windows = [
        (x, y, x + width, y + height)
        for width, height, across, down in SHAPES
        for y in np.linspace(0, 1 - height, down)
        for x in np.linspace(0, 1 - width, across)
    ]
    return np.array(windows, dtype=np.float32)


WINDOWS = _all_windows()  # (47, 4): x0, y0, x1, y1 in shares, the largest first; no two overlap by more than .55
WINDOWS.flags.writeable = False
