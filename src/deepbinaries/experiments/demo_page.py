"""The page that a demo leaves: one HTML file that needs no network, no script and no other file.

Whatever comes from data (sentences, labels, names) is escaped: a page must not do what a sentence says.
"""

import base64
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from deepbinaries.evaluation import Report
from deepbinaries.experiments.charts import Line, line_chart
from deepbinaries.experiments.scores import Reports
from deepbinaries.vision.regions import Regions

STYLE = Path(__file__).with_name("demo_page.css")
THUMB, LARGE = 160, 448  # pixels of the longer side of a picture
NUMBERED = 8  # regions that are drawn; more would hide the picture
DRAWN = 224  # width of the picture with its regions, in the units of the drawing
BADGE = 8.5  # radius of a region's number, in these units
DIRECTIONS = {"image_to_text": "picture → sentences", "text_to_image": "sentence → pictures"}
GALLERIES = {"clean": "nothing of it was learnt from", "database": "the paper's: training items are among them"}


@dataclass(frozen=True)
class Item:
    """One thing of a dataset, as it is shown."""

    picture: Image.Image
    sentence: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Hit:
    """An item that was found, how many bits away, and the labels it shares with the query: none makes it wrong."""

    item: Item
    distance: int
    shared: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """A query and what it finds, the nearest first."""

    query: Item
    pictures: Sequence[Hit]
    sentences: Sequence[Hit] = ()


@dataclass(frozen=True)
class Findings:
    """Everything that a demo has to show."""

    scores: Mapping[str, Reports]  # by method: the learnt one first, then the baseline
    history: Sequence[Mapping[str, Any]]  # of the training, an entry an epoch
    by_sentence: Sequence[Answer]
    by_picture: Sequence[Answer]
    looked_at: Item
    regions: Regions  # of the picture that is looked at
    facts: Mapping[str, str]  # how all this was made
    next_steps: str


def page(findings: Findings) -> str:
    """The page, a whole HTML document."""
    sections = [
        _section("results", "Results", _results(findings)),
        _section("sentences", "Three sentences and the pictures they find", _by_sentence(findings.by_sentence)),
        _section("pictures", "Three pictures and what they find", _by_picture(findings.by_picture)),
        _section("curves", "Precision and recall", _precision_recall(findings)),
        _section("training", "Training", _training(findings.history)),
        _section("regions", "Regions, from dominant to minor", _regions(findings)),
        _section("made", "How it was made", _made(findings)),
    ]
    return "\n".join([_HEAD.format(style=STYLE.read_text(encoding="utf-8")), *sections, "</main>\n</body>\n</html>\n"])


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>deepbinaries: a demo</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>Pictures and sentences as short binary codes</h1>
<p class="lead">A network for pictures and one for sentences learn to give the same few bits to things that belong
together. Whoever searches then only counts in how many bits two codes differ, and a sentence finds pictures as fast as
a picture finds sentences.</p>
</header>
<main>"""


def _section(id_: str, title: str, content: str) -> str:
    return f'<section aria-labelledby="{id_}">\n<h2 id="{id_}">{title}</h2>\n{content}\n</section>'


def _results(findings: Findings) -> str:
    learnt, baseline = findings.scores.values()
    report = learnt["clean", "image_to_text"]
    rows = [row for gallery in GALLERIES for row in _gallery_rows(findings.scores, gallery)]
    (at_500,) = report.others
    return f"""<p>Mean average precision over {len(report.per_query):,} queries, none of which was learnt from; 1 is
