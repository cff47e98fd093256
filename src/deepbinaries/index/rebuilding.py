"""Rebuilding: a new catalogue from the receipt of the last commit, for an index whose own is damaged."""

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from deepbinaries.errors import DataError, Error
from deepbinaries.index.catalogue import FILE, Catalogue, State
from deepbinaries.index.durable import corrupt, own_errors
from deepbinaries.index.folders import create, has_traces, put_into_trash
from deepbinaries.index.locking import WriterLock
from deepbinaries.index.receipts import newest_receipt, read_receipt, receipts, write_receipt
from deepbinaries.index.segments import FOLDER, Record, Segment


@dataclass(frozen=True)
class Rebuilt:
    """What rebuilding an index has saved, and what it could not."""

    items: int
    lost: int  # items of segments that are damaged


def rebuild(folder: str | Path, *, drop_damaged: bool = False) -> Rebuilt:
    """Write the catalogue of an index anew, from itself or from the receipt of the last commit, whichever is newer.

    Segments that are damaged are left out if `drop_damaged` says so; the ids of their items are not known, add
    again what is missing. The old catalogue stays in the folder `trash` until a writer opens the index again.
    """
    folder = Path(folder)
    if not (folder / FOLDER).is_dir():
        raise DataError(f"there is no index in {folder}", next_step="check the path")
    with own_errors(folder):
        lock = WriterLock(folder)
        try:
            state = _newest_state(folder)
            whole = [record for record in state.segments if _is_whole(folder, record, state.bits)]
            lost = sum(record.n_visible for record in state.segments if record not in whole)
            if len(whole) < len(state.segments) and not drop_damaged:
                raise corrupt(
                    folder, f"{len(state.segments) - len(whole)} segments, with {lost:,} items, are not whole"
                )
            # Newer than every receipt, also one that cannot be read: else the index would stay refused for its sake.
            state = replace(state, version=max(state.version, newest_receipt(folder)) + 1)
            write_receipt(folder, state, durably=True)
            _write_catalogue(folder, replace(state, segments=tuple(whole)))
            return Rebuilt(sum(record.n_visible for record in whole), lost)
        finally:
            lock.release()


def _newest_state(folder: Path) -> State:
    states = [state for path in receipts(folder).values() if (state := read_receipt(path))]
    if (folder / FILE).exists():
        try:
            with closing(Catalogue(folder, writable=False)) as catalogue:
                states += [state] if (state := catalogue.read()) else []
        except Error:
            pass  # this is what the receipt is for
    if not states:
        raise (
            corrupt(folder, "neither its catalogue nor a receipt can be read")
            if has_traces(folder)
            else DataError(f"there is no index in {folder}", next_step="check the path")
        )
    return max(states, key=lambda state: state.version)


def _is_whole(folder: Path, record: Record, bits: int) -> bool:
    try:
        Segment(folder, record, bits).prove(afresh=True)
    except (Error, OSError):
        return False
    return True


def _write_catalogue(folder: Path, state: State) -> None:
    """Put the old catalogue away and write another. If this is cut short, the receipt is there for the next attempt."""
    for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):  # the log belongs to the old one and would damage the new
        if (folder / name).exists():
            put_into_trash(folder, folder / name)
    with closing(Catalogue(folder, writable=True)) as catalogue:
        create(folder, catalogue, state)
