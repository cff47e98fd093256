"""Who may use an open index: nobody once it is closed, no process that was forked off, and not every writer."""

import os

from deepbinaries.errors import UsageError


def may_read(place: str, *, closed: bool, process: int) -> None:
    """Refuse whoever comes too late, or from another process than the one that opened the index."""
    if closed:
        raise UsageError(f"{place} is closed", next_step="open it again")
    if os.getpid() != process:
        raise UsageError(
            f"{place} was opened before this process was forked off",
            next_step="open it in the process that uses it",
        )


def may_write(place: str, *, writable: bool) -> None:
    """Refuse to change what is open for reading."""
    if not writable:
        raise UsageError(f"{place} is open for reading", next_step="open it with writable=True")
