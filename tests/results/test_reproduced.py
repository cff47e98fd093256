"""What `deepbinaries reproduce` left in the results has the notes of today, and every number says how it was made."""

import json
import re
from pathlib import Path

import pytest

from deepbinaries.experiments.paper.made import FORMAT
from deepbinaries.experiments.paper.plans import read_plan, reading_of

REPRODUCED = Path(__file__).parents[2] / "results/reproduce"
MADE = sorted(path for path in REPRODUCED.glob("*/*.json") if json.loads(path.read_text()).get("format") == FORMAT)
LARGEST = 1_000_000  # bytes of a file


@pytest.fixture(params=MADE, ids=lambda path: f"{path.parent.name}/{path.name}")
def made(request):
    """The JSON of a table or figure, without its ending."""
    return request.param


def trainings_of(content):
    """The lines of how numbers were made, of whatever kind."""
    return content.get("trainings") or content.get("times") or content["answers"]


def test_the_notes_are_those_of_the_dataset_and_of_the_plan(made):
    content = json.loads(made.read_text())
    digests = trainings_of(content)[0]["digests"]
    dataset, ignored = digests["dataset"]["name"], digests["ignored"]
    note = reading_of(dataset).note
    assert not note or note in content["notes"]
    assert note in made.with_suffix(".md").read_text()
    rows = read_plan(content["name"], dataset, ignored=ignored).rows
    assert content.get("notes_on_rows", {}) == {row.name: row.note for row in rows if row.note and "numbers" in content}


def test_every_number_of_a_page_links_to_what_the_page_tells_of_its_making(made):
    page = made.with_suffix(".html").read_text()
    links, told = (set(re.findall(pattern, page)) for pattern in (r'href="#(\w+)"', r'<dt id="(\w+)"'))
    assert links == told != set()
    assert not re.search(r"<td[^>]*>(<strong>)?[.\d]+\*?(</strong>)?<small>", page)  # a number without a link
    assert "command: deepbinaries " in page


def test_every_line_of_answers_is_one_that_is_shown():
    kept = [json.loads(line) for line in (REPRODUCED / "scenes/answers.jsonl").read_text().splitlines()]
    shown = json.loads((REPRODUCED / "scenes/figure4.json").read_text())["answers"]
    assert [{name: line[name] for name in line if name not in ("row", "command")} for line in shown] == kept


def test_no_file_is_large():
    assert [
        path.name for path in REPRODUCED.glob("*/*") if path.stat().st_size > LARGEST and "jsonl" not in path.name
    ] == []
