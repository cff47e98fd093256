"""`reproduce` on 60 generated scenes: what is kept, what is shared, what is refused."""

import json
import shlex
import shutil
from dataclasses import replace

import pytest
from small_training import VISION, run

from deepbinaries.experiments import compare as runner
from deepbinaries.experiments.cells import read_cells
from deepbinaries.experiments.paper import plans

LOOKS = [part for setting in VISION for part in ("--vision", setting)]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """One folder for all tables, as a user has it."""
    return tmp_path_factory.mktemp("paper") / "out"


@pytest.fixture
def reproduce(features, out):
    def reproducing(what, *arguments, items=60, reduced=("--reduced",), out=out):
        data = ("--dataset", "scenes", "--dataset-set", f"items={items}", "--device", "cpu", "--features", features)
        return run("reproduce", what, *data, *reduced, *LOOKS, "--out", out, *arguments)

    return reproducing


@pytest.fixture
def learnt(monkeypatch):
    """The methods that something was learnt for."""
    names, learn = [], runner.learn

    def remember(hasher, *arguments, **named):
        names.append(type(hasher).__name__)
        return learn(hasher, *arguments, **named)

    monkeypatch.setattr(runner, "learn", remember)
    return names


TWO = ("--only", "CVH", "--only", "SCM", "--bits", "8")


def test_a_table_is_left_in_four_forms_and_its_cells_say_how_they_were_made(reproduce, out, capsys):
    assert reproduce("table1", *TWO) == 0
    assert capsys.readouterr().out.split() == [
        str(out / f"table1.{ending}") for ending in ("md", "tex", "html", "json")
    ]
    content = json.loads((out / "table1.json").read_text())
    assert content["reduced"] is True
    assert len(content["numbers"]) == 2 * 2 * 2  # rows, galleries, directions
    for number in content["numbers"]:
        assert number["interval"][0] <= number["map_all"] <= number["interval"][1]
        assert number["paper"] is None
        (cell,) = number["cells"]
        assert cell["command"].startswith("deepbinaries compare scenes --out comparison --dataset-set items=60 ")
        assert {"numpy", "torch", "python", "deepbinaries"} == cell["versions"].keys()
        assert {"dataset", "split", "vision"} <= cell["digests"].keys()
    assert {cell["experiment"] for cell in read_cells(out / "cells.jsonl")} == {"paper, reduced"}


def test_the_command_of_a_number_makes_it_again(reproduce, out, features, tmp_path):
    assert reproduce("table1", *TWO) == 0
    number = json.loads((out / "table1.json").read_text())["numbers"][0]
    shutil.copytree(out / "text-features", tmp_path / "comparison" / "text-features")  # they take long to learn
    _, *command = shlex.split(number["cells"][0]["command"])
    here = ("--out", tmp_path / "comparison", "--features", features, "--device", "cpu")
    assert run(*command, *here) == 0
    cell = read_cells(tmp_path / "comparison" / "cells.jsonl")[0]
    assert (cell["map_all"], cell["direction"]) == (number["map_all"], number["direction"])


def test_what_is_there_is_not_made_again_also_for_another_figure(reproduce, out, learnt):
    assert reproduce("table1", *TWO) == 0
    learnt.clear()
    before = {path.name: path.read_bytes() for path in out.glob("table1.*")}
    assert reproduce("table1", *TWO) == 0
    assert reproduce("figure3", *TWO) == 0
    assert learnt == []
    assert before == {path.name: path.read_bytes() for path in out.glob("table1.*")}
    assert {path.suffix for path in out.glob("figure3.*")} == {".md", ".tex", ".html", ".json", ".svg", ".png"}


def test_an_interrupted_table_goes_on_where_it_was(reproduce, learnt, monkeypatch):
    shorter = (*TWO[:-1], "4")
    with monkeypatch.context() as patched:
        patched.setattr("deepbinaries.hashers.scm.SCM.fit", lambda *_, **__: _pull_the_plug())
        assert reproduce("table1", *shorter) == 130
    learnt.clear()
    assert reproduce("table1", *shorter) == 0
    assert learnt == ["SCM"]


def _pull_the_plug():
    raise KeyboardInterrupt


