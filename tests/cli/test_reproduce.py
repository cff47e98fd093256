"""`reproduce` on 60 generated scenes: what is kept, what is shared, what is refused."""

import json
import re
import shlex
import shutil
import sys
from dataclasses import replace

import pytest
from small_training import VISION, run

from deepbinaries.evaluation import compare
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


def told_of_all_links(page):
    """What a page tells of how its numbers were made, each of which is linked to from a number, and none is missing."""
    text = page.read_text()
    links, told = (set(re.findall(pattern, text)) for pattern in (r'href="#(\w+)"', r'<dt id="(\w+)"'))
    assert links == told != set()
    return re.findall(r"<(?:dt|dd|p)\b[^>]*>(.*?)</", text.split("<h2>How each number was made</h2>")[1])


def numbers_of(folder, bits=8, rows=("CVH", "SCM")):
    """The numbers of some rows of table 1 at a length, each with its trainings; the folder may have more."""
    return [number for number in all_numbers_of(folder) if number["bits"] == bits and number["row"] in rows]


def all_numbers_of(folder):
    content = json.loads((folder / "table1.json").read_text())
    trainings = content["trainings"]
    return [n | {"trainings": [dict(trainings[place]) for place in n["trainings"]]} for n in content["numbers"]]


def test_a_table_is_left_in_four_forms_and_its_cells_say_how_they_were_made(reproduce, out, capsys):
    assert reproduce("table1", *TWO) == 0
    assert capsys.readouterr().out.split() == [
        str(out / f"table1.{ending}") for ending in ("md", "tex", "html", "json")
    ]
    content = json.loads((out / "table1.json").read_text())
    assert content["reduced"] is True
    assert len(numbers_of(out)) == 2 * 2 * 2  # rows, galleries, directions
    for number in numbers_of(out):
        assert number["interval"][0] <= number["map_all"] <= number["interval"][1]
        assert number["paper"] is None
        (cell,) = number["trainings"]
        assert cell["command"].startswith("deepbinaries compare scenes --out comparison --dataset-set items=60 ")
        assert {"numpy", "torch", "python", "deepbinaries"} == cell["versions"].keys()
        assert {"dataset", "split", "vision"} <= cell["digests"].keys()
        assert {"processor", "cores", "device", "jobs"} <= cell["machine"].keys()
        assert (cell["proposer"], cell["rule"]) == ("rpn", "all")
    assert "How each number was made stands in [table1.json](table1.json)" in (out / "table1.md").read_text()
    assert "numpy" in " ".join(told_of_all_links(out / "table1.html"))
    assert {cell["experiment"] for cell in read_cells(out / "cells.jsonl")} == {"paper, reduced"}


