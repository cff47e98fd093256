"""Ours beside the paper's, from numbers that one computes in the head."""

import base64
import io
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from deepbinaries.experiments.charts import Line
from deepbinaries.experiments.comparison_table import Column
from deepbinaries.experiments.paper import running
from deepbinaries.experiments.paper.figures import Panel, draw, new_figure, save
from deepbinaries.experiments.paper.plans import Plan, Row
from deepbinaries.experiments.paper.running import Progress
from deepbinaries.experiments.paper.tables import Number, content_of, notes_of, panels_of, sheets_of, sizes_of

CELL = {
    "seed": 0,
    "seconds": 1.0,
    "command": "deepbinaries compare",
    "digests": {"dataset": "d", "codes": "c"},
    "curve": {"precision": [1, 0.5], "recall": [0, 1]},
    "map_500": {"value": 0.7, "divisor": "min", "chance": 0.2},
}
ROWS = (Row("good", "cvh", "CVH"), Row("bad", "scm-seq", "SCM"))
PLAN = Plan("table1", "A table", "table", ROWS, (16,), (0,))
MEANS = {"good": 0.75, "bad": 0.5}


def numbers(paper, rows=ROWS):
    return {
        (row.name, Column(gallery, 16, direction)): Number(MEANS[row.name], (0.4, 0.8), 0.25, beside, [CELL])
        for gallery, beside in (("database", paper), ("clean", None))
        for direction in ("image_to_text", "text_to_image")
        for row in rows
    }


def test_the_printed_value_and_the_difference_stand_beside_ours():
    sheet = next(sheets_of(PLAN, numbers(0.6)))
    assert list(sheet.head) == ["row", "16 bits", "paper", "ours − paper"]
    assert [[cell.line for cell in row] for row in sheet.rows] == [
        ["good", ".750 [.400, .800]", ".600", "+.150"],
        ["bad", ".500 [.400, .800]", ".600", "−.100"],
    ]
    assert "chance .250" in sheet.caption


def test_only_the_best_of_a_column_is_strong():
    sheet = next(sheets_of(PLAN, numbers(None)))
    assert [row[1].strong for row in sheet.rows] == [True, False]


def test_where_nothing_is_printed_there_is_no_column_for_it():
    assert [len(sheet.head) for sheet in sheets_of(PLAN, numbers(0.6))] == [4, 4, 2, 2]  # database twice, clean twice


def test_a_number_says_how_it_was_made():
    content = content_of(PLAN, numbers(0.6))
    number = next(n for n in content["numbers"] if n["row"] == "bad" and n["paper"] is not None)
    assert (number["paper"], number["difference"], number["chance"]) == (0.6, pytest.approx(-0.1), 0.25)
    training = {"seed": 0, "seconds": 1.0, "command": "deepbinaries compare", "digests": {"dataset": "d"}}
    assert [content["trainings"][place] for place in number["trainings"]] == [training]


def test_a_number_has_the_mean_of_its_first_500_ranks_beside_that_of_all():
    of_other = CELL | {"map_500": {"value": 0.6, "divisor": "min", "chance": 0.2}}
    found = {place: replace(number, cells=[CELL, of_other]) for place, number in numbers(None).items()}
    (first, *_) = content_of(PLAN, found)["numbers"]
    assert first["map_500"] == {"value": 0.65, "divisor": "min", "chance": 0.2}


def test_a_training_is_told_once_for_all_of_its_numbers():
    other = CELL | {"seconds": 2.0}
    found = numbers(0.6)
    for (name, column), of in found.items():
        found[name, column] = replace(of, cells=[CELL | {"digests": {"dataset": "d", "codes": column.direction}}])
    of_bad = [place for place in found if place[0] == "bad"]
    found |= {place: replace(found[place], cells=[other]) for place in of_bad}
    content = content_of(PLAN, found)
    assert [training["seconds"] for training in content["trainings"]] == [1.0, 2.0]
    assert {(n["row"], *n["trainings"]) for n in content["numbers"]} == {("good", 0), ("bad", 1)}


def test_misprints_are_told_with_the_tables_they_are_in():
    assert any("Misprint" in note for note in notes_of(PLAN, "iapr_tc12"))
    assert notes_of(PLAN, "") == ["The paper has no numbers for this task."]


