"""Ours beside the paper's: for each gallery and direction a table of MAP with intervals, printed values and chance."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from deepbinaries.datasets import Parts
from deepbinaries.evaluation import Difference
from deepbinaries.experiments.cells import Cell as Measured
from deepbinaries.experiments.charts import Line
from deepbinaries.experiments.compare import Result, check, has_scores, results_of, results_there, trainings
from deepbinaries.experiments.comparison_table import QUERY, Column, Entry, entry_of, judged
from deepbinaries.experiments.contest import Contestant, Task
from deepbinaries.experiments.paper.differences import DIGITS, differences_of
from deepbinaries.experiments.paper.figures import Panel
from deepbinaries.experiments.paper.made import Made, about_data
from deepbinaries.experiments.paper.plans import LETTERS, Plan, Row
from deepbinaries.experiments.paper.printed import known, misprints, printed, protocol, quoted
from deepbinaries.experiments.paper.running import Piece, TaskOf
from deepbinaries.experiments.paper.sheets import Cell, Sheet
from deepbinaries.experiments.paper.trainings import anchor_of
from deepbinaries.experiments.scores import BOTH
from deepbinaries.registry import METHODS, TVDB

PAPERS = "database"  # the gallery that holds the training items, as the paper's does
LEAST_RECALL = 0.001  # that is drawn: before it precision is that of a few items, and anything
ROOM = 0.03  # above and below the lines, of the height of a drawing
# Of a number's training; its codes have digests in the cell.
LINKS = (
    *("method", "settings", "bits", "seed", "proposer", "rule"),
    *("seconds", "command", "digests", "versions", "machine"),
)


def pieces(plan: Plan, task_of: TaskOf) -> list[Piece]:
    found = []
    for row in plan.rows:
        contestant = Contestant(row.method, plan.bits, row.settings)
        task = replace(task_of(row.keep), seeds=plan.seeds)
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
    sizes = [sizes_of(task.parts, paper)] if paper and known(plan.name) else []
    notes = [*about_data(task, plan), *notes_of(plan, paper), *sizes, *notes_on(plan, numbers)]
    content = content_of(plan, numbers)
    made = Made(content, notes, list(sheets_of(plan, numbers)), panels_of(plan, numbers))
    return replace(made, trainings=content["trainings"])


@dataclass(frozen=True)
class Number:
    """One number of ours with what it is to be read beside."""

    mean: float
    # 95 %, over queries, and over seeds where there are several; None: of several, what queries scored is not there.
    interval: tuple[float, float] | None
    chance: float
    paper: float | None  # None: the paper prints none, or of another task
    cells: Sequence[Measured]  # one a seed
    over_reference: Difference | None = None  # None: it is the reference, or what queries scored is not there

    @property
    def map_500(self) -> dict[str, Any]:
        """MAP@500, with its divisor and chance."""
        value = fmean(cell["map_500"]["value"] for cell in self.cells)
        return {**self.cells[0]["map_500"], "value": round(value, DIGITS)}

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.paper is None else self.mean - self.paper

    def to_json(self) -> dict[str, Any]:
        interval = None if self.interval is None else [round(end, DIGITS) for end in self.interval]
        found: dict[str, Any] = {"map_all": round(self.mean, DIGITS), "interval": interval}
        found |= {"map_500": self.map_500, "chance": self.chance, "paper": self.paper}
        found |= {"over_reference": self.over_reference.to_json()} if self.over_reference is not None else {}
        found["difference"] = None if self.difference is None else round(self.difference, DIGITS)
        return found


Numbers = Mapping[tuple[str, Column], Number]  # by the name of a row and the column


def content_of(plan: Plan, numbers: Numbers) -> dict[str, Any]:
    """What the JSON of a table holds: its numbers, and the trainings that they name by their places in a list.

    A training has several numbers, two galleries in two directions, and is told once.
    """
    trainings, lines = list[dict[str, Any]](), []
    for (name, column), number in numbers.items():
        made = [training_of(cell) for cell in number.cells]
        trainings += [training for training in made if training not in trainings]
        places = [trainings.index(training) for training in made]
        lines.append({"row": name} | column._asdict() | number.to_json() | {"trainings": places})
    notes = {row.name: row.note for row in plan.rows if row.note}
    return {"reference": plan.reference, "notes_on_rows": notes, "trainings": trainings, "numbers": lines}


def training_of(cell: Measured) -> dict[str, Any]:
    """How a cell was made, as far as the others of its training were made so too."""
    found = {name: cell[name] for name in LINKS if name in cell}
    return found | {"digests": {of: digest for of, digest in cell.get("digests", {}).items() if of != "codes"}}


def numbers_of(plan: Plan, results: Sequence[tuple[Row, Result]], folder: Path, paper: str) -> Numbers:
    """All numbers of a plan; `paper` is the dataset's name among the printed ones, "" where it is not the paper's."""
    by_place: dict[tuple[str, Column], list[Result]] = defaultdict(list)
    printed_as = {row.name: row.paper for row in plan.rows}
    for row, result in results:
        by_place[row.name, Column(result.cell["gallery"], result.bits, result.cell["direction"])].append(result)
    entries = _compared(by_place, plan.reference, folder)
    means = {place: fmean(result.cell["map_all"] for result in of_seeds) for place, of_seeds in by_place.items()}
    differences = differences_of(entries, means, plan.reference, folder / f"{plan.name}.json")
    found = {}
    for (name, column), of_seeds in by_place.items():
        comparable = paper and column.gallery == PAPERS
        beside = printed(plan.name, paper, printed_as[name], column.bits, column.direction) if comparable else None
        cells, entry = [result.cell for result in of_seeds], entries.get((name, column))
        mean, over = means[name, column], differences.get((name, column))
        found[name, column] = Number(mean, _interval(cells, entry), cells[0]["chance"], beside, cells, over)
    return found


def _compared(
    by_place: Mapping[tuple[str, Column], Sequence[Result]], reference: str, folder: Path
) -> dict[tuple[str, Column], Entry]:
    """The entries of which the folder has what every query scored, with their differences to the reference."""
    found = {
        place: entry_of(results, folder)
        for place, results in by_place.items()
        if all(has_scores(result.cell, folder) for result in results)
    }
    for column in {column for _, column in found} if reference else ():
        of_column = {name: entry for (name, at), entry in found.items() if at == column}
        found |= {(name, column): entry for name, entry in judged(of_column, reference).items()}
    return found


def _interval(cells: Sequence[Measured], entry: Entry | None) -> tuple[float, float] | None:
    """A single cell has its own, so that it is the same with and without what every query scored."""
    if len(cells) == 1 and "interval" in cells[0]:
        low, high = cells[0]["interval"]
        return low, high
    return None if entry is None else entry.interval


def sheets_of(plan: Plan, numbers: Numbers) -> Iterator[Sheet]:
    """A sheet for each gallery and direction; the best of a column is strong, what is missing is blank.

    Rows and lengths of which nothing is there are left out of all sheets.
    """
    shown = [row for row in plan.rows if any(name == row.name for name, _ in numbers)]
    lengths = [bits for bits in plan.bits if any(column.bits == bits for _, column in numbers)]
    for gallery in dict.fromkeys(column.gallery for _, column in numbers):
        for direction in BOTH:
            columns = [Column(gallery, bits, direction) for bits in lengths]
            there = [number for (_, column), number in numbers.items() if column in columns]
            beside = any(number.paper is not None for number in there)
            head = ["row"]
            for column in columns:
                head += [f"{column.bits} bits", *(["paper", "ours − paper"] if beside else [])]
            best = {c: max((n.mean for (_, column), n in numbers.items() if column == c), default=0) for c in columns}
            rows = []
            for row in shown:
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
    columns = sorted({column for _, column in numbers}, key=_place)
    if plan.drawn == "precision-recall":
        return _on_one_scale([_precision_recall(plan, numbers, column) for column in columns])
    return [_sweep(plan, numbers, column) for column in columns]


def _place(column: Column) -> tuple[int, bool, int]:
    return column.bits, column.gallery != PAPERS, BOTH.index(column.direction)


def _precision_recall(plan: Plan, numbers: Numbers, column: Column) -> Panel:
    here = [(row.name, numbers[row.name, column]) for row in plan.rows if (row.name, column) in numbers]
    lines = []
    for name, number in here:
        curve = number.cells[0]["curve"]
        points = [(x, y) for x, y in zip(curve["recall"], curve["precision"], strict=True) if x >= LEAST_RECALL]
        lines.append(Line(name, [x for x, _ in points], [y for _, y in points]))
    ours = [row.name for row in plan.rows if METHODS.find(row.method).target == TVDB]
    classical = [row.name for row in plan.rows if not METHODS.find(row.method).extra]  # networks need PyTorch
    return Panel(_title(column), "recall", "precision", lines, marks=False, loud=ours, quiet=classical)


def _on_one_scale(panels: Sequence[Panel]) -> list[Panel]:
    """The panels with one range of y, so that a line in one can be held against a line in another."""
    heights = [y for panel in panels for line in panel.lines for _, y in line.points()]
    low, high = min(heights), max(heights)
    room = ROOM * ((high - low) or 1)
    return [replace(panel, y_range=(low - room, high + room)) for panel in panels]


def _sweep(plan: Plan, numbers: Numbers, column: Column) -> Panel:
    """MAP against what varies."""
    lines = []
    for name in dict.fromkeys(row.line for row in plan.rows):
        here = [row for row in plan.rows if row.line == name and (row.name, column) in numbers]
        if not here:
            continue
        lines.append(Line(name, [row.at or 0.0 for row in here], [numbers[row.name, column].mean for row in here]))
    scale = "x" if all(x > 0 for line in lines for x in line.x) else ""
    chance = next(number.chance for (_, place), number in numbers.items() if place == column)
    return Panel(_title(column), LETTERS.get(plan.varied, plan.varied), "MAP", lines, logarithmic=scale, chance=chance)


def _title(column: Column) -> str:
    return f"{QUERY[column.direction]} queries, {column.gallery}, {column.bits} bits"


def notes_of(plan: Plan, paper: str) -> list[str]:
    """What a reader must know of the numbers, ours and the paper's."""
    if plan.drawn == "precision-recall":
        return [
            "Of codes: all items within each radius, all queries in one pot; of real values: by rank, mean of queries.",
            f"Lines begin at a recall of {LEAST_RECALL:g}; before it precision is that of a few items. A line begins "
            "further on where more than that lies at distance 0, nearer than which there is nothing. Their points "
            "are the curve of each line of cells.jsonl.",
            "Thick lines are TVDB's, pale ones those of methods without networks.",
            "The paper's own curves are not at hand.",
        ]
    if not known(plan.name):
        return ["There are no numbers of the paper's to put beside these."]
    if not paper:
        return ["The paper has no numbers for this task."]
    return [
        "The paper prints neither cutoff, divisor nor rule of ties of its MAP; printed values stand beside the "
        f"gallery {PAPERS}, which holds the training items as the paper's does.",
        *(f"Misprint: {text}" for text in misprints(plan.name, paper)),
        *quoted(plan.name),
    ]


