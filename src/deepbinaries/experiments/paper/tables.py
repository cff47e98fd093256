"""Ours beside the paper's: for each gallery and direction a table of MAP with intervals, printed values and chance."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepbinaries.experiments.cells import Cell as Measured
from deepbinaries.experiments.charts import Line
from deepbinaries.experiments.comparison_table import QUERY, Column, entry_of
from deepbinaries.experiments.contest import Task
from deepbinaries.experiments.paper.figures import Panel
from deepbinaries.experiments.paper.made import Made, about_data
from deepbinaries.experiments.paper.plans import Plan
from deepbinaries.experiments.paper.printed import known, misprints, printed
from deepbinaries.experiments.paper.running import Placed
from deepbinaries.experiments.paper.sheets import Cell, Sheet
from deepbinaries.experiments.scores import BOTH

PAPERS = "database"  # the gallery that holds the training items, as the paper's does
LINKS = ("method", "settings", "bits", "seed", "seconds", "command", "digests", "versions")  # of a number to its making


@dataclass(frozen=True)
class Number:
    """One number of ours with what it is to be read beside."""

    mean: float
    interval: tuple[float, float]  # 95 %, over queries, and over seeds where there are several
    chance: float
    paper: float | None  # None: the paper prints none, or of another task
    cells: Sequence[Measured]  # one a seed

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.paper is None else self.mean - self.paper

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"map_all": round(self.mean, 6), "interval": [round(end, 6) for end in self.interval]}
        found |= {"chance": self.chance, "paper": self.paper}
        found["difference"] = None if self.difference is None else round(self.difference, 6)
        return found | {"cells": [{name: cell[name] for name in LINKS if name in cell} for cell in self.cells]}


Numbers = Mapping[tuple[str, Column], Number]  # by the name of a row and the column


def numbers_of(plan: Plan, placed: Sequence[Placed], folder: Path, paper: str) -> Numbers:
    """All numbers of a plan; `paper` is the dataset's name among the printed ones, "" where it is not the paper's."""
    by_place: dict[tuple[str, Column], list[Placed]] = defaultdict(list)
    for one in placed:
        column = Column(one.result.cell["gallery"], one.result.bits, one.result.cell["direction"])
        by_place[one.row.name, column].append(one)
    found = {}
    for (name, column), ones in by_place.items():
        entry = entry_of([one.result for one in ones], folder)
        comparable = paper and column.gallery == PAPERS
        beside = printed(plan.name, paper, ones[0].row.paper, column.bits, column.direction) if comparable else None
        cells = [one.result.cell for one in ones]
        found[name, column] = Number(entry.mean, entry.interval, entry.chance, beside, cells)
    return found


def sheets_of(plan: Plan, numbers: Numbers) -> Iterator[Sheet]:
    """A sheet for each gallery and direction; the best of a column is strong."""
    for gallery in dict.fromkeys(column.gallery for _, column in numbers):
        for direction in BOTH:
            columns = [Column(gallery, bits, direction) for bits in plan.bits]
            beside = any(numbers[row.name, column].paper is not None for row in plan.rows for column in columns)
            head = ["row"]
            for column in columns:
                head += [f"{column.bits} bits", *(["paper", "ours − paper"] if beside else [])]
            best = {column: max(numbers[row.name, column].mean for row in plan.rows) for column in columns}
            rows = []
            for row in plan.rows:
                name = f"{row.name} ({row.note})" if row.note else row.name
                cells = [Cell(name, note=row.method)]
                for column in columns:
                    cells += _cells(numbers[row.name, column], best[column], beside)
                rows.append(cells)
            chance = numbers[plan.rows[0].name, columns[0]].chance
            yield Sheet(
                f"{QUERY[direction].capitalize()} queries, gallery {gallery}: MAP@all with its 95 % interval; "
                f"chance {short(chance)}.",
                head,
                rows,
            )


def panels_of(plan: Plan, numbers: Numbers) -> list[Panel]:
    """A panel for each gallery and direction of a figure; none for a table."""
    if plan.drawn == "table":
        return []
    columns = [column for column in dict.fromkeys(column for _, column in numbers) if column.bits == plan.bits[0]]
    one = _precision_recall if plan.drawn == "precision-recall" else _sweep
    return [one(plan, numbers, column) for column in columns]


def _precision_recall(plan: Plan, numbers: Numbers, column: Column) -> Panel:
    curves = [(row.name, numbers[row.name, column].cells[0]["curve"]) for row in plan.rows]
    lines = [Line(name, curve["recall"], curve["precision"]) for name, curve in curves]
    return Panel(_title(column), "recall", "precision", lines, marks=False)


def _sweep(plan: Plan, numbers: Numbers, column: Column) -> Panel:
    """MAP against what varies."""
    lines = []
    for name in dict.fromkeys(row.line for row in plan.rows):
        points = [(row.at or 0.0, numbers[row.name, column].mean) for row in plan.rows if row.line == name]
        lines.append(Line(name, [x for x, _ in points], [y for _, y in points]))
    scale = "x" if all(x > 0 for line in lines for x in line.x) else ""
    chance = numbers[plan.rows[0].name, column].chance
    return Panel(_title(column), plan.varied, "MAP", lines, logarithmic=scale, level=chance)


def _title(column: Column) -> str:
    return f"{QUERY[column.direction]} queries, {column.gallery}, {column.bits} bits"


def notes_of(plan: Plan, paper: str) -> list[str]:
    """What a reader must know of the paper's numbers."""
    if not known(plan.name):
        return ["The paper's own numbers of this are not at hand."]
    if not paper:
        return ["The paper has no numbers for this task."]
    return [
        "The paper prints neither cutoff, divisor nor rule of ties of its MAP; printed values stand beside the "
        f"gallery {PAPERS}, which holds the training items as the paper's does.",
        *(f"Misprint: {text}" for text in misprints(plan.name, paper)),
    ]


def made_of(plan: Plan, placed: Sequence[Placed], task: Task, paper: str) -> Made:
    """The table or figure of these results."""
    numbers = numbers_of(plan, placed, task.folder, paper)
    lines = [{"row": name} | column._asdict() | number.to_json() for (name, column), number in numbers.items()]
    notes = [*about_data(task, plan), *notes_of(plan, paper)]
    return Made({"numbers": lines}, notes, list(sheets_of(plan, numbers)), panels_of(plan, numbers))


def _cells(number: Number, best: float, beside: bool) -> list[Cell]:
    cell = number.cells[0]
    note = f"{cell['seconds']:.1f} s, seed {cell['seed']}: {cell['command']}"
    low, high = number.interval
    found = [Cell(f"{short(number.mean)} [{short(low)}, {short(high)}]", number.mean == best, note)]
    if beside:
        found.append(Cell("" if number.paper is None else short(number.paper)))
        found.append(Cell("" if number.difference is None else signed(number.difference)))
    return found


def short(value: float) -> str:
    """Three digits, without the zero before them.

    >>> short(0.61234), short(1)
    ('.612', '1.000')
    """
    return f"{value:.3f}".removeprefix("0")


def signed(value: float) -> str:
    """Three digits with a sign.

    >>> signed(-0.0136), signed(0.2)
    ('−.014', '+.200')
    """
    return ("−" if value < 0 else "+") + short(abs(value))