def test_a_page_says_how_many_items_are_searched_ask_and_are_learnt_from():
    parts = SimpleNamespace(query=range(20), train=range(1000), gallery={"database": range(1500)}.get)
    told = sizes_of(parts, "iapr_tc12")
    assert told.endswith("in the paper 18,000; 2,200; 5,000; here 1,500; 20; 1,000.")


def test_a_table_has_no_figure_and_a_sweep_has_a_line_for_its_rows():
    rows = tuple(replace(row, line="all", at=at) for row, at in zip(ROWS, (1.0, 10.0), strict=True))
    assert panels_of(PLAN, numbers(None)) == []
    panel, *_ = panels_of(replace(PLAN, drawn="sweep", varied="eta", rows=rows), numbers(None))
    assert panel.lines == [Line("all", [1.0, 10.0], [0.75, 0.5])]
    assert (panel.logarithmic, panel.chance) == ("x", 0.25)


def test_an_axis_with_a_zero_is_not_logarithmic():
    rows = tuple(replace(row, line="all", at=at) for row, at in zip(ROWS, (0.0, 10.0), strict=True))
    assert panels_of(replace(PLAN, drawn="sweep", rows=rows), numbers(None))[0].logarithmic == ""


def with_curves(curves):
    """Numbers whose curves are precision by recall, in turn."""
    found = numbers(None)
    cells = [CELL | {"curve": {"recall": [*curve], "precision": [*curve.values()]}} for curve in curves]
    return {place: replace(n, cells=[cells[i % len(cells)]]) for i, (place, n) in enumerate(found.items())}


def test_precision_is_drawn_against_recall_from_where_it_is_more_than_that_of_a_few_items():
    panel = panels_of(replace(PLAN, drawn="precision-recall"), with_curves([{0.0005: 0.1, 0.001: 1, 1: 0.5}]))[0]
    assert panel.lines[0] == Line("good", [0.001, 1], [1, 0.5])


def test_tvdb_stands_out_among_the_lines_of_precision_and_methods_without_networks_step_back():
    rows = (*ROWS, Row("deep", "dcmh", "DCMH"), Row("ours", "tvdb-lstm", "TVDB"))
    panel, *_ = panels_of(replace(PLAN, drawn="precision-recall", rows=rows), with_curves([{0.1: 1, 1: 0.5}]))
    assert (panel.loud, panel.quiet) == (["ours"], ["good", "bad"])


def test_the_page_of_a_figure_says_where_its_points_are():
    notes = notes_of(replace(PLAN, drawn="precision-recall"), "")
    assert any(note.endswith("Their points are the curve of each line of cells.jsonl.") for note in notes)


def test_all_panels_of_precision_have_one_scale_in_which_every_point_fits():
    found = with_curves([{0.0001: 0.0, 0.2: 0.9, 1: 0.6}, {0.2: 0.8, 1: 0.5}, {0.1: 0.7, 1: 0.6}])
    panels = panels_of(replace(PLAN, drawn="precision-recall"), found)
    (y_range,) = {panel.y_range for panel in panels}
    assert y_range == pytest.approx((0.488, 0.912))  # from .5 to .9, and a little room


def test_the_same_lines_give_the_same_files(tmp_path):
    panels = [Panel("one", "x", "y", [Line("a", [1, 2], [3, 4])], chance=3.5)] * 3
    for name in ("first", "second"):
        draw(panels, tmp_path / name)
    for ending in ("svg", "png"):
        first, second = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("first", "second"))
        assert first == second
    assert (tmp_path / "first.png").read_bytes().startswith(b"\x89PNG")


def test_an_axis_has_its_numbers_where_it_is_told_to_and_nowhere_else(tmp_path):
    sizes = [500, 1000, 2000, 5000, 13500]  # between which a logarithmic axis would find some of its own
    draw([Panel("one", "x", "y", [Line("a", sizes, sizes)], logarithmic="xy", x_ticks=sizes)], tmp_path / "times")
    texts = re.findall(r">([^<>]+)</text>", (tmp_path / "times.svg").read_text())
    assert texts[: texts.index("x")] == ["500", "1,000", "2,000", "5,000", "13,500"]