perfect. Right is what shares a label with the query. Chance is a ranking that knows nothing.</p>
<div class="scroll"><table>
<caption>Codes of {report.bits} bits: MAP@all with its {report.interval.level:.0%} interval, and MAP@500.</caption>
<thead><tr><th scope="col" rowspan="2">method</th>
{"".join(f'<th scope="colgroup" colspan="2">{name}</th>' for name in DIRECTIONS.values())}</tr>
<tr>{'<th scope="col">MAP@all</th><th scope="col">MAP@500</th>' * len(DIRECTIONS)}</tr></thead>
<tbody>
{"".join(rows)}</tbody>
</table></div>
<p class="note">{escape(str(report.rules))}; MAP@500 is {escape(at_500.rules.name)}. Intervals:
{escape(report.interval.method)}. The baseline {escape(list(findings.scores)[1])} is linear, and sees of each
picture the features of the whole alone; both learnt from the same pairs.
{escape(_shorter(report, baseline["clean", "image_to_text"]))}</p>"""


def _gallery_rows(scores: Mapping[str, Reports], gallery: str) -> Iterable[str]:
    first = next(iter(scores.values()))
    n_items = first[gallery, "image_to_text"].n_gallery
    yield (
        f'<tr class="group"><th scope="colgroup" colspan="5">gallery <em>{gallery}</em>, {n_items:,} items: '
        f"{GALLERIES[gallery]}</th></tr>\n"
    )
    for place, (method, reports) in enumerate(scores.items()):
        cells = "".join(_cells(reports[gallery, direction]) for direction in DIRECTIONS)
        best = ' class="best"' if place == 0 else ""
        yield f'<tr{best}><th scope="row">{escape(method)}</th>{cells}</tr>\n'
    reports_of_chance = (first[gallery, direction] for direction in DIRECTIONS)
    cells = "".join(f"<td>{r.chance:.3f}</td><td>{r.others[0].chance:.3f}</td>" for r in reports_of_chance)
    yield f'<tr><th scope="row">chance</th>{cells}</tr>\n'


def _cells(report: Report) -> str:
    interval = f"{report.interval.low:.3f}–{report.interval.high:.3f}"
    return f"<td>{report.mean:.3f} <small>{interval}</small></td><td>{report.others[0].value:.3f}</td>"


def _shorter(report: Report, baseline: Report) -> str:
    if baseline.bits == report.bits:
        return ""
    return f"Its codes have {baseline.bits} bits, since the words have no more directions in common with the pictures."


def _by_sentence(answers: Sequence[Answer]) -> str:
    parts = ["<p>The first queries of the split, not chosen by hand, asked of the gallery <em>clean</em>.</p>"]
    for answer in answers:
        found = _list(answer.pictures, lambda hit: f"{_thumb(hit.item)}{_distance(hit)}{_mark(hit)}")
        parts.append(
            f'<article class="answer"><h3><q dir="auto">{escape(answer.query.sentence)}</q></h3>\n'
            f'<p class="note">It belongs to a picture of {_names(answer.query.labels)}.</p>\n{found}</article>'
        )
    return "\n".join(parts)


def _by_picture(answers: Sequence[Answer]) -> str:
    parts = ["<p>The queries that follow them, this time by their pictures.</p>"]
    for number, answer in enumerate(answers, start=1):
        sentences = _list(
            answer.sentences,
            lambda hit: f'{_distance(hit)}<span><q dir="auto">{escape(hit.item.sentence)}</q>{_mark(hit)}</span>',
            kind="sentences",
        )
        pictures = _list(answer.pictures, lambda hit: f"{_thumb(hit.item)}{_distance(hit)}{_mark(hit)}")
        parts.append(
            f'<article class="answer"><h3>Picture {number}</h3>\n<div class="question">{_thumb(answer.query)}'
            f'<div><p class="note">It shows {_names(answer.query.labels)}. The nearest sentences:</p>{sentences}</div>'
            f'</div>\n<p class="note">The nearest pictures:</p>{pictures}</article>'
        )
    return "\n".join(parts)


def _list(hits: Sequence[Hit], show: Callable[[Hit], str], *, kind: str = "pictures") -> str:
    return f'<ol class="found {kind}">' + "\n".join(f"<li>{show(hit)}</li>" for hit in hits) + "</ol>\n"


def _distance(hit: Hit) -> str:
    return f'<span class="distance">{hit.distance} bit{"" if hit.distance == 1 else "s"}</span>'


def _mark(hit: Hit) -> str:
    if hit.shared:
        return f'<span class="right"><span role="img" aria-label="right:">✓</span> {_names(hit.shared)}</span>'
    return '<span class="wrong"><span role="img" aria-label="wrong:">✗</span> no shared label</span>'


def _names(labels: Sequence[str]) -> str:
    return escape(", ".join(labels)) or "nothing that has a label"


def _thumb(item: Item) -> str:
    picture = item.picture.copy()
    picture.thumbnail((THUMB, THUMB))
    alt = f"a picture of {', '.join(item.labels) or 'nothing that has a label'}"
    return f'<img src="{_data_uri(picture)}" width="{picture.width}" height="{picture.height}" alt="{escape(alt)}">'


def _data_uri(picture: Image.Image) -> str:
    file = io.BytesIO()
    picture.convert("RGB").save(file, "JPEG", quality=82)
    return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode("ascii")


def _precision_recall(findings: Findings) -> str:
    charts = []
    for direction, name in DIRECTIONS.items():
        curves = {method: reports["clean", direction].rank_curve for method, reports in findings.scores.items()}
        lines = [
            Line(method, curve.recall.tolist(), curve.precision.tolist()) for method, curve in curves.items() if curve
        ]
        share = lines[0].y[-1]  # of the whole gallery that is relevant
        lines.append(Line("chance", [0, 1], [share, share]))
        shape: dict[str, Any] = {"x_range": (0, 1), "y_range": (0, 1)}
        svg = line_chart(lines, title=f"Precision by recall, {name}", x_label="recall", y_label="precision", **shape)
        charts.append(f"<figure>{svg}<figcaption>{name}, gallery <em>clean</em></figcaption></figure>")
    told = "<p>From left to right, ever more of the ranking is taken: the share found (recall) grows, the share of it\n"
    return f'{told}that is right (precision) falls.</p>\n<div class="side-by-side">{"".join(charts)}</div>'


def _training(history: Sequence[Mapping[str, Any]]) -> str:
    epochs = [entry["epoch"] for entry in history]
    loss = Line("loss", epochs, [entry["loss"] for entry in history])
    names = {"validation_image_to_text": "picture → sentences", "validation_text_to_image": "sentence → pictures"}
    validation = [Line(name, epochs, [entry[key] for entry in history]) for key, name in names.items()]
    shape: dict[str, Any] = {"x_label": "epoch", "x_range": (min(epochs), max(max(epochs), min(epochs) + 1))}
    charts = [
        (
            line_chart([loss], title="Loss by epoch", y_label="loss", y_range=(0, max(loss.y)), **shape),
            "training pairs",
        ),
        (
            line_chart(validation, title="Validation by epoch", y_label="MAP@all", y_range=(0, 1), **shape),
            "validation pairs, asked of the training pairs; they are not learnt from",
        ),
    ]
    figures = "".join(f"<figure>{svg}<figcaption>{caption}</figcaption></figure>" for svg, caption in charts)
    return f'<div class="side-by-side">{figures}</div>'


def _regions(findings: Findings) -> str:
    regions = findings.regions
    first = list(zip(regions.attraction.tolist(), regions.boxes.tolist(), strict=True))[
        : min(NUMBERED, len(regions.boxes) - 1)
    ]
    rows = "".join(
        f'<tr><th scope="row">{number}</th><td>{attraction:.2f}</td><td>{(x1 - x0) * (y1 - y0):.0%}</td></tr>'
        for number, (attraction, (x0, y0, x1, y1)) in enumerate(first, start=1)
    )
    return f"""<p>Networks that read regions, such as the paper's, hear them in this order, the whole picture last.