def test_without_a_folder_results_go_to_one_of_the_datasets_name(features, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = ("--dataset", "scenes", "--dataset-set", "items=60", "--device", "cpu", "--features", features, *LOOKS)
    assert run("reproduce", "table1", *data, "--reduced", *TWO) == 0
    written = [f"reproduced/scenes-reduced/table1.{ending}" for ending in ("md", "tex", "html", "json")]
    assert capsys.readouterr().out.split() == written
    assert all((tmp_path / path).exists() for path in written)
    assert run("reproduce", "table1", *data, *TWO) == 0
    assert capsys.readouterr().out.split()[0] == "reproduced/scenes/table1.md"


def test_help_names_all_tables_and_figures(capsys):
    assert run("reproduce", "--help") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"One of {', '.join(plans.NAMES[:-1])} and {plans.NAMES[-1]}." in told


def test_a_part_of_a_dataset_that_is_too_small_for_the_papers_split_may_have_another(
    reproduce, tmp_path, monkeypatch, capsys
):
    reading = plans.reading_of("scenes")
    monkeypatch.setattr(plans, "reading_of", lambda *_, **__: replace(reading, split="iapr-tvdb"))
    assert reproduce("table1", *TWO, out=tmp_path / "none") == 3
    (told,) = capsys.readouterr().err.splitlines()
    assert told.endswith(", or give another --split, such as fraction:0.1")
    assert reproduce("table1", *TWO, "--split", "iapr-tvdb", out=tmp_path / "none") == 3
    assert "fraction:0.1" not in capsys.readouterr().err


def test_the_command_of_a_number_makes_it_again(reproduce, out, features, tmp_path):
    assert reproduce("table1", *TWO) == 0
    number = numbers_of(out)[0]
    shutil.copytree(out / "text-features", tmp_path / "comparison" / "text-features")  # they take long to learn
    _, *command = shlex.split(number["trainings"][0]["command"])
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


def test_what_a_power_cut_has_torn_is_told_of_and_made_again(reproduce, tmp_path, learnt, capsys):
    out, one = tmp_path / "torn", ("--only", "CVH", "--bits", "8")
    assert reproduce("table1", *one, out=out) == 0
    whole = (out / "cells.jsonl").read_text()
    (out / "cells.jsonl").write_text(whole[:-100])
    learnt.clear()
    capsys.readouterr()
    assert reproduce("table1", *one, out=out) == 0
    told = capsys.readouterr().err.splitlines()
    (line,) = (line for line in told if "torn" in line)
    assert line.endswith("cells.jsonl, line 4, is torn, as by a power cut, and counts as not there")
    assert learnt == ["CVH"]
    assert len(read_cells(out / "cells.jsonl")) == 4


def _pull_the_plug():
    raise KeyboardInterrupt


def test_printed_numbers_stand_beside_ours_where_the_task_is_the_papers(reproduce, out, monkeypatch):
    as_the_paper(monkeypatch)
    assert reproduce("table1", "--only", "CVH", "--bits", "16", reduced=()) == 0
    for number in numbers_of(out, bits=16):
        printed = {"image_to_text": 0.422, "text_to_image": 0.424}[number["direction"]]
        assert number["paper"] == (printed if number["gallery"] == "database" else None)
        if number["paper"]:
            assert number["difference"] == pytest.approx(number["map_all"] - printed, abs=1e-6)
    assert "ours − paper" in (out / "table1.md").read_text()


def test_printed_numbers_do_not_stand_beside_toy_networks(reproduce, out, monkeypatch):
    as_the_paper(monkeypatch)
    assert reproduce("table1", "--only", "CVH", "--bits", "16") == 0
    assert {number["paper"] for number in numbers_of(out, bits=16)} == {None}


def as_the_paper(monkeypatch):
    """Read scenes as if they were a dataset of the paper's."""
    reading = plans.reading_of("scenes")
    monkeypatch.setattr(plans, "reading_of", lambda *_, **__: replace(reading, paper="iapr_tc12"))


def test_every_k_is_seen_in_its_own_way_and_kept_beside_the_others(reproduce, out):
    assert reproduce("table1", *TWO) == 0
    assert reproduce("k", "--only", "mean, K=0") == 0
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
    told = shlex.join(told_of_all_links(out / "figure5.html"))
    assert "reproduce figure5 --dataset scenes --out paper --reduced --dataset-set items=60" in told
    assert "TVDB-N, spectral" in told
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
    assert reproduce("time", "--no-learn", items=240) == 1
    assert "time: 12 results are missing; leave --no-learn out to make them" in capsys.readouterr().err
    assert reproduce("time", items=240) == 0
    lines = [json.loads(line) for line in (out / "times.jsonl").read_text().splitlines()]
    assert {line["items"] for line in lines} == {50, 100, 108}  # the last are all that are learnt from
    assert {line["counted"] for line in lines} == {"the least of the repeats"}
    assert "gram, 50 items, " in " ".join(told_of_all_links(out / "time.html"))
    heads = [line for line in (out / "time.md").read_text().splitlines() if line.startswith("| update ")]
    assert ["grows with" in head for head in heads] == [False, True, True, True]  # a batch is as large whatever the set
    assert all(line["seconds"].keys() == {"batch", "first", "again", "start"} for line in lines)
    assert all(seconds > 0 for line in lines for seconds in line["seconds"].values())
    assert (out / "time.svg").exists()
    assert "All times here are of a CPU. A measurement on a GPU, " in (out / "time.md").read_text()


def test_a_line_that_holds_no_time_is_refused_in_one_line(reproduce, tmp_path, capsys):
    out = tmp_path / "times"
    assert reproduce("time", items=240, out=out) == 0
    lines = [json.loads(line) | {"machine": "x86_64"} for line in (out / "times.jsonl").read_text().splitlines()]
    (out / "times.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    capsys.readouterr()
    assert reproduce("time", "--no-learn", items=240, out=out) == 3
    (told,) = capsys.readouterr().err.splitlines()
    assert "times.jsonl, line 1, is no result; remove the line, or the file" in told


def test_a_table_of_times_is_of_one_machine_and_shows_what_is_there(reproduce, tmp_path, capsys):
    out, of_another = tmp_path / "times", []
    assert reproduce("time", items=240, out=out) == 0
    own = (out / "times.jsonl").read_text().splitlines()
    for line in map(json.loads, own):
        seconds = dict.fromkeys(line["seconds"], 7.0)
        line["machine"] |= {"device": "A Machine", "processor": "of a name that no panel has room for in a line"}
        of_another.append(json.dumps(line | {"seconds": seconds}))
    (out / "times.jsonl").write_text("\n".join([*own, *of_another[1:]]) + "\n")
    capsys.readouterr()
    assert reproduce("time", "--no-learn", items=240, out=out) == 1
    assert "time: 1 results are missing" in capsys.readouterr().err
    page = (out / "time.md").read_text()
    assert "Not here yet: spectral, 50 items on A Machine" in page
    assert "All times here are of a CPU" not in page
    captions = [line for line in page.splitlines() if line.startswith("Seconds of")]
    assert ["A Machine" in caption for caption in captions] == [False] * 4 + [True] * 4
    tables = page.split("\nSeconds of")[1:]
    assert all((" 7.0 |" in table) == ("A Machine" in table) for table in tables)
    assert "| spectral |  | 7.0 | 7.0 |" in tables[-1]
    titles = [text for text in re.findall(r">([^<]*)</text>", (out / "time.svg").read_text()) if " name " in text]
    assert len(titles) == 4
    assert max(map(len, titles)) <= 36  # or it runs into the panel beside it
    assert reproduce("time", items=240, out=out) == 0  # of this machine nothing is missing


def test_figure_4_names_what_the_pictures_share_with_the_sentence(reproduce, out):
    from deepbinaries.datasets import load

    assert reproduce("figure4", "--only", "SCM", "--bits", "8") == 0
    (line,) = json.loads((out / "figure4.json").read_text())["answers"]
    assert "Frames: green where a picture shares a label" in (out / "figure4.md").read_text()
    assert "command: deepbinaries reproduce figure4 " in " ".join(told_of_all_links(out / "figure4.html"))
    scenes = load("scenes", items=60)
    labels = {id_: {*scenes.labels.of(row)} for row, id_ in enumerate(scenes.ids)}
    page = (out / "figure4.md").read_text()
    assert f"| SCM | **{line['precision']:.3f}**".replace("0.", ".") in page
    assert "8 bits, gallery clean of " in page
    assert [answer["chosen"] for answer in line["answers"]][:3] == ["the first queries of the split"] * 3
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
        ("time", ("--only", "spectral"), "time has no rows to choose from; leave --only out"),
        ("k", ("--vision", "colour=1"), "no setting of vision is called 'colour'"),
        ("table9", (), "no table or figure is called 'table9'; did you mean 'table2'? Known: "),
    ],
)
def test_wrong_use_is_one_line_before_any_work(reproduce, tmp_path, capsys, what, arguments, line):
    assert reproduce(what, *arguments, out=tmp_path / "none") == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert line in told
    assert not (tmp_path / "none").exists()


