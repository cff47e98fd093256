"""Drawings for a paper, as SVG and PNG, by matplotlib; the same numbers give the same files.

That is with the same versions: another one of matplotlib may move a line, and one of Pillow packs a PNG otherwise.
"""

import math
import re
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from deepbinaries.errors import MissingExtraError
from deepbinaries.experiments.charts import Line
from deepbinaries.files import written_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = 3.3, 2.6  # inches; two of them are as wide as a page's text
DOTS = 200  # an inch of the PNG
# Ten colours that those who see colours differently tell apart, then the same with dashes.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6a3d9a", "#8c564b", "#000000", "#7f7f7f")
# Of quiet lines: twenty pairs of a tint and dashes. Dashes over a line of another tint leave both to be seen.
TINTS = "#7f93ab", "#b89b6a", "#8f8f8f", "#a98aa8", "#84a088"
DASHES: tuple[Any, ...] = "-", (0, (4, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5))
LOUD = {"linewidth": 2.4, "markersize": 5, "zorder": 1.9}  # below the others, which are too thin to hide it
PLAIN = {"linewidth": 1.1, "markersize": 2.5}
CHANCE = "chance"
QUALITY = 64  # of a JPEG
PICTURES = re.compile(rb"data:image/png;base64,([A-Za-z0-9+/=\s]+)")  # inside an SVG
COORDINATES = re.compile(rb'(?<= d=")[^"]+|(?<= [xy]=")[^"]+')
UNSEEN = re.compile(rb"(?<=\n)[ ]+|[ ]*<!--(?:(?!-->).)*-->\n", re.DOTALL)  # of an SVG: indents and comments
OF_LINES = 64  # colours that lines and letters take, soft edges included
FINE = re.compile(rb"-?\d+\.\d{3,}")  # a number with more digits than can be seen
STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.alpha": 0.3,
    "svg.hashsalt": "deepbinaries",  # names inside an SVG would be drawn anew each time
    "svg.fonttype": "none",  # texts stay texts
}


@dataclass(frozen=True)
class Panel:
    """One pair of axes with its lines."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    logarithmic: str = ""  # "x", "y" or "xy"
    marks: bool = True  # whether points are marked
    chance: float | None = None  # a dotted line across
    x_ticks: Sequence[float] = ()  # where the x axis has numbers; (): at round ones
    y_range: tuple[float, float] | None = None  # None: all points fit in
    loud: Collection[str] = ()  # the names of lines that stand out
    quiet: Collection[str] = ()  # and of those that step back


def draw(panels: Sequence[Panel], path: Path, *, columns: int = 2, heading: str = "") -> None:
    """Write the panels, row after row, as `path` with the endings .svg and .png; one legend serves all of them.

    The `heading` stands above all panels, and a line looks the same in each.
    """
    rows = math.ceil(len(panels) / columns)
    with _style():
        figure = new_figure(PANEL[0] * columns, PANEL[1] * rows + (0.75 if heading else 0.5))
        axes = figure.subplots(rows, columns, squeeze=False).flatten()
        looks = _looks(panels)
        for panel, axis in zip(panels, axes, strict=False):
            _draw(panel, axis, looks)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        if heading:
            figure.suptitle(heading)
        shown = {text: line for axis in axes for line, text in zip(*axis.get_legend_handles_labels(), strict=True)}
        names = [name for name in (*looks, CHANCE) if name in shown]
        figure.legend([shown[n] for n in names], names, loc="outside lower center", ncols=min(6, len(names)))
        save(figure, path)


def check_matplotlib() -> None:
    """Refuse what is to be drawn where nothing can be, before hours are spent on it."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as missing:
        raise MissingExtraError("matplotlib", "train") from missing


def new_figure(width: float, height: float) -> "Figure":
    """An empty drawing, in inches."""
    check_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: "Figure", path: Path) -> None:
    """Write a drawing as SVG and PNG."""
    drawn, pixels = BytesIO(), BytesIO()
    with _style():
        figure.savefig(drawn, format="svg", dpi=DOTS, metadata={"Date": None})
        figure.savefig(pixels, format="png", dpi=DOTS)
    with written_whole(path.with_suffix(".svg")) as file:
        small = COORDINATES.sub(_to_hundredths, PICTURES.sub(_as_jpeg, drawn.getvalue()))
        file.write(UNSEEN.sub(b"", small))
    with written_whole(path.with_suffix(".png")) as file:
        # A palette takes a third of the bytes, or less; this one has the colours that few pixels have as well.
        photographs = any(axis.images for axis in figure.axes)
        all_ = Image.open(pixels).convert("RGB")
        few = all_.quantize(256 if photographs else OF_LINES, Image.Quantize.MAXCOVERAGE, kmeans=3)
        few.save(file, format="PNG", optimize=True, dpi=(DOTS, DOTS))


def _as_jpeg(picture: re.Match[bytes]) -> bytes:
    """A picture inside an SVG, in a fifth of the bytes that it has as a PNG of all colours."""
    written = BytesIO()
    Image.open(BytesIO(b64decode(picture[1]))).convert("RGB").save(written, "JPEG", quality=QUALITY, optimize=True)
    return b"data:image/jpeg;base64," + b64encode(written.getvalue())


def _to_hundredths(coordinates: re.Match[bytes]) -> bytes:
    """Coordinates inside an SVG to a hundredth of a point, which nobody sees, in fewer bytes."""
    return FINE.sub(lambda number: f"{round(float(number[0]), 2) + 0.0:g}".encode(), coordinates[0])


def _looks(panels: Sequence[Panel]) -> dict[str, dict[str, Any]]:
    """How each line is drawn, by its name; colours go to the loud first, tints to the quiet."""
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    loud = [name for name in names if any(name in panel.loud for panel in panels)]
    pale = [name for name in names if any(name in panel.quiet for panel in panels)]
    coloured = [*loud, *(name for name in names if name not in {*loud, *pale})]
    looks = dict[str, dict[str, Any]]()
    for number, name in enumerate(coloured):
        looks[name] = {"color": COLOURS[number % len(COLOURS)], "linestyle": "-" if number < len(COLOURS) else "--"}
        looks[name] |= LOUD if name in loud else PLAIN
    for number, name in enumerate(pale):
        looks[name] = PLAIN | {"color": TINTS[number % len(TINTS)], "linestyle": DASHES[number % len(DASHES)]}
    return {name: looks[name] for name in names}


def _draw(panel: Panel, axis: "Axes", looks: Mapping[str, Mapping[str, Any]]) -> None:
    for line in panel.lines:
        points = line.points()
        alone = len(set(points)) == 1  # a line of no length, as of codes that are all the same
        axis.plot(
            [x for x, _ in points],
            [y for _, y in points],
            label=line.name,
            marker="o" if panel.marks or alone else None,
            **looks[line.name],
        )
    if panel.chance is not None:
        axis.axhline(panel.chance, label=CHANCE, color="#7f7f7f", linestyle=":", linewidth=1)
    if "x" in panel.logarithmic:
        axis.set_xscale("log")
    if "y" in panel.logarithmic:
        axis.set_yscale("log")
    if panel.x_ticks:
        axis.set_xticks(panel.x_ticks, [f"{tick:,g}" for tick in panel.x_ticks], rotation=45)
        axis.set_xticks([], minor=True)  # a logarithmic axis has some of its own, with numbers that overlap
    if panel.y_range is not None:
        axis.set_ylim(panel.y_range)
    axis.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)


def _style() -> AbstractContextManager[None]:
    check_matplotlib()
    from matplotlib import rc_context

    return rc_context(STYLE)