Attraction is the mean of how sure the proposer <em>{escape(regions.proposer)}</em> is of a thing, and of its share of
the picture. The first {len(first)} of {len(regions.boxes) - 1} regions of the last picture above:</p>
<div class="side-by-side">
<figure class="regions">{_numbered(findings.looked_at, [box for _, box in first])}</figure>
<table>
<thead><tr><th scope="col">region</th><th scope="col">attraction</th><th scope="col">of the area</th></tr></thead>
<tbody>{rows}</tbody></table>
</div>"""


def _numbered(item: Item, shares: Sequence[Sequence[float]]) -> str:
    """The picture with numbered boxes, which are given in shares of it."""
    picture = item.picture.copy()
    picture.thumbnail((LARGE, LARGE))
    width, height = DRAWN, DRAWN * picture.height / picture.width
    # Boxes often share an edge: each lies a little inside its place, so that none hides another.
    boxes = [
        (x0 * width + inset, y0 * height + inset, x1 * width - inset, y1 * height - inset)
        for (x0, y0, x1, y1), inset in zip(shares, np.linspace(1, BADGE, len(shares)).tolist(), strict=True)
    ]
    drawn = [f'<image href="{_data_uri(picture)}" width="{width}" height="{height:g}"/>']
    for number, (x0, y0, x1, y1) in enumerate(boxes):
        rect = f'x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}"'
        drawn.append(f'<rect class="shade" {rect}/><rect class="box-{number}" {rect}/>')
    for number, (x, y) in enumerate(_badges(boxes)):
        drawn.append(f'<circle class="box-{number}" cx="{x:.1f}" cy="{y:.1f}" r="{BADGE}"/>')
        drawn.append(f'<text x="{x:.1f}" y="{y + 3.7:.1f}">{number + 1}</text>')
    alt = f"a picture of {', '.join(item.labels)}, with its {len(boxes)} most attractive regions as numbered boxes"
    return f'<svg viewBox="0 0 {width} {height:g}" role="img" aria-label="{escape(alt)}">{"".join(drawn)}</svg>'


def _badges(boxes: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Where each box bears its number: inside the corner, or edge, that is farthest from the numbers before."""
    placed: list[tuple[float, float]] = []
    for x0, y0, x1, y1 in boxes:
        across = (x0 + BADGE + 2, (x0 + x1) / 2, x1 - BADGE - 2)
        down = (y0 + BADGE + 2, (y0 + y1) / 2, y1 - BADGE - 2)
        places = [(x, y) for y in down for x in across if (x, y) != (across[1], down[1])]
        room = [min(((x - u) ** 2 + (y - v) ** 2 for u, v in placed), default=0.0) for x, y in places]
        roomy = (place for place, distance in zip(places, room, strict=True) if distance > (3 * BADGE) ** 2)
        placed.append(next(roomy, places[room.index(max(room))]))
    return placed


def _made(findings: Findings) -> str:
    facts = "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in findings.facts.items())
    return f"<dl>\n{facts}\n</dl>\n<h3>What to try next</h3>\n<pre>{escape(findings.next_steps)}</pre>"
