"""The pen: a handful of shapes, in units of the field one draws in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt

from deepbinaries.datasets.scenes.canvas import STEPS, UNIT, Outline
from deepbinaries.datasets.scenes.colours import Colour, Look

Point = tuple[int, int]
Box = tuple[int, int, int, int]  # left, top, right, bottom, in pixels

# A circle of radius 1000 in 32 steps, from the right over the bottom. The quarter is written down,
# since a sine may differ between machines.
_QUARTER = [(1000, 0), (981, 195), (924, 383), (831, 556), (707, 707), (556, 831), (383, 924), (195, 981)]
_HALF = _QUARTER + [(-y, x) for x, y in _QUARTER]
CIRCLE = _HALF + [(-x, -y) for x, y in _HALF]


class Pen:
    """Draws in a field of so many units by so many, which lies over a box of the picture.

    Units are whole numbers; x grows to the right (to the left when `mirrored`), y downwards.
    """

    def __init__(self, sheet: list[Outline], box: Box, field: tuple[int, int], *, mirrored: bool = False):
        self.sheet, self.box, self.field, self.mirrored = sheet, box, field, mirrored

    def polygon(self, colour: Colour, *corners: Point) -> None:
        """A shape with straight edges."""
        self._fill(colour, self._placed(corners))

    def block(self, colour: Colour, left: int, top: int, right: int, bottom: int) -> None:
        """A rectangle."""
        self.polygon(colour, (left, top), (right, top), (right, bottom), (left, bottom))

    def blob(self, colour: Colour, *corners: Point) -> None:
        """A polygon with its corners rounded off; it still touches the middle of every edge."""
        self._fill(colour, _rounded(_rounded(self._placed(corners))))

    def oval(self, colour: Colour, x: int, y: int, rx: int, ry: int) -> None:
        """An ellipse around a point."""
        self._fill(colour, self._around(x, y, rx, ry, CIRCLE))

    def disc(self, colour: Colour, x: int, y: int, r: int) -> None:
        """A circle around a point."""
        self.oval(colour, x, y, r, r)

    def ring(self, colour: Colour, x: int, y: int, r: int, width: int) -> None:
        """A circle with a hole; `width` is that of the rim."""
        circle = [*CIRCLE, CIRCLE[0]]
        self._fill(colour, self._around(x, y, r, r, circle) + self._around(x, y, r - width, r - width, circle))

    def dome(self, colour: Colour, x: int, y: int, rx: int, ry: int) -> None:
        """The upper half of an ellipse, standing on (x, y); with a negative height, a bowl hanging from it."""
        self._fill(colour, self._around(x, y, rx, -ry, [*_HALF, (-1000, 0)]))

    def line(self, colour: Colour, width: int, *corners: Point) -> None:
        """A stroke through the points."""
        self._stroke(colour, width, self._placed(corners))

    def curve(self, colour: Colour, width: int, *corners: Point) -> None:
        """A round stroke from the first point to the last, bent towards those between."""
        path = self._placed(corners)
        for _ in range(2):
            path = [path[0], *_rounded(path)[1:-3], path[-1]]  # without the edge that would close it
        self._stroke(colour, width, path)

    def _stroke(self, colour: Colour, width: int, path: list[Point]) -> None:
        half = max(width * (self.box[2] - self.box[0]) * UNIT // (2 * self.field[0]), STEPS // 2)
        for (x0, y0), (x1, y1) in pairwise(path):
            length = max(1, isqrt((x1 - x0) ** 2 + (y1 - y0) ** 2))
            dx, dy = (y0 - y1) * half // length, (x1 - x0) * half // length
            self._fill(colour, [(x0 + dx, y0 + dy), (x1 + dx, y1 + dy), (x1 - dx, y1 - dy), (x0 - dx, y0 - dy)])
        for x, y in path[1:-1]:
            self._fill(colour, [(x + half * cos // 1000, y + half * sin // 1000) for cos, sin in CIRCLE[::4]])

    def _fill(self, colour: Colour, corners: list[Point]) -> None:
        red, green, blue = colour
        self.sheet.append(Outline(red | green << 8 | blue << 16, corners))

    def _placed(self, corners: Sequence[Point]) -> list[Point]:
        left, top, right, bottom = self.box
        width, height = self.field
        if self.mirrored:
            left, right = right, left
        return [
            ((left * width + x * (right - left)) * UNIT // width, (top * height + y * (bottom - top)) * UNIT // height)
            for x, y in corners
        ]

    def _around(self, x: int, y: int, rx: int, ry: int, circle: Sequence[Point]) -> list[Point]:
        (x0, y0), (x1, y1) = self._placed([(x, y), (x + rx, y + ry)])
        return [(x0 + (x1 - x0) * cos // 1000, y0 + (y1 - y0) * sin // 1000) for cos, sin in circle]


@dataclass(frozen=True)
class Drawing:
    """How one kind of thing is drawn, and the field in which its points count."""

    field: tuple[int, int]
    strokes: Callable[[Pen, Look], None]

    def put(self, sheet: list[Outline], box: Box, look: Look, *, mirrored: bool = False) -> None:
        """Draw it over a box of the picture, which it fills."""
        self.strokes(Pen(sheet, box, self.field, mirrored=mirrored), look)


def in_field(width: int, height: int) -> Callable[[Callable[[Pen, Look], None]], Drawing]:
    """Make a drawing of the function below."""
    return lambda strokes: Drawing((width, height), strokes)


def on_circle(x: int, y: int, r: int, step: int) -> Point:
    """The point of a circle around (x, y), so many 32nds of a turn from its right end.

    >>> on_circle(50, 50, 20, 8)
    (50, 70)
    """
    cos, sin = CIRCLE[step % 32]
    return x + r * cos // 1000, y + r * sin // 1000


def _rounded(corners: list[Point]) -> list[Point]:
    """Each edge of a closed line without its first and last quarter; the ends are the new corners."""
    cut = []
    for (x0, y0), (x1, y1) in pairwise([*corners, corners[0]]):
        cut += [((3 * x0 + x1) // 4, (3 * y0 + y1) // 4), ((x0 + 3 * x1) // 4, (y0 + 3 * y1) // 4)]
    return cut
