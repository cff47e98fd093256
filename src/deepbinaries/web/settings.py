"""What a server allows, and to whom."""

import ipaddress
from dataclasses import dataclass

from deepbinaries.errors import UsageError

SHORTEST_TOKEN = 16  # characters

MAX_JSON = 2**20  # bytes of a request that is JSON
MAX_PICTURE = 32 * 2**20  # bytes of a picture that is sent
MAX_HEAD = 32 * 2**10  # bytes of a request before its body

DECODER_MEMORY = 3 * 2**30  # bytes that a process may take which decodes a picture that was sent
DECODER_SECONDS = 20  # and so long the processor may take
MOST_WAITING = 64  # searches that wait for an answer; more are sent away
MOST_CODES_WAITING = 2048  # the same of codes, which are quick


@dataclass(frozen=True)
class Patience:
    """How long a client is waited for, in seconds."""

    head: float = 10.0  # from the connection, or the last answer, to the end of the next request's head
    pause: float = 10.0  # between two parts of a body, and for a client that does not read its answer
    slowest: int = 16 * 2**10  # bytes a second that a body must have on average, after the first pause


@dataclass(frozen=True)
class Settings:
    """Where a server listens, by which names it may be called, and the token that it asks for.

    >>> Settings(bind="0.0.0.0")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
        ...
    deepbinaries.errors.UsageError: 0.0.0.0 can be reached from other machines, and no token is given; ...
    """

    bind: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    names: tuple[str, ...] = ()  # further names of this server, with a port or for any
    patience: Patience = Patience()

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise UsageError(f"{self.port} is no port", next_step="give one from 1 to 65535")
        if self.token is not None and (len(self.token) < SHORTEST_TOKEN or not self.token.isascii()):
            raise UsageError(
                f"a token needs {SHORTEST_TOKEN} plain characters or more",
                next_step="make one: python3 -c 'import secrets; print(secrets.token_urlsafe())'",
            )
        if not self.is_local and self.token is None:
            raise UsageError(
                f"{self.bind} can be reached from other machines, and no token is given",
                next_step="give --token-file, or listen on 127.0.0.1",
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        try:
            return ipaddress.ip_address(self.bind).is_loopback
        except ValueError:
            return self.bind == "localhost"
