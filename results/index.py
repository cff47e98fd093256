"""The page of all results, results/index.html, and the table of the README: both drawn from the cells alone.

    python results/index.py

The page needs no network and no script; the drawings it shows lie beside it. What lies in results/photo and
results/reproduce is shown where it is there.
"""

import json
from collections.abc import Iterator, Mapping
from html import escape
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import wiki
from headline import README, lines, readme
from html_tables import Score, Table, folded, from_markdown, marked, paragraph
from packed import packed_cells
from tables import BITS, COMPARED, DIRECTIONS, HERE, QUERY, TITLES, of_main, of_regions, short
from task_tables import BOTH_VIEWS, Beside, sizes, tables_of, task

from deepbinaries.experiments.cells import read_cells
from deepbinaries.experiments.compare import SEPARATE, UNIFIED
from deepbinaries.experiments.demo_page import STYLE
from deepbinaries.experiments.paper.made import FORMAT
from deepbinaries.experiments.paper.plans import NAMES
from deepbinaries.files import read_json, read_lines, written_whole

PAGE = HERE / "index.html"
OWN_STYLE = HERE / "index.css"


def page() -> str:
    """The page, a whole HTML document."""
    sections = {
        "short": ("In short", _short()),
        **{f"{dataset}-{rule}": (title, task(dataset, rule)) for (dataset, rule), title in COMPARED.items()},
        "wiki": ("wiki, features alone", _wiki()),
        "forms": ("The two forms of TVDB", _forms()),
        "regions": ("What regions add to the whole picture", _regions()),
        "proposals": ("How many things regions find", _proposals()),
        "photo": ("The photo model", _photo(HERE / "photo" / "cells.jsonl")),
        "paper": ("The paper's tables and figures", _reproduced(HERE / "reproduce")),
        "measured": ("How it was measured", MEASURED),
    }
    there = {id_: (marked(title), content) for id_, (title, content) in sections.items() if content}
    links = "\n".join(f'<li><a href="#{id_}">{title}</a></li>' for id_, (title, _) in there.items())
    parts = (
        f'<section aria-labelledby="{id_}">\n<h2 id="{id_}">{title}</h2>\n{content}\n</section>'
        for id_, (title, content) in there.items()
    )
    style = STYLE.read_text(encoding="utf-8") + OWN_STYLE.read_text(encoding="utf-8")
    head = HEAD.replace("{style}", style).replace("{links}", links)
    return "\n".join([head, *parts, "</main>\n</body>\n</html>\n"])


def _short() -> str:
    about = (
        "Mean average precision (MAP) of codes of 64 bits; 1 is perfect, and chance is what a ranking that knows "
        "nothing earns. The gallery holds nothing that was learnt from, except in the columns `training items`, whose "
        "gallery holds them as the paper's does. The paper's numbers were reached with other labels, other features "
        "and a rule of ties that is not printed: they are an anchor, not a target."
    )
    return paragraph(about) + from_markdown(lines())


def _wiki() -> str:
    cells = packed_cells(HERE / "wiki" / "cells.jsonl")
    separate, unified = ([cell for cell in cells if cell["codes"] == kind] for kind in (SEPARATE, UNIFIED))

    def published(kind: str) -> Beside:
        return lambda method, bits, direction: (
            wiki.PUBLISHED[method, kind][DIRECTIONS.index(direction)][BITS.index(bits)]
            if (method, kind) in wiki.PUBLISHED
            else None
        )

    asking, searched = sizes(cells)
    about = (
        f"Vectors of Wikipedia articles: {searched:,} training items are searched, {asking:,} others ask, "
        "ties are in the order of rows. Chance is "
        f"{short(cells[0]['chance'])}. Published values were quoted from memory and are unverified, all but those of "
        "`scm-seq`, which are confirmed by their exact reproduction."
    )
    found = tables_of(separate, beside=published(SEPARATE), whose="published")
    both_views = "\n".join(tables_of(unified, beside=published(UNIFIED), whose="published"))
    return "\n".join([paragraph(about), *found, folded(BOTH_VIEWS, both_views)])