def test_printed_numbers_stand_beside_ours_where_the_task_is_the_papers(reproduce, out, monkeypatch):
    reading = plans.reading_of("scenes", reduced=True)
    monkeypatch.setattr(plans, "reading_of", lambda *_, **__: plans.Reading(**vars(reading) | {"paper": "iapr_tc12"}))
    assert reproduce("table1", "--only", "CVH", "--bits", "16") == 0
    for number in json.loads((out / "table1.json").read_text())["numbers"]:
        printed = {"image_to_text": 0.422, "text_to_image": 0.424}[number["direction"]]
        assert number["paper"] == (printed if number["gallery"] == "database" else None)
        if number["paper"]:
            assert number["difference"] == pytest.approx(number["map_all"] - printed, abs=1e-6)
    assert "ours − paper" in (out / "table1.md").read_text()


def test_every_k_is_seen_in_its_own_way_and_kept_beside_the_others(reproduce, out):
    assert reproduce("table1", *TWO) == 0
    assert reproduce("k", "--only", "mean, keep=0") == 0
    cells = read_cells(out / "cells.jsonl")
    assert {(cell["settings"].get("keep"), cell["proposer"]) for cell in cells} == {(None, "rpn"), (0, "none")}
    assert len({cell["digests"]["vision"] for cell in cells}) == 2


def test_figure_5_tells_the_epoch_of_the_best(reproduce, out, monkeypatch):
    assert reproduce("figure5", "--only", "TVDB-N, spectral") == 0
    (line,) = (json.loads(line) for line in (out / "epochs.jsonl").read_text().splitlines())
    epochs = line["epochs"]
    assert [epoch["epoch"] for epoch in epochs] == list(range(1, len(epochs) + 1))
    best = max(epochs, key=lambda epoch: epoch["image_to_text"])
    row = (out / "figure5.md").read_text().split("Update spectral")[1].split("| TVDB-N | ")[1].split(" | ")
    assert row[2:4] == [f"{best['image_to_text']:.3f}".removeprefix("0"), str(best["epoch"])]
    monkeypatch.setattr("deepbinaries.hashers.tvdb.TVDB.fit", lambda *_, **__: pytest.fail("learnt again"))
    assert reproduce("figure5", "--only", "TVDB-N, spectral") == 0


def test_watching_a_training_changes_nothing_in_it(reproduce, out, monkeypatch):
    from deepbinaries.experiments.paper import epochs
    from deepbinaries.hashers.tvdb import TVDB

    unwatched, fit = [], TVDB.fit

    def twice(hasher, pairs, *, log):
        fit(TVDB(hasher.settings, device="cpu"), pairs, log=unwatched.append)
        return fit(hasher, pairs, log=log)

    monkeypatch.setattr(TVDB, "fit", twice)
    assert reproduce("figure5", "--only", "TVDB-E1, gram", "--bits", "8") == 0
    (course,) = (json.loads(text) for text in (out / epochs.FILE).read_text().splitlines() if '"bits": 8' in text)
    assert [epoch["loss"] for epoch in course["epochs"]] == [entry["loss"] for entry in unwatched]


def test_times_are_measured_for_each_size_that_the_data_have(reproduce, out, capsys):
    assert reproduce("time", "--no-learn", items=240) == 2
    assert "12 times are not there" in capsys.readouterr().err
    assert reproduce("time", items=240) == 0
    lines = [json.loads(line) for line in (out / "times.jsonl").read_text().splitlines()]
    assert {line["items"] for line in lines} == {50, 100, 108}  # the last are all that are learnt from
    assert all(line["seconds"].keys() == {"batch", "first", "again", "start"} for line in lines)
    assert all(seconds > 0 for line in lines for seconds in line["seconds"].values())
    assert (out / "time.svg").exists()


