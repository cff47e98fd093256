"""The short way: what is asked for by the thousand passes by the machinery that FastAPI has for all else.

Routing, exit stacks and several layers that look for exceptions take as long as the answer itself.
"""

import traceback
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from deepbinaries.errors import Error
from deepbinaries.web.guard import App, Receive, Send

Handler = Callable[[Request], Awaitable[Response]]


class ShortWay:
    """An ASGI application in front of another: some addresses are answered here."""

    def __init__(
        self,
        app: App,
        handlers: Mapping[tuple[str, str], Handler],
        refusal: Callable[[Exception], Response],
    ):
        self._app, self._handlers, self._refusal = app, dict(handlers), refusal

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        handler = self._handlers.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if handler is None:
            await self._app(scope, receive, send)
            return
        scope["endpoint"] = handler
        try:
            response = await handler(Request(scope, receive, send))
        except Error as error:
            response = self._refusal(error)
        except Exception as error:
            traceback.print_exc()
            response = self._refusal(error)
        await response(scope, receive, send)
