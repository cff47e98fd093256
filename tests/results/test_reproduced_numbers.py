"""Every number that `deepbinaries reproduce` left in the results is that of its cell, and pages show these numbers."""

import json
import math
import re
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest
from packed import packed_cells

from deepbinaries.experiments.paper.plans import read_plan
from deepbinaries.experiments.paper.timing import in_seconds

REPRODUCED = Path(__file__).parents[2] / "results/reproduce"
DATASETS = ("coco18", "coco18-r17", "iapr22")
OF_CELLS = ("table1", "table2", "fixes", "figure3", "eta", "k")
MADE = [path for folder in DATASETS for name in OF_CELLS if (path := REPRODUCED / folder / f"{name}.json").exists()]
QUERIES = {"Picture": "image_to_text", "Sentence": "text_to_image"}
# Of a training; its cells agree with it in these, and it has no other cells.
FACTS = ("method", "settings", "bits", "seed", "proposer", "rule", "seconds", "command", "machine")


@pytest.fixture(scope="module")
def cells():
    """The cells of each folder."""
    return {folder: packed_cells(REPRODUCED / folder / "cells.jsonl") for folder in DATASETS}


@pytest.fixture(params=MADE, ids=lambda path: f"{path.parent.name}/{path.name}")
def made(request):
    return request.param


def short(value):
    return f"{value:.3f}".removeprefix("0")


def sheets_of(page):
    """The tables of a page: of each its caption, and its rows by their first cells, without the marks of Markdown."""
    for caption, table in re.findall(r"^(.+)\n\n((?:\|.*\|\n?)+)", page, flags=re.MULTILINE):
        lines = [
            [part.replace("\\", "").replace("**", "").strip() for part in line.strip("|").split(" | ")]
            for line in table.replace("|  |", "| |").splitlines()
        ]
        head, _, *rows = lines
        yield caption, head, rows


def test_every_number_is_that_of_its_cells(made, cells):
    content = json.loads(made.read_text())
    for number in content["numbers"]:
        place = {name: number[name] for name in ("gallery", "direction")}
        own = []
        for training in (content["trainings"][at] for at in number["trainings"]):
            facts = {name: training[name] for name in FACTS} | place
            (cell,) = (one for one in cells[made.parent.name] if all(one[name] == fact for name, fact in facts.items()))
            assert {**cell["digests"], "codes": None} == {**training["digests"], "codes": None}
            own.append(cell)
        assert math.isclose(number["map_all"], fmean(cell["map_all"] for cell in own), abs_tol=1e-6)
        assert math.isclose(number["map_500"]["value"], fmean(cell["map_500"]["value"] for cell in own), abs_tol=1e-6)
        assert number["chance"] == own[0]["chance"]
        if len(own) == 1:
            assert number["interval"] == own[0]["interval"]
        if number["paper"] is not None:
            assert math.isclose(number["difference"], number["map_all"] - number["paper"], abs_tol=1e-6)


def test_every_number_of_a_page_is_that_of_the_json(made):
    content = json.loads(made.read_text())
    digests = content["trainings"][0]["digests"]
    plan = read_plan(content["name"], digests["dataset"]["name"], ignored=digests["ignored"])
    notes = {f"{row.name} ({row.note})" if row.note else row.name: row.name for row in plan.rows}
    numbers = {
        (number["row"], number["gallery"], number["bits"], number["direction"]): number for number in content["numbers"]
    }
    shown = {}
    for caption, head, rows in sheets_of(made.with_suffix(".md").read_text()):
        query, gallery, chance = re.match(r"(\w+) queries, gallery (\w+): .*; chance ([.\d]+)\.$", caption).groups()
        for row in rows:
            for at, title in enumerate(head):
                if not (bits := re.fullmatch(r"(\d+) bits", title)) or not row[at]:
                    continue
                place = notes[row[0]], gallery, int(bits[1]), QUERIES[query]
                beside = row[at + 1 : at + 3] if head[at + 1 : at + 2] == ["paper"] else ["", ""]
                shown[place] = row[at], *beside, chance
    assert shown == {place: texts_of(number) for place, number in numbers.items()}