def test_figure_4_names_what_the_pictures_share_with_the_sentence(reproduce, out):
    from deepbinaries.datasets import load

    assert reproduce("figure4", "--only", "SCM", "--bits", "8") == 0
    (line,) = json.loads((out / "figure4.json").read_text())["answers"]
    scenes = load("scenes", items=60)
    labels = {id_: {*scenes.labels.of(row)} for row, id_ in enumerate(scenes.ids)}
    for answer in line["answers"]:
        distances = [hit["distance"] for hit in answer["found"]]
        assert len(distances) == 5
        assert distances == sorted(distances)
        for hit in answer["found"]:
            assert {*hit["shared"]} == labels[answer["id"]] & labels[hit["id"]]
    assert (out / "figure4.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("what", "arguments", "line"),
    [
        ("table1", ("--only", "CVX"), "no row of table1 is called 'CVX'; did you mean 'CVH'"),
        ("table1", ("--bits", "0"), "--bits 0 is too small"),
        ("figure3", ("--bits", "8,16"), "figure3 is drawn at one length"),
        ("time", (), "too few to see growth"),
        ("k", ("--vision", "colour=1"), "no setting of vision is called 'colour'"),
        ("table9", (), "table9"),
    ],
)
def test_wrong_use_is_one_line_before_any_work(reproduce, tmp_path, capsys, what, arguments, line):
    assert reproduce(what, *arguments, out=tmp_path / "none") == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert line in told
    assert not (tmp_path / "none").exists()


def test_photographs_of_a_dataset_are_not_drawn(tmp_path, features, capsys):
    run("dataset", "export", "scenes", tmp_path / "photographs", "--set", "items=60")
    arguments = ("--dataset", "folder", "--root", tmp_path / "photographs", "--device", "cpu", "--features", features)
    assert run("reproduce", "figure4", *arguments, "--reduced", *LOOKS, "--out", tmp_path / "out") == 2
    assert "figure4 shows pictures" in capsys.readouterr().err


def test_whole_and_reduced_results_are_told_apart(reproduce, out):
    assert reproduce("table1", *TWO) == 0
    assert reproduce("table1", *TWO, reduced=()) == 0
    experiments = {cell["experiment"] for cell in read_cells(out / "cells.jsonl")}
    assert experiments == {"paper", "paper, reduced"}
    assert "Reduced setting" not in (out / "table1.md").read_text()


MANY = ("--only", "CVFL", "--only", "TVDB, best form", "--bits", "8,16")


def test_several_processes_make_what_one_makes(reproduce, out, tmp_path, capsys):
    assert reproduce("table1", *MANY) == 0
    other = tmp_path / "shared"
    shutil.copytree(out / "text-features", other / "text-features")  # they take long to learn
    capsys.readouterr()
    assert reproduce("table1", *MANY, "--jobs", "2", out=other) == 0
    assert ": 3 of 3 done" in capsys.readouterr().err  # CVFL has one training for all lengths
    one, several = (json.loads((folder / "table1.json").read_text())["numbers"] for folder in (out, other))
    for number in (*one, *several):
        del number["cells"][0]["seconds"]
    assert one == several
    assert (other / "table1.md").read_text() == (out / "table1.md").read_text()
    assert not (other / "jobs").exists()


def test_what_is_there_is_drawn_without_learning(reproduce, tmp_path, learnt, capsys):
    out = tmp_path / "some"
    assert reproduce("table1", "--no-learn", *TWO, out=out) == 1
    assert "table1: 2 trainings are missing; run the command again to make them" in capsys.readouterr().err
    assert not (out / "table1.md").exists()
    assert reproduce("table1", "--only", "CVH", "--bits", "8", out=out) == 0
    learnt.clear()
    assert reproduce("table1", "--no-learn", *TWO, out=out) == 1
    assert learnt == []
    page = (out / "table1.md").read_text()
    assert "Not all is here. Missing: SCM, 8 bits, seed 0." in page
    assert "| SCM |  |" in page


def test_as_many_regions_as_are_seen_anyway_are_learnt_once(reproduce, learnt, monkeypatch):
    read_plan = plans.read_plan

    def with_four_regions(*arguments, **named):  # as the tests see pictures
        plan = read_plan(*arguments, **named)
        return replace(plan, rows=tuple(replace(row, keep=4) for row in plan.rows))

    assert reproduce("table2", "--only", "TVDB-I2", "--bits", "8") == 0
    learnt.clear()
    monkeypatch.setattr(plans, "read_plan", with_four_regions)
    assert reproduce("k", "--only", "mean, keep=5", "--bits", "8") == 0
    assert learnt == []
