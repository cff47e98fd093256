"""One family of errors; each message says what is wrong, where, and what to do next."""

import difflib
from collections.abc import Callable, Iterable


class Error(Exception):
    """Anything this package refuses to do.

    >>> raise Error("the picture is empty", next_step="copy it again from its source")
    Traceback (most recent call last):
        ...
    deepbinaries.errors.Error: the picture is empty; copy it again from its source
    """

    def __init__(self, problem: str, *, next_step: str):
        super().__init__(f"{problem}; {next_step}")
        self.problem = problem
        self.next_step = next_step

    def __reduce__(self) -> tuple[Callable[..., "Error"], tuple[type["Error"], str, str]]:
        """How it travels from one process to another: one that cannot be told makes the other wait for ever."""
        return _told_again, (type(self), self.problem, self.next_step)


def _told_again(kind: type[Error], problem: str, next_step: str) -> Error:
    """The error, without asking its own class how it came to these words."""
    error = kind.__new__(kind)
    Error.__init__(error, problem, next_step=next_step)
    return error


class UsageError(Error):
    """A call that is wrong in itself, whatever lies on the disk: an unknown name, a number out of range."""


class DataError(Error):
    """A file, a folder or an array that is not there or does not hold what it should."""


class PictureError(DataError):
    """A picture that cannot be read."""


class PictureMemoryError(PictureError):
    """A picture that cannot be read here and now: there is not enough memory for it."""


class SplitError(DataError):
    """A split that leaks, or that belongs to another dataset."""


class CorruptIndexError(DataError):
    """An index of which some file is not as it was written; it gives no answer rather than a wrong one."""


class IndexBusyError(Error):
    """An index that another process is writing to."""


class MissingExtraError(Error):
    """An optional dependency that this call needs is not installed."""

    def __init__(self, what: str, extra: str):
        super().__init__(f"{what} is not installed", next_step=f"install deepbinaries[{extra}]")


def unknown_name(kind: str, name: str, known: Iterable[str], *, see: str = "") -> UsageError:
    """The error for a name nobody registered, with the nearest known one.

    >>> unknown_name("dataset", "scense", ["coco", "scenes"]).problem
    "no dataset is called 'scense'"
    >>> unknown_name("dataset", "scense", ["coco", "scenes"]).next_step
    "did you mean 'scenes'? Known: coco, scenes"
    """
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    names = f"Known: {', '.join(known)}" if known else "none is known yet"
    return UsageError(f"no {kind} is called {name!r}", next_step=guess + (see or names))
