"""What the addresses of a server share: its source, its threads, its counts."""

import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI
from fastapi.responses import Response

from deepbinaries.errors import Error
from deepbinaries.web.code_search import CodeSearch
from deepbinaries.web.codes_alone import CodesAlone
from deepbinaries.web.metrics import Metrics
from deepbinaries.web.photographs import Photographs
from deepbinaries.web.refusals import RefusedError
from deepbinaries.web.settings import Settings
from deepbinaries.web.work import Work

THREADS = 4
ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
FRESH = {"cache-control": "no-store"}

Source = Photographs | CodesAlone


class Server:
    """A source that is asked over HTTP."""

    def __init__(self, source: Source, settings: Settings):
        self.source, self.settings, self.metrics = source, settings, Metrics()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="search")
        # Codes have a thread of their own: no picture that is decoded keeps them waiting.
        self._code_thread = ThreadPoolExecutor(1, thread_name_prefix="codes")
        self.work = Work(self._threads)
        # And so have changes: they wait for the disk and for the indexing, one after the other.
        self._change_thread = ThreadPoolExecutor(1, thread_name_prefix="changes")
        self.changes = Work(self._change_thread)
        index = source.codes if isinstance(source, Photographs) else lambda: source.index
        self.codes = CodeSearch(index, self._code_thread)
        self._warm = False

    @property
    def photographs(self) -> Photographs:
        """The photographs; refused where there are none."""
        if not isinstance(self.source, Photographs):
            raise without_photographs()
        return self.source

    def warm_up(self) -> bool:
        """Open what a first search would wait for; whether that is possible already."""
        if not self._warm:
            # While there is no index yet, or no disk, the server is up and not ready.
            with suppress(Error):
                self.source.warm_up()
                self._warm = True
        return self._warm

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Warm up in a thread; at the end let what was begun come to its end."""
        del app
        self._threads.submit(self.warm_up)
        yield
        for threads in (self._threads, self._code_thread, self._change_thread):
            threads.shutdown(wait=True, cancel_futures=True)
        self.source.close()


def without_photographs() -> RefusedError:
    """The answer to what only photographs could be asked."""
    return RefusedError(
        409, "this index holds codes without photographs", next_step='ask it with {"code": "..."} or {"id": "..."}'
    )


def as_json(content: Any, status: int = 200) -> Response:
    """An answer in JSON."""
    return json_response(ENCODER.encode(content), status)


def json_response(text: str, status: int = 200) -> Response:
    """An answer that is JSON already."""
    return Response(text, status, media_type="application/json", headers=FRESH)
