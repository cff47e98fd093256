"""Files that survive a power cut, and failures of the disk as errors of this package.

A file is on the disk once it was synced, and its name once its folder was. Neither follows from the other.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from deepbinaries.errors import CorruptIndexError, Error

UNFINISHED = ".part"  # ends the name of a file that is being written

# What SQLite says of a disk or of other processes; everything else it says is about the bytes of its file.
_OF_THE_DISK = {"BUSY", "LOCKED", "CANTOPEN", "READONLY", "IOERR", "FULL", "PERM", "NOMEM", "PROTOCOL", "INTERRUPT"}


def write_durably(path: Path, parts: Iterable[memoryview | bytes]) -> None:
    """Write a new file, which takes its name when all of it is on the disk; the name is, once the folder is synced."""
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        with unfinished.open("wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            sync_file(file.fileno())
    except BaseException:
        # What could not be synced is never synced again: the next attempt begins with a new file.
        unfinished.unlink(missing_ok=True)
        raise
    unfinished.rename(path)


def make_durably(folder: Path) -> None:
    """Make a folder, and those above it, where they are not there yet; their names are on the disk afterwards."""
    place = folder.absolute()
    if not place.parent.exists():
        make_durably(place.parent)
    place.mkdir(exist_ok=True)
    sync_folder(place.parent)


def sync_file(descriptor: int) -> None:
    """Wait until the content of a file is on the disk."""
    os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def own_errors(folder: Path) -> Iterator[None]:
    """Raise what the disk or SQLite refuses in here as an error of this package."""
    try:
        yield
    except OSError as error:
        where = error.filename or folder
        raise Error(
            f"the index {folder} cannot be used: {where}: {error.strerror or error}",
            next_step="check permissions and free space; what was acknowledged is safe",
        ) from error
    except sqlite3.Error as error:
        raise from_sqlite(error, folder) from error


def from_sqlite(error: sqlite3.Error, folder: Path) -> Error:
    """The error of this package for one of SQLite."""
    if kind_of(error) in _OF_THE_DISK:
        return Error(
            f"the catalogue of the index {folder} cannot be used: {error}",
            next_step="check permissions and free space; what was acknowledged is safe",
        )
    return corrupt(folder, f"its catalogue is damaged ({error})")


def kind_of(error: sqlite3.Error) -> str:
    """What SQLite calls an error, without details: "BUSY", "CORRUPT", ..."""
    name = getattr(error, "sqlite_errorname", "") or ""
    return name.removeprefix("SQLITE_").partition("_")[0]


def corrupt(folder: Path, what: str) -> CorruptIndexError:
    """The error for an index that is not as it was written."""
    return CorruptIndexError(
        f"the index {folder} is damaged: {what}",
        next_step="restore a backup, or try deepbinaries.index.rebuild on a copy of the folder",
    )
