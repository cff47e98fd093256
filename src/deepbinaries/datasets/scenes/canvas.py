"""From outlines to pixels. Every pixel is decided in whole numbers, so that no compiler, processor or
release of a drawing library can change a picture."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIDE = 224  # of a picture, in pixels
FINE = 2  # an outline is painted on FINE x FINE dots a pixel, which are averaged afterwards
STEPS = 16  # corners lie on a grid of STEPS x STEPS a dot
UNIT = FINE * STEPS  # grid steps a pixel

DOTS = SIDE * FINE


@dataclass(frozen=True)
class Outline:
    """A closed polygon in one colour; corners count in grid steps. Where it overlaps itself, it has a hole."""

    colour: int  # red + 256 green + 65536 blue
    corners: Sequence[tuple[int, int]]


def paint(outlines: Sequence[Outline]) -> NDArray[np.uint32]:
    """The dots, (DOTS, DOTS), after all outlines were filled, one over the other; the paper is 0.

    >>> square = Outline(7, [(0, 0), (2 * STEPS, 0), (2 * STEPS, 2 * STEPS), (0, 2 * STEPS)])
    >>> paint([square])[:3, :3].tolist()
    [[7, 7, 0], [7, 7, 0], [0, 0, 0]]
    """
    dots = np.zeros(DOTS * DOTS, dtype="<u4")
    owner, start, stop = _spans(outlines)
    colours = np.array([outline.colour for outline in outlines], dtype=np.uint32)[owner]
    for colour, first, last in zip(colours, start.tolist(), stop.tolist(), strict=True):
        dots[first:last] = colour
    return dots.reshape(DOTS, DOTS)


def _spans(outlines: Sequence[Outline]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The horizontal runs of dots inside each outline: owner, first dot, dot after the last; in painting order."""
    sizes = np.array([len(outline.corners) for outline in outlines], dtype=np.int64)
    ends = np.cumsum(sizes)
    here = np.array([corner for outline in outlines for corner in outline.corners], dtype=np.int64)
    following = np.arange(1, len(here) + 1)
    following[ends - 1] = ends - sizes
    x0, y0, x1, y1 = *here.T, *here[following].T
    # A dot belongs to what lies under its middle. An edge is crossed by the rows whose middle is
    # at or below its upper end and above its lower end: so every row crosses an outline an even number of times.
    first = np.clip(-((STEPS // 2 - np.minimum(y0, y1)) // STEPS), 0, DOTS)
    after = np.clip(-((STEPS // 2 - np.maximum(y0, y1)) // STEPS), 0, DOTS)
    heights = after - first
    edge = np.repeat(np.arange(len(here)), heights)
    row = np.arange(len(edge)) + np.repeat(first - (np.cumsum(heights) - heights), heights)
    x0, y0, x1, y1 = x0[edge], y0[edge], x1[edge], y1[edge]
    x = x0 + (row * STEPS + STEPS // 2 - y0) * (x1 - x0) // (y1 - y0)
    column = np.clip(-((STEPS // 2 - x) // STEPS), 0, DOTS)
    owner = np.repeat(np.arange(len(outlines)), sizes)[edge]
    # Sorted by outline, row and column, each pair of neighbours is one run.
    crossings = np.sort((owner * DOTS + row) * (DOTS + 1) + column)
    lines, columns = np.divmod(crossings, DOTS + 1)
    lines, start, stop = lines[::2], columns[::2], columns[1::2]
    owner, row = np.divmod(lines, DOTS)
    return owner, row * DOTS + start, row * DOTS + stop
