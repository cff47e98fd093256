"""Keeping an index current: look at the folder again and again. No service of the system is needed for it."""

from collections.abc import Callable, Iterator
from time import sleep

from deepbinaries.errors import DataError, IndexBusyError
from deepbinaries.search.indexing import Report


def watch(run: Callable[[], Report], *, every: float) -> Iterator[Report | DataError | IndexBusyError]:
    """What each look at the folder did, so many seconds after the last; between two of them nothing is held open.

    A disk that is away for a while, or another process that indexes, is told and waited for.
    """
    while True:
        try:
            yield run()
        except (DataError, IndexBusyError) as error:
            yield error
        sleep(every)