def _forms() -> str:
    parts = [
        paragraph("`tvdb` is the default; `tvdb-lstm` has the paper's networks, and with `printed` the paper's update.")
    ]
    for (dataset, rule), title in TITLES.items():
        cells = [
            c for c in read_cells(HERE / dataset / "cells.jsonl") if (c["rule"], c["experiment"]) == (rule, "main")
        ]
        parts += [f"<h3>{marked(title)}</h3>", *_as_html(of_main(title, cells))]
    return folded("Both galleries, four lengths, three seeds", "\n".join(parts))


def _regions() -> str:
    return "\n".join(_as_html(of_regions()))


def _as_html(markdown: Iterator[str]) -> Iterator[str]:
    """Paragraphs and tables of lines of Markdown; their title is left out."""
    kept = [line for line in markdown if line and line[0] != "#"]
    for is_table, group in groupby(kept, lambda line: line[0] == "|"):
        told = list(group)
        yield from_markdown(told) if is_table else paragraph(" ".join(told))


def _proposals() -> str:
    found = read_json(HERE / "rpn.json")
    head = ["| dataset, proposer | all things | small | medium | large |", "| --- | --- | --- | --- | --- |"]
    kinds = ("recall", "recall_small", "recall_medium", "recall_large")
    rows = [
        f"| {cell['dataset']}, `{cell['proposer']}` | {' | '.join(short(cell[kind]) for kind in kinds)} |"
        for cell in found["cells"]
    ]
    about = f"{found['metric'].capitalize()} ({found['found']}). A thing: {found['thing']}; {found['note']}."
    return paragraph(about) + from_markdown([*head, *rows])


def _photo(path: Path) -> str:
    """The photo model: how often a sentence's own photograph is among the first; "" where nothing is told of it."""
    if not path.exists():
        return ""
    cells = [json.loads(line) for line in read_lines(path)]
    asked = [cell for cell in cells if "recall_at_10" in cell and cell.get("part", "query") == "query"]
    asked = [cell for cell in asked if cell["model"] == "shipped"] or asked  # not what it was made of
    head = "| model, bits, comparison | dataset | photographs | query | among | first | first 10 | first 100 |"
    rows = [
        f"| `{c['model']}`, {c['bits']}, {c['mode']} | {c['dataset']} | {c['pictures']} | {QUERY[c['direction']]} | "
        f"{c['gallery']:,} | "
        f"{' | '.join(short(c[f'recall_at_{k}']) for k in (1, 10, 100))} |"
        for c in asked
    ]
    about = paragraph("The share of queries whose own partner is among the first 1, 10 and 100 that are found.")
    return about + from_markdown([head, "| --- " * 8 + "|", *rows])


def _reproduced(folder: Path) -> str:
    """The paper's tables and figures that `deepbinaries reproduce` left here, a folder a dataset."""
    parts = [FOREWORD]
    there = [(path, read_json(path)) for path in folder.glob("**/*.json")]
    there = [(path, made) for path, made in there if made.get("format") == FORMAT]
    for path, made in sorted(there, key=lambda one: (one[0].parent, NAMES.index(one[0].stem))):
        link = path.relative_to(folder.parent).with_suffix(".html").as_posix()
        notes = [note for note in made["notes"] if not note.startswith(OF_ITS_PAGE)]
        own = f'<p><a href="{escape(link)}">Its own page</a>, with how each number was made.</p>'
        title = escape(f"{path.parent.relative_to(folder).as_posix()}: {made['title']}")
        drawing = []
        if (svg := path.with_suffix(".svg")).exists():
            source = escape(svg.relative_to(folder.parent).as_posix())
            drawing = [f'<img class="drawing" src="{source}" alt="{escape(made["title"])}" loading="lazy">']
        tables = _numbers(made) if "numbers" in made else _sheets(path.with_suffix(".md"))
        parts.append(folded(title, "\n".join([*map(paragraph, notes), own, *drawing, *tables])))
    return "\n".join(parts)


FOREWORD = """<p>Made by <code>deepbinaries reproduce</code>; the cells lie packed in each folder. Where a row of TVDB
does not say that it sees the whole picture, it reads regions, here those of the package's own proposer
<code>rpn</code>; those of <a href="#forms">the two forms</a> are of <code>grid</code>. What all of it answers to the
paper's questions: <a href="findings.md">findings.md</a>.</p>"""
OF_ITS_PAGE = "A star: "  # a note about marks that are not shown here


