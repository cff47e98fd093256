"""Ours beside the paper's: for each gallery and direction a table of MAP with intervals, printed values and chance."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deepbinaries.experiments.cells import Cell as Measured
from deepbinaries.experiments.charts import Line
from deepbinaries.experiments.compare import Result, check, results_of, results_there, trainings
from deepbinaries.experiments.comparison_table import QUERY, Column, entry_of
from deepbinaries.experiments.contest import Contestant, Task
from deepbinaries.experiments.paper.figures import Panel
from deepbinaries.experiments.paper.made import Made, about_data
from deepbinaries.experiments.paper.plans import KEEP, Plan, Row
from deepbinaries.experiments.paper.printed import known, misprints, printed
from deepbinaries.experiments.paper.running import Piece, TaskOf
from deepbinaries.experiments.paper.sheets import Cell, Sheet
from deepbinaries.experiments.scores import BOTH

PAPERS = "database"  # the gallery that holds the training items, as the paper's does
LINKS = ("method", "settings", "bits", "seed", "seconds", "command", "digests", "versions")  # of a number to its making


def pieces(plan: Plan, task_of: TaskOf) -> list[Piece]:
    found = []
    for row in plan.rows:
        contestant, task = Contestant(row.method, plan.bits, row.settings), task_of(row.keep)
        check([contestant], task)
        found += [Piece(row, lengths[0], seed) for lengths, seed in trainings(contestant, task)]
    return found


def is_there(piece: Piece, plan: Plan, task: Task) -> bool:  # noqa: ARG001
    return bool(results_there(*_alone(piece, task)))


def learn(piece: Piece, plan: Plan, task: Task) -> None:  # noqa: ARG001
    results_of(*_alone(piece, task))


def _alone(piece: Piece, task: Task) -> tuple[Contestant, Task]:
    return Contestant(piece.row.method, (piece.bits,), piece.row.settings), replace(task, seeds=(piece.seed,))


def draw(plan: Plan, task_of: TaskOf, paper: str) -> Made:
    """The table or figure of the results that are there."""
    task, found = task_of(plan.rows[0].keep), []
    for row in plan.rows:
        results = results_there(Contestant(row.method, plan.bits, row.settings), task_of(row.keep))
        found += [(row, result) for result in results]
    numbers = numbers_of(plan, found, task.folder, paper)
    lines = [{"row": name} | column._asdict() | number.to_json() for (name, column), number in numbers.items()]
    notes = [*about_data(task, plan), *notes_of(plan, paper)]
    return Made({"numbers": lines}, notes, list(sheets_of(plan, numbers)), panels_of(plan, numbers))


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


def numbers_of(plan: Plan, results: Sequence[tuple[Row, Result]], folder: Path, paper: str) -> Numbers:
    """All numbers of a plan; `paper` is the dataset's name among the printed ones, "" where it is not the paper's."""
    by_place: dict[tuple[str, Column], list[Result]] = defaultdict(list)
    printed_as = {row.name: row.paper for row in plan.rows}
    for row, result in results:
        by_place[row.name, Column(result.cell["gallery"], result.bits, result.cell["direction"])].append(result)
    found = {}
    for (name, column), of_seeds in by_place.items():
        entry = entry_of(of_seeds, folder)
        comparable = paper and column.gallery == PAPERS
        beside = printed(plan.name, paper, printed_as[name], column.bits, column.direction) if comparable else None
        cells = [result.cell for result in of_seeds]
        found[name, column] = Number(entry.mean, entry.interval, entry.chance, beside, cells)
    return found


def sheets_of(plan: Plan, numbers: Numbers) -> Iterator[Sheet]:
    """A sheet for each gallery and direction; the best of a column is strong, what is missing is blank."""
    for gallery in dict.fromkeys(column.gallery for _, column in numbers):
        for direction in BOTH:
            columns = [Column(gallery, bits, direction) for bits in plan.bits]
            there = [number for (_, column), number in numbers.items() if column in columns]
            beside = any(number.paper is not None for number in there)
            head = ["row"]
            for column in columns:
                head += [f"{column.bits} bits", *(["paper", "ours − paper"] if beside else [])]
            best = {c: max((n.mean for (_, column), n in numbers.items() if column == c), default=0) for c in columns}
            rows = []
            for row in plan.rows:
                name = f"{row.name} ({row.note})" if row.note else row.name
                cells = [Cell(name, note=row.method)]
                for column in columns:
                    cells += _cells(numbers.get((row.name, column)), best[column], beside)
                rows.append(cells)
            yield Sheet(
                f"{QUERY[direction].capitalize()} queries, gallery {gallery}: MAP@all with its 95 % interval; "
                f"chance {short(there[0].chance)}.",
                head,
                rows,
            )


def panels_of(plan: Plan, numbers: Numbers) -> list[Panel]:
    """A panel for each gallery and direction of a figure; none for a table."""
    if plan.drawn == "table":
        return []
    one = _precision_recall if plan.drawn == "precision-recall" else _sweep
    return [one(plan, numbers, column) for column in sorted({column for _, column in numbers}, key=_place)]


def _place(column: Column) -> tuple[int, bool, int]:
    return column.bits, column.gallery != PAPERS, BOTH.index(column.direction)


def _precision_recall(plan: Plan, numbers: Numbers, column: Column) -> Panel:
    here = [(row.name, numbers[row.name, column]) for row in plan.rows if (row.name, column) in numbers]
    curves = [(name, number.cells[0]["curve"]) for name, number in here]
    lines = [Line(name, curve["recall"], curve["precision"]) for name, curve in curves]
    return Panel(_title(column), "recall", "precision", lines, marks=False)


def _sweep(plan: Plan, numbers: Numbers, column: Column) -> Panel:
    """MAP against what varies."""
    lines = []
    for name in dict.fromkeys(row.line for row in plan.rows):
        here = [row for row in plan.rows if row.line == name and (row.name, column) in numbers]
        lines.append(Line(name, [row.at or 0.0 for row in here], [numbers[row.name, column].mean for row in here]))
    scale = "x" if all(x > 0 for line in lines for x in line.x) else ""
    chance = next(number.chance for (_, place), number in numbers.items() if place == column)
    varied = "K" if plan.varied == KEEP else plan.varied
    return Panel(_title(column), varied, "MAP", lines, logarithmic=scale, level=chance)


def _title(column: Column) -> str:
    return f"{QUERY[column.direction]} queries, {column.gallery}, {column.bits} bits"


def notes_of(plan: Plan, paper: str) -> list[str]:
    """What a reader must know of the numbers, ours and the paper's."""
    if plan.drawn == "precision-recall":
        return [
            "Of codes: all items within each radius, all queries in one pot; of real values: by rank, mean of queries.",
            "The paper's own curves are not at hand.",
        ]
    if not known(plan.name):
        return ["The paper's own numbers of this are not at hand."]
    if not paper:
        return ["The paper has no numbers for this task."]
    return [
        "The paper prints neither cutoff, divisor nor rule of ties of its MAP; printed values stand beside the "
        f"gallery {PAPERS}, which holds the training items as the paper's does.",
        *(f"Misprint: {text}" for text in misprints(plan.name, paper)),
    ]


def _cells(number: Number | None, best: float, beside: bool) -> list[Cell]:
    if number is None:
        return [Cell("")] * (3 if beside else 1)
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
