"""Making the rows of a plan: each training is kept as soon as it is there, and how long the rest will take is told."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from deepbinaries.experiments.alone import alone_in
from deepbinaries.experiments.cells import identity, read_cells
from deepbinaries.experiments.compare import CELLS, Result, check, results_of
from deepbinaries.experiments.contest import Contestant, Task, Tell
from deepbinaries.experiments.paper.plans import Plan, Row

TaskOf = Callable[[int | None], Task]  # the task for a number of regions; None: as the dataset is seen
Item = TypeVar("Item")


@dataclass(frozen=True)
class Placed:
    """A result and the row that it belongs to."""

    row: Row
    result: Result


def run_rows(plan: Plan, task_of: TaskOf) -> list[Placed]:
    """The results of all rows at all lengths; those that are not there yet are made."""
    contestants = [(row, Contestant(row.method, (bits,), row.settings)) for row in plan.rows for bits in plan.bits]
    for keep in dict.fromkeys(row.keep for row in plan.rows):
        check([contestant for row, contestant in contestants if row.keep == keep], task_of(keep))
    first = task_of(plan.rows[0].keep)
    with alone_in(first.folder):
        path = first.folder / CELLS
        there = {identity(cell) for cell in read_cells(path)} if path.exists() else set()
        progress = Progress(plan.name, first.tell)
        found: list[Placed] = []
        for row, contestant in progress.of(contestants):
            first.tell(f"{plan.name}: {row.name}, {contestant.bits[0]} bits")
            results = results_of(contestant, task_of(row.keep))
            progress.made = any(identity(result.cell) not in there for result in results)
            there |= {identity(result.cell) for result in results}
            found += [Placed(row, result) for result in results]
    return found


class Progress:
    """Goes through what is to be done, and tells after each piece about how long the others will take.

    Whoever does a piece says by `made` whether it took any work: what was there already says nothing about time.
    """

    def __init__(self, what: str, tell: Tell):
        self.what = what
        self.tell = tell
        self.made = True
        self._seconds: list[float] = []

    def of(self, items: Sequence[Item]) -> Iterator[Item]:
        for number, item in enumerate(items, start=1):
            self.made, began = True, time.monotonic()
            yield item
            self._seconds += [time.monotonic() - began] if self.made else []
            self.tell(f"{self.what}: {number} of {len(items)} done{self._left(len(items) - number)}")

    def _left(self, pieces: int) -> str:
        if not pieces or not self._seconds:
            return ""
        return f", about {in_words(pieces * sum(self._seconds) / len(self._seconds))} left"


def in_words(seconds: float) -> str:
    """A time as a person says it.

    >>> in_words(42.4), in_words(600), in_words(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
