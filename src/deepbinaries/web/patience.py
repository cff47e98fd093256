"""A connection that does not wait for ever.

uvicorn waits without end for a client that sends its head or its body byte by byte, or that does not read its answer.
Here each connection has one alarm: it is set when something of the client is awaited, and cuts the connection.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from deepbinaries.web.settings import MAX_HEAD, Patience
from deepbinaries.web.together import Together

TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 with deadlines, and a limit to what a head may hold."""

    patience = Patience()
    _alarm: asyncio.TimerHandle | None = None
    _deadline: float | None = None  # at which the alarm cuts the connection, in the loop's time
    _head = 0  # bytes of the awaited head that came so far
    _body = 0  # bytes of the awaited body that came so far
    _body_began = 0.0
    _unread = 0  # bytes of answers that waited to be read when the alarm was set

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Together(transport, self.loop))  # type: ignore[arg-type]  # what uvicorn uses of one
        self._await_head()

    def data_received(self, data: bytes) -> None:
        if self._awaits_head:
            self._head += len(data)
        super().data_received(data)
        if self._awaits_body:
            self._await_body(len(data))
        elif self._awaits_head and self._head > MAX_HEAD and not self.transport.is_closing():
            self.transport.write(TOO_LARGE)
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._disarm()
        self._body = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._disarm()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # and no other request waits behind it
            self._await_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._arm(self.patience.pause)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._await_head() if self._awaits_head else self._disarm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        super().connection_lost(exc)

    @property
    def _awaits_head(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    @property
    def _awaits_body(self) -> bool:
        return self.cycle is not None and self.cycle.more_body and not self.cycle.response_complete

    def _await_body(self, n_bytes: int) -> None:
        """Wait a while for the next part; all of them together must not be too slow either."""
        now = self.loop.time()
        if not self._body:
            self._body_began = now
        self._body += n_bytes
        if now - self._body_began > self.patience.pause + self._body / self.patience.slowest:
            self._cut()
        elif not self.flow.write_paused:
            self._arm(self.patience.pause)

    def _await_head(self) -> None:
        self._head = 0
        self._arm(self.patience.head)

    def _arm(self, seconds: float) -> None:
        """Set the alarm. One that is set already is left to ring and look again: setting one costs more than that."""
        self._unread = self.transport.get_write_buffer_size()
        self._deadline = self.loop.time() + seconds
        if self._alarm is not None and self._alarm.when() > self._deadline:
            self._alarm.cancel()
            self._alarm = None
        if self._alarm is None:
            self._alarm = self.loop.call_later(seconds, self._ring)

    def _disarm(self) -> None:
        self._deadline = None

    def _ring(self) -> None:
        self._alarm = None
        if self._deadline is None:
            return  # the next one who arms it sets a new alarm
        left = self._deadline - self.loop.time()
        if left > 0:
            self._alarm = self.loop.call_later(left, self._ring)
        else:
            self._cut()

    def _cut(self) -> None:
        left = self.transport.get_write_buffer_size()
        if left and self._unread - left >= self.patience.slowest * self.patience.pause:
            self._arm(self.patience.pause)  # slow, but it reads
            return
        if self._awaits_body and self.flow.read_paused:
            self._arm(self.patience.pause)  # it is us who do not read
            return
        if (self._head or self._awaits_body) and not left and not self.transport.is_closing():
            self.transport.write(TOO_SLOW)
        # What a client has not read by now is thrown away; closing alone would wait for it.
        self.loop.call_soon(self.transport.abort)


def patient(patience: Patience) -> type[Any]:
    """The class of connections with this patience."""
    return type("Patient", (PatientProtocol,), {"patience": patience})
