"""Line charts as SVG, by a few lines of our own: axes, ticks, a legend, and colours that the page's style decides."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 420, 300  # of a chart, in its own units
LEFT, RIGHT, BOTTOM = 44, 10, 42  # room around the plot for labels
ROW = 20  # height of a row of the legend
CHARACTER = 7.2  # width of an average letter of the legend

Range = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """A named line; points that are not finite are left out."""

    name: str
    x: Sequence[float]
    y: Sequence[float]

    def points(self) -> list[tuple[float, float]]:
        together = zip(map(float, self.x), map(float, self.y), strict=True)
        return [point for point in together if math.isfinite(point[0]) and math.isfinite(point[1])]


def line_chart(
    lines: Sequence[Line],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_range: Range | None = None,
    y_range: Range | None = None,
) -> str:
    """The chart as an `<svg>` element; the line number i has the class `line-i`. Without ranges all points fit in."""
    points = [point for line in lines for point in line.points()]
    x_range = x_range or _around([x for x, _ in points])
    y_range = y_range or _around([y for _, y in points])
    legend, top = _legend([line.name for line in lines])
    x_scale, y_scale = Scale(x_range, (LEFT, WIDTH - RIGHT)), Scale(y_range, (HEIGHT - BOTTOM, top))
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(_in_words(title, lines))}">',
        *legend,
        *(_vertical_tick(x_scale(tick), tick) for tick in ticks(*x_range)),
        *(_horizontal_tick(y_scale(tick), tick) for tick in ticks(*y_range)),
        f'<path class="axis" d="M{LEFT} {top}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text transform="translate(12 {(top + HEIGHT - BOTTOM) / 2:g}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_label)}</text>",
    ]
    for number, line in enumerate(lines):
        path = " ".join(f"{x_scale(x):.1f},{y_scale(y):.1f}" for x, y in line.points())
        parts.append(f'<polyline class="line line-{number}" points="{path}"/>')
    return "\n".join([*parts, "</svg>"])


@dataclass(frozen=True)
class Scale:
    """From values to places: the ends of one range fall on the ends of the other.

    >>> Scale((0, 10), (100, 0))(2.5)
    75.0
    """

    values: Range
    places: Range

    def __call__(self, value: float) -> float:
        (low, high), (start, end) = self.values, self.places
        return start + (min(max(value, low), high) - low) / (high - low) * (end - start)


def ticks(low: float, high: float, *, about: int = 5) -> list[float]:
    """Round numbers from low to high, one, two or five times a power of ten apart.

    >>> ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(1, 20)
    [5, 10, 15, 20]
    """
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step for step in (1, 2, 5, 10) if step * power >= rough * 0.99) * power
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    found = [round(number * step, 10) for number in range(first, last + 1)]
    return found if step < 1 else [int(tick) for tick in found]


def _around(values: Sequence[float]) -> Range:
    """The range of the values, never empty."""
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _legend(names: Sequence[str]) -> tuple[list[str], int]:
    """A sample and a name for each line, in as many rows as they need; and where the plot may begin."""
    parts, x, row = [], float(LEFT), 0
    for number, name in enumerate(names):
        width = 34 + CHARACTER * len(name)
        if x > LEFT and x + width > WIDTH - RIGHT:
            x, row = float(LEFT), row + 1
        y = 12 + row * ROW
        parts.append(f'<path class="line line-{number}" d="M{x:g} {y}h22"/>')
        parts.append(f'<text x="{x + 27:g}" y="{y + 4}">{escape(name)}</text>')
        x += width + 12
    return parts, 30 + row * ROW


def _vertical_tick(x: float, tick: float) -> str:
    y = HEIGHT - BOTTOM
    return f'<path class="tick" d="M{x:.1f} {y}v4"/><text x="{x:.1f}" y="{y + 17}" text-anchor="middle">{tick:g}</text>'


def _horizontal_tick(y: float, tick: float) -> str:
    across = f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
    return f'{across}<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>'


def _in_words(title: str, lines: Sequence[Line]) -> str:
    """What the chart shows, for those who cannot see it."""
    ends = [(line.name, line.points()) for line in lines]
    told = [f"{name} from {points[0][1]:.2f} to {points[-1][1]:.2f}" for name, points in ends if points]
    return f"{title}: {', '.join(told)}"
