"""Answers that leave in one piece.

uvicorn writes the head of an answer and then its body, which are two calls of the system; and with each of them the
event loop gives way to threads that search. What is written in one turn of the loop is sent by one call instead.
"""

import asyncio
from typing import Any

LARGE = 64 * 2**10  # bytes that are not worth being copied


class Together:
    """A transport whose small writes wait for the end of the loop's turn."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop):
        self._transport, self._loop = transport, loop
        self._waiting: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)
        if len(data) > LARGE:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        self._waiting = []
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + sum(map(len, self._waiting))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if len(waiting) == 1 or sum(map(len, waiting)) > LARGE:
            for data in waiting:
                self._transport.write(data)
        elif waiting:
            self._transport.write(b"".join(waiting))
