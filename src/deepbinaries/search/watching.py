"""Keeping an index current: look at the folder again and again. No service of the system is needed for it."""

from collections.abc import Callable, Iterator
from time import sleep

from deepbinaries.errors import Error, MissingExtraError, UsageError
from deepbinaries.search.indexing import Report


def watch(run: Callable[[], Report], *, every: float) -> Iterator[Report | Error]:
    """What each look at the folder did, so many seconds after the last; between two of them nothing is held open.

    A disk that is full or away for a while, or another process that indexes, is told and waited for.
    """
    while True:
        try:
            yield run()
        except (UsageError, MissingExtraError):
            raise  # no time mends these
        except Error as error:
            yield error
        sleep(every)
