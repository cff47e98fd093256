"""Making any table or figure of the paper."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from deepbinaries.experiments.alone import alone_in
from deepbinaries.experiments.paper import answers, epochs, tables
from deepbinaries.experiments.paper.jobs import Learn, gather, share
from deepbinaries.experiments.paper.made import Made
from deepbinaries.experiments.paper.plans import Plan
from deepbinaries.experiments.paper.running import Kind, Piece, Progress, TaskOf, one_by_one
from deepbinaries.experiments.paper.timing import run_times

KINDS: dict[str, Kind] = {"epochs": epochs, "answers": answers}  # every other one is drawn from cells

Opened = Callable[[Path], tuple[Plan, TaskOf]]  # for the folder that results go to; other processes are sent it


def make(
    plan: Plan, task_of: TaskOf, paper: str, *, opened: Opened, jobs: int = 1, learn: bool = True
) -> tuple[Made | None, Sequence[Piece]]:
    """The table or figure, None where there is nothing to draw it of, and the trainings that are missing.

    `paper` is the dataset's name among the printed numbers, "" where it has none. With several `jobs`, so many
    processes share the trainings, and where one fails the others go on; `time` is always measured by one alone. Unless
    it is to `learn`, what is there is drawn.
    """
    if plan.drawn == "time":
        return run_times(plan, task_of(None), learn=learn), []
    kind, first = _kind(plan), task_of(plan.rows[0].keep)
    pieces, folder = kind.pieces(plan, task_of), first.folder
    with alone_in(folder):
        gather(folder)
        missing = [piece for piece in pieces if not kind.is_there(piece, plan, task_of(piece.row.keep))]
        progress = Progress(plan.name, len(pieces), first.tell, there=len(pieces) - len(missing))
        if learn and jobs > 1:
            for keep in dict.fromkeys(piece.row.keep for piece in missing):
                task_of(keep).source(False)  # features are made once, before anybody wants them
            missing = share(missing, partial(_learning, opened), jobs=jobs, folder=folder, progress=progress)
        elif learn:
            one_by_one(kind, missing, plan, task_of, progress)
            missing = []
    if len(missing) == len(pieces):
        return None, missing
    made = kind.draw(plan, task_of, paper)
    if missing:
        made = replace(made, notes=[*made.notes, f"Not all is here. Missing: {'; '.join(map(str, missing))}."])
    return made, missing


def _kind(plan: Plan) -> Kind:
    return KINDS.get(plan.drawn, tables)


def _learning(opened: Opened, folder: Path) -> Learn:
    """What a process does with a piece, in the folder that it may write to."""
    plan, task_of = opened(folder)
    return lambda piece: _kind(plan).learn(piece, plan, task_of(piece.row.keep))