def _numbers(made: Mapping[str, Any]) -> Iterator[str]:
    """The tables of what a reproduction found: one a gallery and direction."""
    numbers, notes = made.get("numbers", ()), made.get("notes_on_rows", {})
    lengths = sorted({number["bits"] for number in numbers})
    for gallery, direction in dict.fromkeys((number["gallery"], number["direction"]) for number in numbers):
        here = [n for n in numbers if (n["gallery"], n["direction"]) == (gallery, direction)]
        called = {n["row"]: ", ".join(filter(None, (n["row"], notes.get(n["row"])))) for n in here}
        rows: dict[str, list[Score | None]] = {name: [None] * len(lengths) for name in called.values()}
        for n in here:
            rows[called[n["row"]]][lengths.index(n["bits"])] = Score(n["map_all"], n["interval"], n["paper"])
        caption = f"{QUERY[direction].capitalize()} queries, gallery {gallery}; chance {short(here[0]['chance'])}"
        yield Table(caption, [f"{bits} bits" for bits in lengths], rows, "paper").to_html()


def _sheets(page: Path) -> Iterator[str]:
    """The tables of a page of Markdown, which are not all of scores; the paragraph before one is its caption."""
    blocks = page.read_text(encoding="utf-8").split("\n\n")
    yield from (
        from_markdown(block.splitlines(), before) for before, block in pairwise(blocks) if block.startswith("|")
    )


HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self'; style-src 'unsafe-inline'">
<title>deepbinaries: results</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>What short codes reach</h1>
<p class="lead">Pictures and sentences as codes of 16 to 128 bits, learnt by every method of <code>deepbinaries</code>
from the same pairs and asked the same queries.</p>
<nav aria-label="Contents"><ul>
{links}
</ul></nav>
</header>
<main>
"""

MEASURED = """<ul>
<li><b>MAP</b> is the mean over queries of average precision over the whole ranking by Hamming distance, the exact
expectation over the order of ties; methods of real values rank by cosine. On <em>wiki</em> alone ties are in the order
of rows, as in published tables. <a href="../docs/read-a-result.md">How to read a result</a></li>
<li><b>Small numbers</b> under a score are its 95 % interval over queries; they say how far the score would move with
other queries, and nothing about another training. The best of a column is bold.</li>
<li><b>Right</b> is what shares a label with the query. r18: one of 18 labels, of which 76 % of the items carry
<code>person</code>; r17: the same without <code>person</code>.</li>
<li><b>Galleries.</b> <em>clean</em> holds nothing that was learnt from; <em>database</em> holds the training
items too.</li>
<li><b>Pictures</b> are seen by EfficientNet-Lite0, frozen, and as a whole where nothing else is said. Networks read
words; the other methods have the features of a text-CNN that learnt to name the labels.</li>
<li><b>Settings</b> were chosen at 64 bits on validation parts; queries were asked once. One seed, where nothing else is
said.</li>
<li><b>Files.</b> Every number is a line of JSON. In the folder of its dataset: of every method in
<code>comparison.jsonl.xz</code>, of the two forms in <code>cells.jsonl</code>, of what regions add in
<code>regions.jsonl</code>, from the trainings in <code>forms.jsonl.xz</code>; of the two forms trained once more in
<code>again.jsonl.xz</code>, of trials of DVSH beyond those it was chosen by in <code>beyond.jsonl</code>. Of the photo
model: <code>photo/cells.jsonl</code>, and <code>photo/trials.jsonl</code> of what regions bring to it. Of the
paper's tables and figures, below <code>reproduce</code>: <code>cells.jsonl.xz</code>, <code>epochs.jsonl</code>,
<code>times.jsonl</code> and <code>answers.jsonl</code>. Of how many things regions find: <code>rpn.json</code>. A
cell has settings, seed, command, extremes over ties, and digests of data, split and codes. <code>python
results/index.py</code> draws this page from them; <a href="README.md">README.md</a> has the words.</li></ul>"""


def main() -> None:
    for path, text in ((PAGE, page()), (README, readme())):
        with written_whole(path) as file:
            file.write(text.encode())
        print(f"written to {path.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
