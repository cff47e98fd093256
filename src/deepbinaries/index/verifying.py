"""Verifying an index: every byte is read, and everything that is not as it was written is named."""

from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from deepbinaries.errors import DataError, Error
from deepbinaries.index.catalogue import FILE, Catalogue, State
from deepbinaries.index.durable import own_errors
from deepbinaries.index.folders import has_traces
from deepbinaries.index.receipts import newest_receipt
from deepbinaries.index.segments import FOLDER, Segment, segment_path
from deepbinaries.index.snapshot import Snapshot
from deepbinaries.progress import track


@dataclass(frozen=True)
class Findings:
    """What verifying an index found."""

    problems: tuple[str, ...]
    version: int = 0
    items: int = 0
    segments: int = 0
    n_bytes: int = 0  # of all segments

    @property
    def sound(self) -> bool:
        """Whether everything is as it was written."""
        return not self.problems


def verify(folder: str | Path) -> Findings:
    """Read everything of the newest version of an index in a folder. Others may read and write meanwhile."""
    folder = Path(folder)
    if not (folder / FOLDER).is_dir() or not ((folder / FILE).exists() or has_traces(folder)):
        raise DataError(f"there is no index in {folder}", next_step="check the path")
    if not (folder / FILE).exists():
        return Findings((f"{folder / FILE} is not there",))
    try:
        with own_errors(folder), closing(Catalogue(folder, writable=False)) as catalogue:
            return _verified(folder, catalogue)
    except Error as error:
        return Findings((error.problem,))


def _verified(folder: Path, catalogue: Catalogue) -> Findings:
    problems = []
    if (said := catalogue.integrity()) != "ok":
        problems.append(f"SQLite finds {folder / FILE} damaged: {said}")
    acknowledged, state = newest_receipt(folder), catalogue.read()
    if state is None:
        return Findings((*problems, f"{folder / FILE} is empty"))
    if state.version < acknowledged:
        problems.append(f"{folder / FILE} has version {state.version}; {acknowledged} was committed")
    opened, missing = _opened(folder, state)
    now = catalogue.read()
    if missing and now is not None and now.version != state.version:
        return _verified(folder, catalogue)  # a writer has replaced them
    problems += missing
    for segment in track(opened, "verifying the index", total=len(opened)):
        try:
            segment.prove(afresh=True)
        except Error as error:
            problems.append(error.problem)
    if not problems:
        problems += disorder(Snapshot(state, opened))
    n_visible = sum(record.n_visible for record in state.segments)
    return Findings(tuple(problems), state.version, n_visible, len(state.segments), sum(s.n_bytes for s in opened))


def _opened(folder: Path, state: State) -> tuple[list[Segment], list[str]]:
    """The segments that can be opened, and what is wrong with the others."""
    opened, problems = [], []
    for record in state.segments:
        try:
            opened.append(Segment(folder, record, state.bits))
        except FileNotFoundError:
            problems.append(f"{segment_path(folder, record.number)} is not there")
        except Error as error:
            problems.append(error.problem)
        except OSError as error:
            problems.append(f"{segment_path(folder, record.number)} cannot be read ({error.strerror})")
    return opened, problems


def disorder(snapshot: Snapshot) -> list[str]:
    """Whether the ids of segments whose bytes are proven are distinct and in order, and their codes without excess."""
    for one, next_one in pairwise(snapshot.all_ids()):
        if one >= next_one:
            return [f"the ids {one!r} and {next_one!r} are not in order, or twice there"]
    try:
        _ = snapshot.gallery
    except Error as error:
        return [error.problem]
    return []