def texts_of(number):
    """What a page shows of a number: itself, the paper's, the difference, and chance."""
    over, interval, papers = number.get("over_reference"), number["interval"], number["paper"]
    star = "*" if over and not over["interval"][0] <= 0 <= over["interval"][1] else ""
    around = f" [{', '.join(map(short, interval))}]" if interval else ""
    difference = number["difference"]
    signed = "" if difference is None else ("−" if difference < 0 else "+") + short(abs(difference))
    paper = "" if papers is None else short(papers)
    return f"{short(number['map_all'])}{star}{around}", paper, signed, short(number["chance"])


@pytest.mark.parametrize("folder", ["coco18", "iapr22"])
def test_the_epochs_of_figure_5_are_those_that_were_kept(folder):
    lines = (REPRODUCED / folder / "epochs.jsonl").read_text().splitlines()
    shown = json.loads((REPRODUCED / folder / "figure5.json").read_text())["trainings"]
    kept = [{name: line[name] for name in line if name not in ("row", "command")} for line in shown]
    assert sorted(map(as_text, kept)) == sorted(as_text(json.loads(line)) for line in lines)
    best = []
    for line in shown:
        texts = []
        for direction in QUERIES.values():
            of_best = max(line["epochs"], key=lambda epoch: epoch[direction])
            texts += [short(of_best[direction]), str(of_best["epoch"]), short(line["epochs"][-1][direction])]
        best.append((line["settings"]["update"], line["row"].rpartition(", ")[0], *texts))
    page = (REPRODUCED / folder / "figure5.md").read_text()
    rows = [
        (re.match(r"Update (\w+)", caption)[1], row[0], *row[3:9]) for caption, _, of in sheets_of(page) for row in of
    ]
    assert Counter(rows) == Counter(best)


@pytest.mark.parametrize("folder", ["coco18", "iapr22"])
def test_times_are_those_that_were_kept_and_are_all_shown(folder):
    lines = (REPRODUCED / folder / "times.jsonl").read_text().splitlines()
    times = json.loads((REPRODUCED / folder / "time.json").read_text())["times"]
    kept = [{name: line[name] for name in line if name != "command"} for line in times]
    assert sorted(map(as_text, kept)) == sorted(as_text(json.loads(line)) for line in lines)
    kinds = {"one batch": "batch", "the first time": "first", "from then on": "again", "by labels alone": "start"}
    shown = {}
    for caption, head, rows in sheets_of((REPRODUCED / folder / "time.md").read_text()):
        (kind,) = (name for words, name in kinds.items() if words in caption.split(", by the training items")[0])
        sizes = [title for title in head[1:] if title.replace(",", "").isdecimal()]
        for update, *texts in rows:
            shown |= {(kind, update, size): text for size, text in zip(sizes, texts, strict=False)}
    assert shown == {
        (kind, line["update"], f"{line['items']:,}"): in_seconds(line["seconds"][kind])
        for line in times
        for kind in kinds.values()
    }


def test_figure_4_shows_as_many_relevant_pictures_as_the_json_has():
    answers = json.loads((REPRODUCED / "scenes/figure4.json").read_text())["answers"]
    page = (REPRODUCED / "scenes/figure4.md").read_text()
    over_all, *of_sentences = ({row[0]: row[1:] for row in rows} for _, _, rows in sheets_of(page))
    assert {row: texts[0] for row, texts in over_all.items()} == {
        line["row"]: short(line["precision"]) for line in answers
    }
    counts = {
        line["row"]: [str(sum(bool(hit["shared"]) for hit in one["found"])) for one in line["answers"]]
        for line in answers
    }
    assert {row: [text for sheet in of_sentences for text in sheet[row]] for row in over_all} == counts


def as_text(line):
    return json.dumps(line, sort_keys=True)
