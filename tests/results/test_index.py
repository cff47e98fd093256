"""The page of all results: it is that of the cells, as is the README's table, and it needs no network."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "results/index.html"


def drawn(folder):
    """The page and the README that the command writes for a copy of the results."""
    subprocess.run([sys.executable, folder / "results/index.py"], check=True, capture_output=True)
    return (folder / "results/index.html").read_text(), (folder / "README.md").read_text()


@pytest.fixture
def copy(tmp_path):
    """The results and the README without what is drawn."""
    shutil.copytree(
        REPOSITORY / "results", tmp_path / "results", ignore=shutil.ignore_patterns("*.html", "__pycache__")
    )
    readme = re.sub(
        r"(<!-- results: start -->).*(<!-- results: end -->)",
        r"\1\2",
        (REPOSITORY / "README.md").read_text(),
        flags=re.DOTALL,
    )
    (tmp_path / "README.md").write_text(readme)
    return tmp_path


def test_where_training_items_are_searched_the_best_other_there_stands_beside_ours():
    page = (REPOSITORY / "README.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line[:2] == "| "]
    head = next(row for row in rows if "chance" in row)
    iapr22 = dict(zip(head, next(row for row in rows if row[0] == "iapr22"), strict=True))
    assert iapr22["best other"] == "`dcmh` .674 / .622"
    assert iapr22["training items, `tvdb`"] == ".697 / .710"
    assert iapr22["training items, best other"] == "`dcmh` .676 / .726"  # ahead for sentences


def columns(page):
    """The columns of all tables of scores, each of pairs: a score, and whether it is marked."""
    for table in re.findall(r'<table class="scores">(.*?)</table>', page, re.DOTALL):
        rows = [row.split("<td>")[1:] for row in table.split("<tr>")[2:]]  # without the head
        for column in zip(*rows, strict=True):
            found = [re.match(r"(<b>)?([.\d]+)", cell) for cell in column if cell.strip()]
            yield [(float(score[2]), score[1] is not None) for score in found]


def test_the_page_and_the_readme_are_those_of_the_cells(copy):
    page, readme = drawn(copy)
    assert page == PAGE.read_text(), "run python results/index.py"
    assert readme == (REPOSITORY / "README.md").read_text(), "run python results/index.py"


def test_the_page_is_small_and_needs_no_network():
    text = PAGE.read_text()
    assert len(text.encode()) < 300_000
    assert "<script" not in text
    assert not re.search(r'(src|href)="(https?:)?//', text)


def test_every_drawing_of_the_papers_figures_is_shown_and_there():
    shown = set(re.findall(r'<img [^>]*src="(.*?)"', PAGE.read_text()))
    there = {path.relative_to(PAGE.parent).as_posix() for path in (PAGE.parent / "reproduce").glob("*/*.svg")}
    assert shown == there
    assert {"reproduce/iapr22/figure5.svg", "reproduce/scenes/figure4.svg"} <= shown


def reproduced():
    """What the page shows of each of the paper's tables and figures, by the title under which it is folded."""
    section = PAGE.read_text().split('<section aria-labelledby="paper">')[1].split("</section>")[0]
    return dict(re.findall(r"<details><summary>(.*?)</summary>(.*?)</details>", section, re.DOTALL))


def test_the_papers_tables_and_figures_have_the_order_of_the_command():
    titles = [title.removeprefix("iapr22: ") for title in reproduced() if title.startswith("iapr22: ")]
    assert [title.partition(":")[0] for title in titles] == [
        *("Table 1", "Table 2", "What each fix is worth", "Figure 3", "Figure 5"),
        *("Sensitivity to eta", "Sensitivity to K", "Seconds of an update of the codes"),
    ]


def test_a_figure_has_its_numbers_below_it():
    shown = reproduced()
    assert [title for title, content in shown.items() if "<table" not in content] == []
    for title, column in (
        ("coco18: Figure 5: loss and MAP over the epochs", "best MAP, picture queries"),
        ("coco18: Seconds of an update of the codes", "grows with the power"),
        ("scenes: Figure 4: the five pictures nearest to a sentence", "precision@5"),
    ):
        assert f'<th scope="col">{column}' in shown[title]
    assert '<th scope="row">SCM<td>.761\n' in shown["scenes: Figure 4: the five pictures nearest to a sentence"]


def test_the_best_of_every_column_is_marked_and_nothing_else():
    found = list(columns(PAGE.read_text()))
    assert len(found) > 80
    for column in found:
        assert {score for score, marked in column if marked} == {max(score for score, _ in column)}


def test_the_papers_number_stands_beside_ours_where_the_paper_has_the_task():
    sections = dict(re.findall(r'<section aria-labelledby="(.*?)">(.*?)</section>', PAGE.read_text(), re.DOTALL))
    assert "paper .731" in sections["iapr22-all"]
    assert 'class="beside"' not in sections["coco18-r18"]


def test_every_link_within_the_page_leads_somewhere():
    text = PAGE.read_text()
    assert set(re.findall(r'href="#(.*?)"', text)) == set(re.findall(r'<h2 id="(.*?)"', text))


def test_a_row_of_the_papers_tables_that_sees_the_whole_picture_says_so():
    section = PAGE.read_text().split('<section aria-labelledby="paper">')[1].split("</section>")[0]
    for row, words in (("TVDB", "best form, of the whole picture"), ("TVDB-I1", "the whole picture alone")):
        names = re.findall(rf"<code>{row}</code> <small>(.*?)</small>", section)
        assert words in names
    assert "<code>TVDB-I1</code><td>" not in section


def test_all_files_that_numbers_come_from_are_named():
    used = {path.name for path in (REPOSITORY / "results").glob("**/*.jsonl*")}
    unused = {"choices.jsonl.xz", "regions-fine-tuned.jsonl"}  # the README and the findings have these
    unpacked = {"comparison.jsonl"}  # of somebody who adds to it
    measured = PAGE.read_text().split('<section aria-labelledby="measured">')[1]
    assert [name for name in used - unused - unpacked if name not in measured] == []


def test_the_photo_model_and_the_papers_tables_are_shown_where_they_are_there(copy):
    about = {"model": "shipped", "part": "query", "dataset": "coco18", "bits": 64, "gallery": 1000, "mode": "hamming"}
    about |= {"pictures": "published", "direction": "text_to_image"}
    recalls = {"recall_at_1": 0.111, "recall_at_10": 0.222, "recall_at_100": 0.333}
    (copy / "results/photo").mkdir(exist_ok=True)
    (copy / "results/photo/cells.jsonl").write_text(
        json.dumps(about | recalls | {"direction": "text_to_image", "pictures": "published"}) + "\n"
    )
    number = {"row": "TVDB <3", "gallery": "database", "bits": 32, "direction": "image_to_text", "map_all": 0.444}
    number |= {"interval": [0.4, 0.5], "chance": 0.3, "paper": 0.555}
    made = {"format": "deepbinaries-paper", "title": "Table 2", "notes": ["A note."], "numbers": [number]}
    made["notes_on_rows"] = {"TVDB <3": "of regions"}
    (copy / "results/reproduce/iapr22").mkdir(parents=True, exist_ok=True)
    (copy / "results/reproduce/iapr22/table2.json").write_text(json.dumps(made))
    page, _ = drawn(copy)
    shown = ("<td>.222<", "<td>published<", "iapr22: Table 2", "of regions", "<b>.444</b>", "paper .555")
    assert [part for part in shown if part not in page] == []
    assert 'href="reproduce/iapr22/table2.html"' in page