def sizes_of(parts: Parts, paper: str) -> str:
    """How many items are searched, ask and are learnt from, in the paper and here."""
    theirs = "; ".join(protocol(paper)[part] for part in ("database", "query", "train"))
    ours = "; ".join(f"{len(rows):,}" for rows in (parts.gallery(PAPERS), parts.query, parts.train))
    return f"Items that are searched, that ask, and that are learnt from: in the paper {theirs}; here {ours}."


def notes_on(plan: Plan, numbers: Numbers) -> list[str]:
    """What the marks of a table mean, and where some cannot be there."""
    if not plan.reference:
        return []
    found = [
        f"A star: differs from {plan.reference} on the same queries, the 95 % interval of the difference leaves zero "
        "out. The differences with their intervals, and p-values corrected for the rows of a column, are in the JSON."
    ]
    alone = [name for (name, _), number in numbers.items() if number.over_reference is None and name != plan.reference]
    if alone:
        rows = ", ".join(dict.fromkeys(alone))
        found.append(f"Not compared everywhere, as what queries scored, or the reference, is not all there: {rows}.")
    return found


def _cells(number: Number | None, best: float, beside: bool) -> list[Cell]:
    if number is None:
        return [Cell("")] * (3 if beside else 1)
    mark = "*" if number.over_reference is not None and number.over_reference.differs else ""
    around = f"[{', '.join(map(short, number.interval))}]" if number.interval is not None else ""
    link = anchor_of(training_of(number.cells[0]))
    found = [Cell(f"{short(number.mean)}{mark}", number.mean == best, link=link, more=around)]
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