def test_what_cannot_be_drawn_is_not_learnt(reproduce, tmp_path, learnt, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert reproduce("figure3", *TWO, out=tmp_path) == 3
    (told,) = capsys.readouterr().err.splitlines()
    assert "matplotlib is not installed" in told
    assert learnt == []


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
    one, several = (
        [number for bits in (8, 16) for number in numbers_of(folder, bits, rows=MANY)] for folder in (out, other)
    )
    for number in (*one, *several):
        del number["trainings"][0]["seconds"]
        number.pop("over_reference", None)  # is corrected for the rows that are there
    assert {number["trainings"][0].pop("machine")["jobs"] for number in one} == {1}
    assert {number["trainings"][0].pop("machine")["jobs"] for number in several} == {2}
    assert one == several
    assert not (other / ".jobs").exists()


def test_what_is_there_is_drawn_without_learning(reproduce, tmp_path, learnt, capsys):
    out = tmp_path / "some"
    assert reproduce("table1", "--no-learn", *TWO, out=out) == 1
    assert "table1: 2 results are missing; leave --no-learn out to make them" in capsys.readouterr().err
    assert not (out / "table1.md").exists()
    assert reproduce("table1", "--only", "CVH", "--bits", "8", out=out) == 0
    learnt.clear()
    assert reproduce("table1", "--no-learn", *TWO, out=out) == 1
    assert learnt == []
    page = (out / "table1.md").read_text()
    assert "; SCM; " in page
    assert page.count("| CVH |") == 4
    assert "| SCM |" not in page
    assert "; 16 bits; 32 bits; " in page
    assert "16 bits |" not in page
    assert "A row or a length that is named there without more is left out of the tables." in page


def test_a_part_is_learnt_and_all_that_is_there_is_drawn(reproduce, tmp_path, learnt):
    out = tmp_path / "parts"
    assert reproduce("table1", "--only", "CVH", "--bits", "8,16", out=out) == 0
    assert reproduce("table1", "--only", "SCM", "--bits", "4", out=out) == 0
    assert reproduce("table1", "--only", "CVH", "--bits", "8", "--seeds", "1", out=out) == 0
    assert learnt == ["CVH", "CVH", "SCM", "CVH"]
    numbers = all_numbers_of(out)
    seeds = {(n["row"], n["bits"]): [training["seed"] for training in n["trainings"]] for n in numbers}
    assert seeds == {("CVH", 8): [0, 1], ("CVH", 16): [0]}  # 4 bits are not the plan's, nor asked for now
    page = (out / "table1.md").read_text()
    assert "Not here yet: CVFL; " in page
    assert "CVH, 16 bits, seed 1; " in page
    learnt.clear()
    assert reproduce("table1", "--only", "SCM", "--bits", "4", "--no-learn", out=out) == 0
    assert learnt == []


def without_scores(folder, copy):
    """A folder as it is committed: the lines alone."""
    copy.mkdir()
    shutil.copy(folder / "cells.jsonl", copy)
    return copy


def test_lines_alone_draw_a_table_again(reproduce, out, tmp_path, learnt):
    assert reproduce("table1", *TWO) == 0
    learnt.clear()
    copy = without_scores(out, tmp_path / "copy")
    assert reproduce("table1", *TWO, out=copy) == 0
    assert reproduce("table1", *TWO, "--no-learn", out=copy) == 0
    assert learnt == []
    numbers = [{**number} for folder in (out, copy) for number in numbers_of(folder)]
    for number in numbers:
        number.pop("over_reference", None)
    assert numbers[: len(numbers) // 2] == numbers[len(numbers) // 2 :]


def test_several_seeds_without_what_queries_scored_have_a_mean_alone(reproduce, tmp_path):
    out, arguments = tmp_path / "out", ("--only", "CVH", "--bits", "8", "--seeds", "0,1")
    assert reproduce("table1", *arguments, out=out) == 0
    copy = without_scores(out, tmp_path / "copy")
    assert reproduce("table1", *arguments, "--no-learn", out=copy) == 0
    for number, whole in zip(numbers_of(copy), numbers_of(out), strict=True):
        assert (number["map_all"], number["interval"]) == (whole["map_all"], None)
        assert f"| {whole['map_all']:.3f} |".replace("0.", ".") in (copy / "table1.md").read_text().replace("*", "")


def test_rows_are_compared_with_the_reference_query_by_query(reproduce, out, monkeypatch, tmp_path):
    read_plan = plans.read_plan
    monkeypatch.setattr(plans, "read_plan", lambda *a, **named: replace(read_plan(*a, **named), reference="CVH"))
    assert reproduce("table1", *TWO) == 0
    cells = {(c["method"], c["gallery"], c["direction"]): c for c in read_cells(out / "cells.jsonl") if c["bits"] == 8}
    page = (out / "table1.md").read_text()
    assert "A star: differs from CVH" in page
    for number in numbers_of(out):
        ours, theirs = (cells[method, number["gallery"], number["direction"]] for method in ("scm-seq", "cvh"))
        assert ("over_reference" in number) == (number["row"] == "SCM")
        if number["row"] == "SCM":
            wanted = compare(runner.scores_of(ours, out), runner.scores_of(theirs, out))
            assert number["over_reference"].pop("p_holm") >= wanted.p  # of more rows, where these are there
            assert number["over_reference"] == {k: v for k, v in wanted.to_json().items() if k != "p_holm"}
            star = "\\*" if wanted.differs else ""
            assert f"{number['map_all']:.3f}".removeprefix("0") + f"{star} [" in page
    copy = without_scores(out, tmp_path / "copy")
    assert reproduce("table1", *TWO, out=copy) == 0
    (note,) = (line for line in (copy / "table1.md").read_text().splitlines() if "Not compared everywhere" in line)
    assert "SCM" in note
    assert "CVH" not in note


def test_a_table_keeps_the_differences_that_it_had_where_what_queries_scored_is_gone(
    reproduce, out, monkeypatch, tmp_path
):
    read_plan = plans.read_plan
    monkeypatch.setattr(plans, "read_plan", lambda *a, **named: replace(read_plan(*a, **named), reference="CVH"))
    assert reproduce("table1", *TWO) == 0
    copy = without_scores(out, tmp_path / "copy")
    shutil.copy(out / "table1.json", copy)
    assert reproduce("table1", *TWO, "--no-learn", out=copy) == 0
    assert numbers_of(copy) == numbers_of(out)
    assert (copy / "table1.md").read_text() == (out / "table1.md").read_text()
    table = json.loads((copy / "table1.json").read_text())
    for number in table["numbers"]:
        number["map_all"] += 0.001  # as if other trainings had made them
    (copy / "table1.json").write_text(json.dumps(table))
    assert reproduce("table1", *TWO, "--no-learn", out=copy) == 0
    assert "Not compared everywhere" in (copy / "table1.md").read_text()


def test_as_many_regions_as_are_seen_anyway_are_learnt_once(reproduce, learnt, monkeypatch):
    read_plan = plans.read_plan

    def with_four_regions(*arguments, **named):  # as the tests see pictures
        plan = read_plan(*arguments, **named)
        return replace(plan, rows=tuple(replace(row, keep=4) for row in plan.rows))

    assert reproduce("table2", "--only", "TVDB-I2", "--bits", "8") == 0
    learnt.clear()
    monkeypatch.setattr(plans, "read_plan", with_four_regions)
    assert reproduce("k", "--only", "mean, K=5", "--bits", "8") == 0
    assert learnt == []
