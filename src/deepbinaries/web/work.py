"""Work that would hold up the event loop, done in threads; more than can be done soon is sent away."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from deepbinaries.web.refusals import busy
from deepbinaries.web.settings import MOST_WAITING

Result = TypeVar("Result")


class Work:
    """Calls in threads. To be used in one event loop."""

    def __init__(self, threads: Executor, *, most: int = MOST_WAITING):
        self._threads, self._most = threads, most
        self.waiting = 0  # calls that are not done

    async def do(self, call: Callable[[], Result]) -> Result:
        """What a call gives. A client that has gone takes a call that has not begun with it."""
        if self.waiting >= self._most:
            raise busy()
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, call)
        finally:
            self.waiting -= 1
