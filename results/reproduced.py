"""What `deepbinaries reproduce` left in results/reproduce, task by task, and the texts that tables make of it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packed import packed_cells
from tables import DIRECTIONS, TITLES, added, short, signed
from task_tables import GALLERIES

from deepbinaries.experiments.cells import Cell
from deepbinaries.experiments.comparison_table import Column
from deepbinaries.experiments.paper.made import NOT_YET
from deepbinaries.experiments.paper.plans import OF_CELLS, read_plan
from deepbinaries.files import read_json, read_lines

BEST, TVDB, PRINTED = "TVDB, best form", "TVDB", "TVDB, printed update"  # the rows of ours
OURS = BEST, TVDB, PRINTED
BITS = 64  # the length of every table that does not say another
PLACES = tuple(Column(gallery, BITS, direction) for gallery in GALLERIES for direction in DIRECTIONS)

Number = Mapping[str, Any]  # as in the JSON of a table
Numbers = Mapping[tuple[str, Column], Number]  # by the name of a row and the column
Cells = dict[tuple[str, ...], dict[str, str]]  # texts by row, and in it by rule


@dataclass(frozen=True)
class Task:
    """A dataset under a rule of what is relevant."""

    dataset: str
    rule: str
    folder: str  # in results/reproduce
    options: str = ""  # of the command that makes it
    wanted: bool = True  # whether a page says so where it is not there

    @property
    def name(self) -> str:
        """As in the cell of a table."""
        return self.dataset if self.rule == "all" else f"{self.dataset}, {self.rule}"

    @property
    def title(self) -> str:
        return TITLES[self.dataset, self.rule]

    def missing(self, name: str, what: str = "") -> str:
        """What makes a table that is not there, or of which `what` is not there."""
        out, about = f"results/reproduce/{self.folder}", f"--dataset {self.dataset} --root {self.dataset}{self.options}"
        # The cells of other tables, which are packed, have the trainings that this one shares with them.
        before = f", after `xz -dk {out}/cells.jsonl.xz`" if read_plan(name, self.dataset).drawn in OF_CELLS else ""
        title = f"{self.title}: {what}" if what else self.title
        return f"Not here yet for {title}; made by `deepbinaries reproduce {name} {about} --out {out}`{before}."


TASKS = (
    Task("coco18", "r18", "coco18"),
    Task("coco18", "r17", "coco18-r17", " --ignore-label person", wanted=False),
    Task("iapr22", "all", "iapr22"),
)


def made(root: Path, name: str) -> tuple[dict[Task, Mapping[str, Any]], list[str]]:
    """A table or figure of each task that has it, and a line for each that should, or has a part of it."""
    paths = {task: root / "reproduce" / task.folder / f"{name}.json" for task in TASKS}
    there = {task: read_json(path) for task, path in paths.items() if path.exists()}
    lines = []
    for task in (task for task in TASKS if task.wanted):
        if task not in there:
            lines += [task.missing(name), ""]
        for note in there.get(task, {}).get("notes", ()):
            if note.startswith(NOT_YET):
                lines += [task.missing(name, note.removeprefix(NOT_YET).removesuffix(".")), ""]
    return there, lines


def numbers(root: Path, name: str) -> tuple[dict[Task, Numbers], list[str]]:
    """The same, of a table the numbers alone."""
    there, missing = made(root, name)
    return {task: _by_place(content) for task, content in there.items()}, missing


def _by_place(content: Mapping[str, Any]) -> Numbers:
    """The numbers by their places, each with its trainings instead of where these stand in the table."""
    found = {}
    for number in content["numbers"]:
        trainings = [content["trainings"][place] for place in number["trainings"]]
        column = Column(number["gallery"], number["bits"], number["direction"])
        found[number["row"], column] = dict(number) | {"trainings": trainings}
    return found


def reproduced_cells(root: Path, task: Task) -> list[Cell]:
    return packed_cells(root / "reproduce" / task.folder / "cells.jsonl")


def cell_of(found: Numbers, row: str, column: Column, cells: Sequence[Cell]) -> Cell | None:
    """The cell that a number was made of; None where the cells have none."""
    for training in found.get((row, column), {}).get("trainings", ()):
        facts = {name: training[name] for name in ("method", "settings", "bits", "seed")}
        facts |= {"gallery": column.gallery, "direction": column.direction}
        for cell in cells:
            if all(cell.get(name) == fact for name, fact in facts.items()):
                return cell
    return None


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_lines(path)] if path.exists() else []


def mean(found: Numbers, row: str, column: Column) -> float | None:
    number = found.get((row, column))
    return None if number is None else number["map_all"]


def chance(found: Numbers, gallery: str) -> str:
    return next((text(number["chance"]) for (_, column), number in found.items() if column.gallery == gallery), "")


def chances(found: Numbers) -> str:
    return "chance " + " and ".join(f"{chance(found, gallery)} (`{gallery}`)" for gallery in GALLERIES)


def over_reference(found: Numbers, row: str, column: Column) -> str:
    """A row less the reference of its table, with the interval."""
    return difference(found.get((row, column), {}).get("over_reference"))


def reference_over(found: Numbers, row: str, column: Column) -> str:
    """The reference less a row: the same turned round."""
    over = found.get((row, column), {}).get("over_reference")
    return difference(over and {"mean": -over["mean"], "interval": [-end for end in reversed(over["interval"])]})


def difference(over: Mapping[str, Any] | None) -> str:
    """A difference, bold where its interval leaves zero out; "" where there is none.

    >>> difference({"mean": -0.0371, "interval": [-0.045, -0.029]}), difference(None)
    ('**-.037** [-.045, -.029]', '')
    """
    return "" if over is None else added({"over_whole": over["mean"], "interval": over["interval"]})


def less(first: float | None, second: float | None) -> str:
    """A difference of two numbers; "" where one is missing.

    >>> less(0.5, 0.75), less(0.5, 0.50001), less(0.5, None)
    ('-.250', '+.000', '')
    """
    return "" if first is None or second is None else signed(round(first - second, 3) + 0.0)  # no -.000


def text(value: float | None) -> str:
    return "" if value is None else short(value)


def share(found: Iterable[bool]) -> str:
    """How many of how many; "" of none.

    >>> share([True, False, True]), share([])
    ('2 of 3', '')
    """
    there = list(found)
    return f"{sum(there)} of {len(there)}" if there else ""


def caption(words: str) -> Iterator[str]:
    yield from (words, "")


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table of Markdown and the empty line behind it; nothing where there are no rows."""
    if shown := [f"| {' | '.join(row)} |" for row in rows]:
        yield from [f"| {' | '.join(head)} |", "| --- " * len(head) + "|", *shown, ""]


def by_rule(head: Sequence[str], cells: Cells) -> Iterator[str]:
    """A table with a column a task; what is missing is blank."""
    rows = [[*row, *(of_rules.get(task.rule, "") for task in TASKS)] for row, of_rules in cells.items()]
    yield from grid([*head, *(task.name for task in TASKS)], rows)
