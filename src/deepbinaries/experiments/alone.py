"""One command at a time in a folder of results, whose files are read, added to and written anew."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deepbinaries.errors import UsageError

FILE = ".lock"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """A folder, made where it is not there, for this process alone; another one that wants it too is refused.

    The system gives it back when the process ends, however it ends. That a folder cannot be written to is found here,
    before any work is done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another command is writing to {folder}", next_step="wait until it is done, or give another folder"
            ) from None
        yield
    finally:
        os.close(descriptor)
