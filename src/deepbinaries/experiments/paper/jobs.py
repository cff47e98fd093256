"""Several processes share the trainings of a table or figure.

Each works in a folder of its own, below `.jobs` in that of the results. What it has made is taken over as soon as it
says so, and at the next start where nobody was left to take it over, so that a killed run loses what was being learnt
and nothing else.
"""

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path

from deepbinaries.errors import Error
from deepbinaries.experiments.alone import FILE as LOCK
from deepbinaries.experiments.alone import alone_in
from deepbinaries.experiments.cells import append_cells, read_cells
from deepbinaries.experiments.compare import CELLS, SCORES
from deepbinaries.experiments.paper import answers, epochs
from deepbinaries.experiments.paper.kept import Kept
from deepbinaries.experiments.paper.running import Piece, Progress

JOBS = ".jobs"
KEPT = (epochs.FILE, answers.FILE)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Learn = Callable[[Piece], None]
Open = Callable[[Path], Learn]  # for the folder that a process may write to; it is sent to it, so it can be pickled


def share(pieces: Sequence[Piece], open_: Open, *, jobs: int, folder: Path, progress: Progress) -> list[Piece]:
    """Let so many processes learn the pieces, for whoever is alone in the folder; those that failed.

    A process that fails, or dies, is told in one line, and another one takes its place.
    """
    left, failed, team = deque(pieces), list[Piece](), list[_Helper]()
    try:
        while left or team:
            while left and len(team) < jobs:
                number = min({*range(jobs)} - {helper.number for helper in team})
                with _cores_of(jobs):
                    team.append(_Helper(number, open_, folder / JOBS / str(number), left))
            answered = wait([helper.pipe for helper in team])
            for helper in [helper for helper in team if helper.pipe in answered]:
                why = helper.answer()
                take_over(helper.folder, folder)
                if why:
                    failed.append(helper.piece)
                    progress.failed(helper.piece, why)
                else:
                    progress.done(helper.piece)
                if why or not left:
                    helper.end()
                    team.remove(helper)
                else:
                    helper.give(left)
    finally:
        for helper in team:
            helper.end()
    gather(folder)
    return failed


def gather(folder: Path) -> None:
    """Take over what processes of an earlier run have left, for whoever is alone in the folder.

    Their folders have numbers for names; what else lies among or in them is nobody's but the user's, and stays.
    """
    home = folder / JOBS
    for left_behind in sorted(path for path in home.glob("*") if path.name.isdecimal() and path.is_dir()):
        with alone_in(left_behind):  # one that goes on without us is refused: it would write behind our back
            take_over(left_behind, folder)
            for own in (f"{SCORES}/*.npy", f"{SCORES}/.*.part", ".*.part", LOCK):  # of a cell that was not made, too
                for path in left_behind.glob(own):
                    path.unlink()
        _remove_empty(left_behind / SCORES, left_behind)
    _remove_empty(home)


def take_over(source: Path, folder: Path) -> None:
    """Move results from one folder to another; scores first, so that no cell is without them."""
    if (source / CELLS).exists():
        (folder / SCORES).mkdir(parents=True, exist_ok=True)
        for path in (source / SCORES).glob("*.npy"):
            path.replace(folder / SCORES / path.name)
        append_cells(folder / CELLS, read_cells(source / CELLS))
        (source / CELLS).unlink()
    for name in KEPT:
        if (source / name).exists():
            Kept(folder / name).extend(Kept(source / name).lines)
            (source / name).unlink()


def _remove_empty(*folders: Path) -> None:
    for folder in folders:
        with suppress(OSError):  # it is not there, or it holds what is not ours
            folder.rmdir()


class _Helper:
    """A process that learns one piece after the other."""

    def __init__(self, number: int, open_: Open, folder: Path, left: deque[Piece]):
        self.number, self.folder = number, folder
        context = multiprocessing.get_context("spawn")  # a fork would inherit a GPU that it cannot use
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(open_, folder, theirs), daemon=True)
        self._process.start()
        theirs.close()  # so that its end is seen here
        self.give(left)

    def give(self, left: deque[Piece]) -> None:
        # Every other process begins at the end: in table 1 that is where the networks are, so that a GPU is busy with
        # them while other cores learn what needs none.
        self.piece = left.pop() if self.number % 2 else left.popleft()
        with suppress(OSError):  # it has died; its answer will say so
            self.pipe.send(self.piece)

    def answer(self) -> str:
        """Why the piece failed; "": it did not."""
        try:
            return str(self.pipe.recv())
        except (EOFError, OSError):
            self._process.join()
            return f"its process ended with {self._process.exitcode}; is there enough memory for so many --jobs?"

    def end(self) -> None:
        self._process.kill()  # files are written whole or not at all
        self._process.join()
        self.pipe.close()


def _work(open_: Open, folder: Path, pipe: Connection) -> None:
    """What a process does: it learns what it is sent, until it fails or is ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.join,), daemon=True).start()
    with suppress(EOFError, KeyboardInterrupt), alone_in(folder):
        learn: Learn | None = None
        while True:
            piece = pipe.recv()
            try:
                learn = learn or open_(folder)
                learn(piece)
            except Exception as error:  # of whatever kind: it is told, and the others go on
                pipe.send(str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}")
                return
            pipe.send("")


def _end_with(wait_for: Callable[[], None]) -> None:
    """Nobody would take over what an orphan learns."""
    wait_for()
    os._exit(1)


@contextmanager
def _cores_of(jobs: int) -> Iterator[None]:
    """What a process that is started inherits: its share of the cores, and no bar of progress among others'."""
    own = {name: str(max(1, (os.cpu_count() or 1) // jobs)) for name in THREADS} | {"DEEPBINARIES_PROGRESS": "quiet"}
    added = {name: value for name, value in own.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
