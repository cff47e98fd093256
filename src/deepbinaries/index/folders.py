"""The folder of an index: made so that a power cut leaves it whole, and tidied after changes that were cut short."""

from pathlib import Path

from deepbinaries.index.catalogue import Catalogue, State
from deepbinaries.index.durable import UNFINISHED, sync_folder
from deepbinaries.index.receipts import receipts, write_receipt
from deepbinaries.index.segments import FOLDER, segment_path

TRASH = "trash"


def make_folders(folder: Path) -> None:
    """Make the folder of a new index, and see that its name is on the disk."""
    inner = folder.absolute() / FOLDER
    made = [place for place in (inner, *inner.parents) if not place.exists()]
    inner.mkdir(parents=True, exist_ok=True)
    for place in made:
        sync_folder(place.parent)


def create(folder: Path, catalogue: Catalogue, state: State) -> None:
    """Write the first state of an index. SQLite syncs the names of its logs, but not that of its database."""
    catalogue.create(state)
    catalogue.empty_log()
    sync_folder(folder)
    write_receipt(folder, state)


def has_traces(folder: Path) -> bool:
    """Whether a folder has held items or a finished index, whatever became of its catalogue."""
    return bool(receipts(folder)) or any((folder / FOLDER).glob("*.codes"))


def tidy(folder: Path, state: State) -> None:
    """Put away files of changes that were cut short; only for a writer, when no receipt is newer than the catalogue."""
    trash = folder / TRASH
    for leftover in trash.iterdir() if trash.exists() else ():
        leftover.unlink()
    known = {segment_path(folder, record.number) for record in state.segments}
    for path in sorted((folder / FOLDER).iterdir()):
        if path.name.endswith(UNFINISHED):
            path.unlink()
        elif path not in known:
            put_into_trash(folder, path)


def put_into_trash(folder: Path, path: Path) -> None:
    """Move a file to where it is kept until a writer opens the index once more."""
    (folder / TRASH).mkdir(exist_ok=True)
    path.rename(folder / TRASH / path.name)
