"""Making what a table or figure is drawn from: each training is kept as soon as it is there."""

import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from deepbinaries.experiments.contest import Contestant, Task, Tell
from deepbinaries.experiments.paper.made import Made
from deepbinaries.experiments.paper.plans import Plan, Row

TaskOf = Callable[[int | None], Task]  # the task for a number of regions; None: as the dataset is seen


@dataclass(frozen=True)
class Piece:
    """What is learnt at a time: a row at a length, from a seed."""

    row: Row
    bits: int
    seed: int

    def __str__(self) -> str:
        return f"{self.row.name}, {self.bits} bits, seed {self.seed}"


def make(piece: Piece, task: Task) -> Any:
    """The hasher of a piece, which has learnt nothing yet."""
    contestant = Contestant(piece.row.method, (piece.bits,), piece.row.settings)
    return contestant.make(piece.bits, piece.seed, device=task.device)


def named(hasher: Any, piece: Piece, task: Task) -> dict[str, Any]:
    """What tells a piece that is no cell from every other one."""
    about: dict[str, Any] = {"experiment": task.experiment, "method": piece.row.method, "bits": piece.bits}
    about |= {"seed": piece.seed, "settings": task.kept_settings(hasher)}
    return about | {"rule": task.rule, "digests": task.all_digests}


def command_of(task: Task, *, bits: int, seed: int, row: str = "") -> str:
    """The command that makes what is no cell, of one row alone where it is named."""
    only = ["--only", row] if row else []
    return f"{task.command} {shlex.join([*only, '--bits', str(bits), '--seeds', str(seed)])}"


def made_by(piece: Piece, task: Task) -> dict[str, Any]:
    """What a page tells of a piece that is no cell before its facts: the row, and the command that makes it."""
    return {
        "row": piece.row.name,
        "command": command_of(task, bits=piece.bits, seed=piece.seed, row=piece.row.name),
    }


class Kind(Protocol):
    """How one kind of table or figure is made; a module is one."""

    def pieces(self, plan: Plan, task_of: TaskOf) -> list[Piece]:
        """All that has to be learnt, each once; what cannot end well is refused."""
        ...

    def is_there(self, piece: Piece, plan: Plan, task: Task) -> bool:
        """Whether the task's folder has it."""
        ...

    def learn(self, piece: Piece, plan: Plan, task: Task) -> None:
        """Make a piece, and keep it in the task's folder."""
        ...

    def draw(self, plan: Plan, task_of: TaskOf, paper: str) -> Made:
        """The table or figure of the pieces that are there; at least one is."""
        ...


class Progress:
    """Tells after each piece how many are done, and about how long the others will take."""

    def __init__(self, what: str, total: int, tell: Tell, *, there: int = 0):
        self.what = what
        self.tell = tell
        self._total, self._there = total, there  # of which so many took no time now
        self._done, self._failed = 0, 0
        self._began = time.monotonic()

    def done(self, piece: object) -> None:
        self._done += 1
        self.tell(f"{self.what}: {piece}: {self._there + self._done} of {self._total} done{self._left()}")

    def failed(self, piece: object, why: str) -> None:
        self._failed += 1
        self.tell(f"{self.what}: {piece} failed: {why}")

    def _left(self) -> str:
        over = self._done + self._failed
        left = self._total - self._there - over
        return f", about {in_words(left * (time.monotonic() - self._began) / over)} left" if left else ""


def one_by_one(kind: Kind, pieces: Sequence[Piece], plan: Plan, task_of: TaskOf, progress: Progress) -> None:
    """Learn all pieces in this process."""
    for piece in pieces:
        kind.learn(piece, plan, task_of(piece.row.keep))
        progress.done(piece)


def in_words(seconds: float) -> str:
    """A time as a person says it.

    >>> in_words(42.4), in_words(600), in_words(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
