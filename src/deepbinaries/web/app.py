"""The application: the addresses, the page, and what an error looks like. All forms are told by `openapi.json`."""

import json
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from deepbinaries import __version__
from deepbinaries.errors import Error
from deepbinaries.web import items, reporting, searching
from deepbinaries.web.guard import App, Guard
from deepbinaries.web.refusals import RefusedError, body_of, status_of
from deepbinaries.web.server import FRESH, Server, Source
from deepbinaries.web.settings import Settings
from deepbinaries.web.short_way import Handler, ShortWay

DESCRIPTION = Path(__file__).with_name("openapi.json")
STATIC = Path(__file__).with_name("static")
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def make_app(source: Source, settings: Settings) -> App:
    """The application that answers from a source, behind its guard."""
    server = Server(source, settings)
    app = FastAPI(title="deepbinaries", lifespan=server.lifespan, docs_url=None, redoc_url=None, redirect_slashes=False)
    short = searching.add_routes(app, server)
    for room in (items, reporting):
        room.add_routes(app, server)
    for path in sorted(STATIC.iterdir()):
        app.add_route("/" if path.name == "index.html" else f"/{path.name}", _page(path), methods=["GET"])
    refusal = partial(refusal_of, local=settings.is_local)
    for kind in (Error, HTTPException, Exception):
        app.add_exception_handler(kind, _answered_by(refusal))
    app.openapi = description  # type: ignore[method-assign]  # the stated way to bring one's own
    return Guard(ShortWay(app, short, refusal), settings, server.metrics)


def description() -> dict[str, Any]:
    """The OpenAPI description of all addresses."""
    content: dict[str, Any] = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
    content["info"]["version"] = __version__
    return content


def refusal_of(error: Exception, *, local: bool) -> Response:
    """The answer to a request that raised an error; nobody but the owner of this machine is told of its folders."""
    if isinstance(error, HTTPException):
        return _refusal(error.status_code, str(error.detail), "see /openapi.json", dict(error.headers or {}))
    if not isinstance(error, Error):
        return _refusal(500, "a mistake in deepbinaries", "look at the server's log and report it", {})
    status = status_of(error)
    if isinstance(error, RefusedError) or status < 500:
        return _refusal(status, error.problem, error.next_step, dict(getattr(error, "headers", ())))
    sys.stderr.write(f"{error}\n")
    if local:
        return _refusal(status, error.problem, error.next_step, {})
    return _refusal(status, "the index cannot answer", "look at the server's log", {})


def _refusal(status: int, problem: str, next_step: str, headers: dict[str, str]) -> Response:
    body = body_of(problem, next_step)
    return Response(body, status, media_type="application/json", headers={**FRESH, **headers})


def _answered_by(refusal: Callable[[Exception], Response]) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        del request
        return refusal(error)

    return answer


def _page(path: Path) -> Handler:
    """What answers with a file of the page. It takes nothing of a request, above all no path."""

    async def page(request: Request) -> Response:
        del request
        # Read anew each time: it is the system's cache that keeps it, and a page that is worked on shows at once.
        return Response(path.read_bytes(), media_type=TYPES[path.suffix], headers={"cache-control": "no-cache"})

    return page
