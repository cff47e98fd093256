"""Drawings: which lines stand out, which step back, and what stands once for all panels."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from deepbinaries.experiments.charts import Line
from deepbinaries.experiments.paper.figures import Panel, draw

NAMES = [f"line {number}" for number in range(15)]
LINES = [Line(name, [0, 1], [number, number]) for number, name in enumerate(NAMES)]
PANEL = Panel("one", "x", "y", LINES, marks=False, loud=NAMES[12:14], quiet=NAMES[:12])


@pytest.fixture
def drawn(tmp_path):
    """Draws panels and gives back the SVG."""

    def drawing(panels, **named):
        draw(panels, tmp_path / "figure", **named)
        return (tmp_path / "figure.svg").read_text()

    return drawing


def looks(svg):
    """How each line of the legend looks: its colour, its dashes and its width."""
    styles = re.findall(r'style="fill: none; ([^"]+)"', svg.split('id="legend_1"')[1])
    found = [dict(part.split(": ", 1) for part in style.split("; ")) for style in styles]
    return [(look["stroke"], look.get("stroke-dasharray"), float(look["stroke-width"])) for look in found]


def test_loud_lines_are_thick_and_no_two_lines_look_the_same(drawn):
    found = looks(drawn([PANEL]))
    assert len(set(found)) == len(NAMES)
    widths = Counter(width for _, _, width in found)
    assert widths[max(widths)] == 2
    loud = {colour for colour, _, width in found if width == max(widths)}
    assert not loud & {colour for colour, _, width in found if width < max(widths)}


def test_a_line_that_is_missing_in_the_first_panel_looks_as_it_does_elsewhere(drawn):
    assert looks(drawn([replace(PANEL, lines=LINES[:1]), PANEL])) == looks(drawn([PANEL]))


def test_chance_is_in_the_legend_once_where_it_is_drawn(drawn):
    assert drawn([replace(PANEL, chance=3.5)] * 2).count(">chance</text>") == 1
    assert ">chance</text>" not in drawn([PANEL])


def test_a_heading_stands_above_all_panels_once(drawn):
    assert drawn([PANEL] * 2, heading="gallery clean, 128 bits").count(">gallery clean, 128 bits</text>") == 1
