"""Charts: what is drawn where, and nothing that a name could break."""

import re
from xml.etree import ElementTree

import pytest

from deepbinaries.experiments.charts import Line, line_chart, ticks


def chart(*lines: Line, **ranges) -> ElementTree.Element:
    return ElementTree.fromstring(line_chart(lines, title="T", x_label="x", y_label="y", **ranges))  # noqa: S314 - ours


def points_of(svg: ElementTree.Element) -> list[list[tuple[float, float]]]:
    lines = [line.get("points", "") for line in svg.iter("polyline")]
    return [[tuple(map(float, point.split(","))) for point in line.split()] for line in lines]


def test_larger_values_lie_to_the_right_and_above():
    ((x0, y0), (x1, y1)) = points_of(chart(Line("a", [0, 1], [0, 1])))[0]
    assert x0 < x1
    assert y0 > y1  # the y axis of a picture points down


def test_values_lie_where_the_ticks_say():
    svg = chart(Line("a", [0.2, 0.6], [0.4, 0.8]), x_range=(0, 1), y_range=(0, 1))
    places = {
        text.text: float(text.get("x"))
        for text in svg.iter("text")
        if text.get("text-anchor") == "middle" and text.get("x")
    }
    assert [x for x, _ in points_of(svg)[0]] == [places["0.2"], places["0.6"]]


def test_every_line_is_named_in_the_legend():
    names = [text.text for text in chart(Line("first", [0], [0]), Line("second", [1], [1])).iter("text")]
    assert {"first", "second"} <= set(names)


def test_a_long_legend_takes_a_second_row():
    wide = [Line("a name of some length", [0, 1], [0, 1])] * 2
    rows = {text.get("y") for text in chart(*wide).iter("text") if text.text == wide[0].name}
    assert len(rows) == 2


def test_points_that_are_not_finite_are_left_out():
    assert len(points_of(chart(Line("a", [0, 1, 2], [0, float("nan"), 1])))[0]) == 2


@pytest.mark.parametrize("line", [Line("none", [], []), Line("one", [3], [5]), Line("flat", [0, 1], [2, 2])])
def test_lines_without_extent_can_be_drawn(line):
    assert len(points_of(chart(line))[0]) == len(line.x)


def test_what_is_seen_is_also_told_in_words():
    assert chart(Line("MAP", [0, 1], [0.25, 0.75])).get("aria-label") == "T: MAP from 0.25 to 0.75"


def test_names_cannot_add_elements():
    text = line_chart([Line("<b>&", [0], [0])], title='"<i>', x_label="<u>", y_label="<s>")
    assert not re.search("<[bius]>", text)
    assert ElementTree.fromstring(text).get("aria-label").startswith('"<i>')  # noqa: S314 - ours


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 10, [0, 2, 4, 6, 8, 10]), (0.31, 0.69, [0.4, 0.5, 0.6]), (-1, 1, [-1.0, -0.5, 0.0, 0.5, 1.0])],
)
def test_ticks_are_round_numbers_inside_the_range(low, high, expected):
    assert ticks(low, high) == expected


def test_equal_ratios_are_equal_steps_on_a_logarithmic_axis():
    line = Line("speed", [1, 10, 100], [1, 1, 1])
    chart = line_chart([line], title="T", x_label="x", y_label="y", logarithmic="x")
    polyline = ElementTree.fromstring(chart).find("polyline")  # noqa: S314 - ours
    first, middle, last = (float(point.split(",")[0]) for point in polyline.get("points").split())
    assert middle - first == pytest.approx(last - middle)
