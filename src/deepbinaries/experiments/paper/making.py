"""Making any table or figure of the paper."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from deepbinaries.experiments.alone import alone_in
from deepbinaries.experiments.cells import tell_torn
from deepbinaries.experiments.compare import CELLS
from deepbinaries.experiments.paper import answers, epochs, tables
from deepbinaries.experiments.paper.figures import check_matplotlib
from deepbinaries.experiments.paper.jobs import KEPT, Learn, gather, share
from deepbinaries.experiments.paper.made import LEFT_OUT, Made, not_yet
from deepbinaries.experiments.paper.plans import Plan
from deepbinaries.experiments.paper.running import Kind, Piece, Progress, TaskOf, one_by_one
from deepbinaries.experiments.paper.timing import run_times

KINDS: dict[str, Kind] = {"epochs": epochs, "answers": answers}  # every other one is drawn from cells

# For the folder that results go to, what is drawn, what of it is learnt, and on what; other processes are sent it.
Opened = Callable[[Path], tuple[Plan, Plan, TaskOf]]


def make(
    plan: Plan, part: Plan, task_of: TaskOf, paper: str, *, opened: Opened, jobs: int = 1, learn: bool = True
) -> tuple[Made | None, Sequence[object]]:
    """The table or figure, None where there is nothing to draw it of, and what is missing of the part.

    The `part` of the plan is learnt, and what is there of all of the plan is drawn. `paper` is the dataset's name among
    the printed numbers, "" where it has none. With several `jobs`, so many processes share the trainings, and where one
    fails the others go on; `time` is always measured by one alone. Unless it is to `learn`, what is there is drawn.
    """
    if plan.drawn != "table":
        check_matplotlib()
    if plan.drawn == "time":
        return run_times(plan, task_of(None), learn=learn)
    kind, first = _kind(plan), task_of(plan.rows[0].keep)
    pieces, wanted = kind.pieces(plan, task_of), kind.pieces(part, task_of)
    folder = first.folder

    def not_there(of: Sequence[Piece]) -> list[Piece]:
        return [piece for piece in of if not kind.is_there(piece, plan, task_of(piece.row.keep))]

    with alone_in(folder):
        tell_torn([folder / name for name in (CELLS, *KEPT)], first.tell)
        gather(folder)
        missing = not_there(wanted)
        progress = Progress(plan.name, len(wanted), first.tell, there=len(wanted) - len(missing))
        if learn and jobs > 1:
            for keep in dict.fromkeys(piece.row.keep for piece in missing):
                task_of(keep).source(False)  # features are made once, before anybody wants them
            missing = share(missing, partial(_learning, opened), jobs=jobs, folder=folder, progress=progress)
        elif learn:
            one_by_one(kind, missing, plan, task_of, progress)
            missing = []
        blank = not_there(pieces)
    if len(blank) == len(pieces):
        return None, missing
    made = kind.draw(plan, task_of, paper)
    names = _in_short(blank, pieces)
    left_out = [LEFT_OUT] if not {*names} <= {*map(str, blank)} else []
    return replace(made, notes=[*made.notes, *not_yet(names), *left_out]), missing


def _in_short(blank: Sequence[Piece], pieces: Sequence[Piece]) -> list[str]:
    """What is missing; a row or a length of which nothing is there by its name alone, once."""
    there = [piece for piece in pieces if piece not in blank]
    rows, lengths = {piece.row.name for piece in there}, {piece.bits for piece in there}
    places = {(piece.row.name, piece.bits) for piece in pieces}
    # A row that is learnt once for all lengths is there at each of them.
    gone = {bits for _, bits in places if bits not in lengths and all((row, bits) in places for row in rows)}

    def called(piece: Piece) -> str:
        if piece.row.name not in rows:
            return piece.row.name
        return f"{piece.bits} bits" if piece.bits in gone else str(piece)

    return list(dict.fromkeys(map(called, blank)))


def _kind(plan: Plan) -> Kind:
    return KINDS.get(plan.drawn, tables)


def _learning(opened: Opened, folder: Path) -> Learn:
    """What a process does with a piece, in the folder that it may write to."""
    plan, _, task_of = opened(folder)
    return lambda piece: _kind(plan).learn(piece, plan, task_of(piece.row.keep))
