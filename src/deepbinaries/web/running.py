"""Running the server until it is told to stop; requests that were begun come to their end."""

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import uvicorn

from deepbinaries.errors import Error
from deepbinaries.web.app import make_app
from deepbinaries.web.patience import patient
from deepbinaries.web.server import Source
from deepbinaries.web.settings import Settings

MOST_CONNECTIONS = 1000
BACKLOG = 512
SWITCH_INTERVAL = 0.0005  # seconds
SECONDS_TO_END = 10  # for requests that were begun when the server is stopped


def run(source: Source, settings: Settings, *, started: Callable[[str], None]) -> None:
    """Answer from a source until a signal ends it; `started` is told the address of the page."""
    with listening_on(settings.bind, settings.port) as listening:
        settings = replace(settings, port=listening.getsockname()[1])
        config = uvicorn.Config(
            make_app(source, settings),
            http=patient(settings.patience),
            ws="none",
            lifespan="on",
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=max(1, round(settings.patience.head / 2)),
            timeout_graceful_shutdown=SECONDS_TO_END,
        )
        # One core is left to the event loop: searches that take all of them keep each other waiting.
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) - 1)))
        # A search that comes back from compiled code waits for the event loop to let it go on: not 5 ms, as is usual.
        sys.setswitchinterval(SWITCH_INTERVAL)
        started(address(settings))
        with _ended_by_signals():
            uvicorn.Server(config).run(sockets=[listening])


def address(settings: Settings) -> str:
    """Where the page is.

    >>> address(Settings()), address(Settings(bind="::1", port=80))
    ('http://127.0.0.1:8765/', 'http://[::1]:80/')
    """
    host = f"[{settings.bind}]" if ":" in settings.bind else settings.bind
    return f"http://{host}:{settings.port}/"


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let signals end the server and nothing else: uvicorn sends itself each of them once more when it is done."""
    ours = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, before in ours.items():
            signal.signal(number, before)


def listening_on(bind: str, port: int) -> socket.socket:
    """A socket that takes connections."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    # asyncio turns off Nagle's algorithm, by which answers wait 40 ms, only where the protocol is said to be TCP.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((bind, port))
        opened.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        opened.close()
        raise Error(
            f"nobody can listen on {bind} port {port} ({getattr(error, 'strerror', None) or error})",
            next_step="give another --port or --bind",
        ) from error
    return opened
