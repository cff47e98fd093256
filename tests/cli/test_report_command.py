import json
import shutil

import pytest
from small_training import DATA, VISION, run

from deepbinaries.experiments import compare as runner
from deepbinaries.experiments.cells import read_cells


@pytest.fixture
def report(features, tmp_path):
    """A report on 60 scenes, by a method that learns in no time."""
    looks = [part for setting in VISION for part in ("--vision", setting)]

    def reporting(*arguments, bits="8,16"):
        options = ("--method", "cvh", "--bits", bits, "--texts", "counts", "--features", features)
        return run("report", "bits", *DATA, *looks, *options, "--out", tmp_path / "out", *arguments)

    reporting.out = tmp_path / "out"
    return reporting


@pytest.fixture
def learnt(monkeypatch):
    """The lengths that something was learnt for."""
    lengths, learn = [], runner.learn

    def remember(hasher, *arguments, **named):
        lengths.append(hasher.settings.bits)
        return learn(hasher, *arguments, **named)

    monkeypatch.setattr(runner, "learn", remember)
    return lengths


def test_a_report_has_a_line_for_each_length_gallery_and_direction(report, capsys):
    assert report() == 0
    lines = [json.loads(line) for line in (report.out / "bits.jsonl").read_text().splitlines()]
    assert len({(line["bits"], line["gallery"], line["direction"]) for line in lines}) == len(lines) == 2 * 2 * 2
    cells = {(c["bits"], c["gallery"], c["direction"]): c for c in read_cells(report.out / "cells.jsonl")}
    for line in lines:
        cell = cells[line["bits"], line["gallery"], line["direction"]]
        assert (line["map_all"], line["tie_mass"]) == (cell["map_all"], cell["search"]["tie_mass"])
        assert line["milliseconds"] > 0
    sentence = capsys.readouterr().out.strip()
    assert sentence.startswith("Take ")
    for page in ("bits.md", "bits.html"):
        assert sentence in (report.out / page).read_text()


def test_a_length_that_is_there_is_not_learnt_again(report, learnt):
    assert report(bits="16") == 0
    assert report(bits="8,16") == 0
    assert learnt == [16, 8]
    kept = (report.out / "bits.jsonl").read_bytes()
    assert report(bits="8,16") == 0
    assert learnt == [16, 8]
    assert (report.out / "bits.jsonl").read_bytes() == kept


def test_a_report_shows_the_lengths_that_are_there_beside_those_that_are_asked_for(report, learnt, capsys):
    assert report(bits="8,16") == 0
    assert report(bits="4") == 0
    assert learnt == [8, 16, 4]
    lines = [json.loads(line) for line in (report.out / "bits.jsonl").read_text().splitlines()]
    assert [line["bits"] for line in lines] == [4] * 4 + [8] * 4 + [16] * 4
    rows = [line for line in (report.out / "bits.md").read_text().splitlines() if line.startswith("| ")]
    assert sorted({int(row.strip("|* ").split()[0].strip("*")) for row in rows if "[" in row}) == [4, 8, 16]
    capsys.readouterr()
    assert report("--json", bits="8") == 0
    assert {line["bits"] for line in json.loads(capsys.readouterr().out)["lines"]} == {4, 8, 16}


def test_results_of_other_settings_are_not_of_a_report(report):
    assert report(bits="8") == 0
    assert report("--set", "regularisation=0.5", bits="16") == 0
    lines = [json.loads(line) for line in (report.out / "bits.jsonl").read_text().splitlines()]
    assert {line["bits"] for line in lines} == {16}


def test_a_length_without_what_queries_scored_is_not_learnt_again_unasked(report, learnt):
    assert report(bits="8") == 0
    shutil.rmtree(report.out / "scores")
    assert report(bits="16") == 0
    assert learnt == [8, 16]


def test_settings_reach_the_method_and_the_command_that_is_kept(report):
    assert report("--set", "regularisation=0.5", bits="8") == 0
    cell = read_cells(report.out / "cells.jsonl")[0]
    assert cell["settings"]["regularisation"] == 0.5
    assert "--methods cvh --bits 8" in cell["command"]
    assert cell["command"].endswith("--set cvh.regularisation=0.5")


def test_json_has_the_length_the_sentence_and_the_lines(report, capsys):
    assert report("--json", bits="8") == 0
    told = json.loads(capsys.readouterr().out)
    assert told.keys() == {"bits", "recommendation", "lines"}
    assert len(told["lines"]) == 4


@pytest.mark.parametrize(
    ("method", "told"),
    [("cca", "cca gives real values and no bits; choose a method"), ("cvh,scm-seq", "a report is on one method")],
)
def test_what_has_no_bits_or_is_not_one_method_is_refused(report, capsys, method, told):
    assert report("--method", method) == 2
    assert told in capsys.readouterr().err
