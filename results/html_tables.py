"""Scores as HTML: tables with the best of each column marked, and charts of dots with their intervals.

Cells and rows have no end tags, which HTML leaves to the writer: one of a table ends where the next one begins, and
the page of all results has thousands of them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from tables import short

from deepbinaries.experiments.charts import Scale

WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 420, 18, 92, 12, 34, 24  # of a chart, in its own units


@dataclass(frozen=True)
class Score:
    """A number with its interval, and what somebody else prints for it."""

    mean: float
    interval: Sequence[float] | None = None
    beside: float | None = None


Rows = Mapping[str, Sequence[Score | None]]  # by name: a score a column


@dataclass(frozen=True)
class Table:
    """Scores by row and column; `beside` is whose the numbers beside ours are."""

    caption: str
    columns: Sequence[str]
    rows: Rows
    beside: str = ""

    def to_html(self) -> str:
        # As shown: of two scores that read the same, none is the better one.
        best = [max((short(score.mean) for score in column if score), default="") for column in self._by_column()]
        head = "".join(f'<th scope="col">{escape(column)}' for column in ("method", *self.columns))
        body = "\n".join(
            f'<tr><th scope="row">{_name(name)}{"".join(map(self._cell, scores, best))}'
            for name, scores in self.rows.items()
        )
        return (
            f'<div class="scroll"><table class="scores"><caption>{escape(self.caption)}</caption>\n'
            f"<thead><tr>{head}<tbody>\n{body}\n</table></div>"
        )

    def _by_column(self) -> Iterator[tuple[Score | None, ...]]:
        return zip(*self.rows.values(), strict=True)

    def _cell(self, score: Score | None, best: str) -> str:
        if score is None:
            return "<td>"
        shown = short(score.mean)
        parts = [f"<b>{shown}</b>" if shown == best else shown]
        if score.interval is not None:
            parts.append(f"<small>{short(score.interval[0])}–{short(score.interval[1])}</small>")
        if score.beside is not None:
            parts.append(f'<small class="beside">{escape(self.beside)} {short(score.beside)}</small>')
        return f"<td>{' '.join(parts)}"


def dots(title: str, rows: Rows, series: Sequence[str], *, chance: float) -> str:
    """A chart with a line a row, and on it a dot with its interval for each of the series; chance is dashed."""
    scores = [score for row in rows.values() for score in row if score]
    ends = [end for score in scores for end in (score.mean, *(score.interval or ()))]
    low, high = int(min(*ends, chance) * 20) / 20, int(max(ends) * 20 + 1) / 20
    x, height = Scale((low, high), (LEFT, WIDTH - RIGHT)), TOP + ROW * len(rows) + BOTTOM
    parts = [f'<svg class="chart dots" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">']
    for tick in x.ticks():
        parts.append(f'<path class="grid" d="M{x(tick):.1f} {TOP - 6}V{height - BOTTOM}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{height - 8}" text-anchor="middle">{short(tick)}</text>')
    parts.append(f'<path class="chance" d="M{x(chance):.1f} {TOP - 6}V{height - BOTTOM}"/>')
    for place, name in enumerate([*series, "chance"]):
        left = LEFT + 116 * place
        sample = f'<path class="chance" d="M{left} 12h14"/>' if name == "chance" else _dot(left + 7, 12, place)
        parts.append(f'{sample}<text x="{left + 20}" y="16">{escape(name)}</text>')
    for line, (name, row) in enumerate(rows.items()):
        y = TOP + ROW * (line + 0.5)
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>')
        for place, score in enumerate(row):
            if score:
                at = y + 6 * (place - (len(row) - 1) / 2)
                parts += _whisker(x, score, at, place)
    return "\n".join([*parts, "</svg>"])


def from_markdown(lines: Iterable[str], caption: str = "") -> str:
    """A table of Markdown as one of HTML.

    >>> from_markdown(["| a | b |", "| --- | --- |", "| `x` | **1** |"]).count("<b>1</b>")
    1
    """
    head, _, *rows = [[part.strip() for part in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    above = f"<caption>{marked(caption)}</caption>\n" if caption else ""
    first = "".join(f'<th scope="col">{marked(text)}' for text in head)
    body = "\n".join(
        f'<tr><th scope="row">{marked(row[0])}{"".join(f"<td>{marked(text)}" for text in row[1:])}' for row in rows
    )
    return f'<div class="scroll"><table>{above}<thead><tr>{first}<tbody>\n{body}\n</table></div>'


def marked(text: str) -> str:
    """A text of Markdown as HTML: names in backticks, and what is bold.

    >>> marked("**+.007** of `tvdb` < 1")
    '<b>+.007</b> of <code>tvdb</code> &lt; 1'
    """
    return re.sub(r"`(.*?)`", r"<code>\1</code>", re.sub(r"\*\*(.*?)\*\*", r"<b>\1</b>", escape(text)))


def folded(title: str, content: str) -> str:
    """What is shown when its title is asked for."""
    return f"<details><summary>{title}</summary>\n{content}\n</details>"


def paragraph(text: str) -> str:
    return f"<p>{marked(text)}</p>"


def _name(name: str) -> str:
    method, comma, rest = name.partition(", ")
    return f"<code>{escape(method)}</code>" + (f" <small>{escape(rest)}</small>" if comma else "")


def _whisker(x: Scale, score: Score, y: float, place: int) -> Iterator[str]:
    if score.interval is not None:
        low, high = score.interval
        yield f'<path class="line line-{place}" d="M{x(low):.1f} {y:.1f}H{x(high):.1f}"/>'
    yield _dot(x(score.mean), y, place)


def _dot(x: float, y: float, place: int) -> str:
    return f'<circle class="dot-{place}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