def test_a_drawing_has_fine_numbers_in_its_texts_alone(tmp_path):
    line = Line("a", [1.23456, 2.34567], [3.45678, 4.56789])
    draw([Panel("of 0.0001", "x", "y", [line])], tmp_path / "fine")
    text = (tmp_path / "fine.svg").read_text()
    assert ">of 0.0001</text>" in text
    assert re.findall(r'(?<= d=")[^"]+', text)
    assert not [found for found in re.findall(r' (?:d|x|y)="([^"]+)', text) if re.search(r"\.\d{3}", found)]


def test_a_drawing_of_lines_has_few_colours_and_no_indents_or_comments(tmp_path):
    lines = [Line(f"line {n}", [1, 2], [n, n + 1]) for n in range(8)]
    draw([Panel("a  title  of -- spaces", "x", "y", lines)], tmp_path / "lines")
    text = (tmp_path / "lines.svg").read_text()
    assert ">a  title  of -- spaces</text>" in text
    assert "<!--" not in text
    assert not [line for line in text.splitlines() if line.startswith(" ")]
    with Image.open(tmp_path / "lines.png") as drawing:
        assert len(drawing.convert("RGB").getcolors()) <= 64


def middle_of(file):
    """The colour of a picture's middle."""
    with Image.open(file) as picture:
        return picture.convert("RGB").getpixel((picture.width // 2, picture.height // 2))


def test_a_picture_in_a_drawing_keeps_colours_that_are_rare_and_few_bytes(tmp_path):
    rng, purple = np.random.default_rng(0), (112, 48, 160)
    picture = rng.integers(0, 255, (200, 200, 1)) // 8 + np.array([120, 160, 200])  # a sky, of many colours
    picture[90:110, 90:110] = purple
    figure = new_figure(1, 1)
    axis = figure.subplots()
    axis.imshow(picture.astype(np.uint8))
    axis.set_axis_off()
    save(figure, tmp_path / "scene")
    assert np.abs(np.subtract(middle_of(tmp_path / "scene.png"), purple)).max() < 8
    text = (tmp_path / "scene.svg").read_text()
    assert "data:image/jpeg;base64," in text
    assert "data:image/png" not in text
    inside = io.BytesIO(base64.b64decode(re.search(r"base64,([\w+/=]+)", text)[1]))
    assert np.abs(np.subtract(middle_of(inside), purple)).max() < 8


def test_what_is_missing_is_blank_and_leaves_the_others_as_they_are():
    some = {
        (name, column._replace(bits=bits)): number
        for (name, column), number in numbers(None).items()
        for bits in (16, 64)
        if (name, bits) != ("bad", 64)
    }
    sheet = next(sheets_of(replace(PLAN, bits=(16, 64)), some))
    assert [[cell.line for cell in row] for row in sheet.rows] == [
        ["good", ".750 [.400, .800]", ".750 [.400, .800]"],
        ["bad", ".500 [.400, .800]", ""],
    ]


def test_a_row_and_a_length_of_which_nothing_is_there_are_left_out():
    some = {place: number for place, number in numbers(0.6).items() if place[0] == "good"}
    sheet = next(sheets_of(replace(PLAN, bits=(16, 64)), some))
    assert list(sheet.head) == ["row", "16 bits", "paper", "ours − paper"]
    assert [[cell.line for cell in row] for row in sheet.rows] == [["good", ".750 [.400, .800]", ".600", "+.150"]]
    rows = tuple(replace(row, line="all", at=at) for row, at in zip(ROWS, (1.0, 10.0), strict=True))
    panel, *_ = panels_of(replace(PLAN, drawn="sweep", rows=rows), some)
    assert panel.lines == [Line("all", [1.0], [0.75])]
    panel, *_ = panels_of(replace(PLAN, drawn="precision-recall"), some)
    assert [line.name for line in panel.lines] == ["good"]


def test_what_was_there_already_says_nothing_about_the_time_that_is_left(monkeypatch):
    now = iter([100.0, 110.0, 130.0])
    monkeypatch.setattr(running.time, "monotonic", lambda: next(now))
    told = []
    progress = Progress("table1", 5, told.append, there=2)
    progress.done("CVH, 16 bits")
    progress.failed("SCM, 16 bits", "no memory")
    progress.done("IMH, 16 bits")
    assert told == [
        "table1: CVH, 16 bits: 3 of 5 done, about 20 s left",  # one took ten seconds, two are left
        "table1: SCM, 16 bits failed: no memory",
        "table1: IMH, 16 bits: 4 of 5 done",
    ]
