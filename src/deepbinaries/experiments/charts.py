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
    logarithmic: str = "",
) -> str:
    """The chart as an `<svg>` element; the line number i has the class `line-i`. Without ranges all points fit in.

    `logarithmic` names the axes, "x", "y" or "xy", on which equal steps are equal ratios: of positive values.
    """
    points = [point for line in lines for point in line.points()]
    x_range = x_range or _around([x for x, _ in points])
    y_range = y_range or _around([y for _, y in points])
    legend, top = _legend([line.name for line in lines])
    x_scale = Scale(x_range, (LEFT, WIDTH - RIGHT), logarithmic="x" in logarithmic)
    y_scale = Scale(y_range, (HEIGHT - BOTTOM, top), logarithmic="y" in logarithmic)
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(_in_words(title, lines))}">',
        *legend,
        *(_vertical_tick(x_scale(tick), tick) for tick in x_scale.ticks()),
        *(_horizontal_tick(y_scale(tick), tick) for tick in y_scale.ticks()),
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

    >>> Scale((0, 10), (100, 0))(2.5), Scale((1, 100), (0, 50), logarithmic=True)(10)
    (75.0, 25.0)
    """

    values: Range
    places: Range
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        (low, high), (start, end) = self.values, self.places
        value = min(max(value, low), high)
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return start + (value - low) / (high - low) * (end - start)

    def ticks(self) -> list[float]:
        """Round numbers along the scale."""
        return ratio_ticks(*self.values) if self.logarithmic else ticks(*self.values)


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


def ratio_ticks(low: float, high: float) -> list[float]:
    """Powers of ten from low to high; where these are few, two and five times them as well.

    >>> ratio_ticks(1e4, 1e7), ratio_ticks(1, 64)
    ([10000.0, 100000.0, 1000000.0, 10000000.0], [1.0, 2.0, 5.0, 10.0, 20.0, 50.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5)):
        found = [float(f"{step}e{power}") for power in powers for step in steps]
        found = [tick for tick in found if low * 0.999 <= tick <= high * 1.001]
        if len(found) > 2:
            break
    return found


def in_figures(tick: float) -> str:
    """A number as an axis shows it.

    >>> in_figures(0.2), in_figures(10_000_000), in_figures(20_000)
    ('0.2', '10⁷', '2·10⁴')
    """
    if abs(tick) < 10_000:
        return f"{tick:g}"
    power = math.floor(math.log10(abs(tick)) + 1e-9)
    ten = "10" + str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    times = tick / 10**power
    return ten if math.isclose(times, 1) else f"{times:g}·{ten}"


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
    mark = f'<path class="tick" d="M{x:.1f} {y}v4"/>'
    return f'{mark}<text x="{x:.1f}" y="{y + 17}" text-anchor="middle">{in_figures(tick)}</text>'


def _horizontal_tick(y: float, tick: float) -> str:
    across = f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
    return f'{across}<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{in_figures(tick)}</text>'


def _in_words(title: str, lines: Sequence[Line]) -> str:
    """What the chart shows, for those who cannot see it."""
    ends = [(line.name, line.points()) for line in lines]
    told = [f"{name} from {points[0][1]:.2f} to {points[-1][1]:.2f}" for name, points in ends if points]
    return f"{title}: {', '.join(told)}"
