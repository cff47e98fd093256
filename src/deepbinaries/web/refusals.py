"""Requests that are refused: a status, and a body of one fixed form that says what is wrong and what to do."""

import json

from deepbinaries.errors import CorruptIndexError, Error, IndexBusyError, PictureError, UsageError
from deepbinaries.index.base import ServerLostError

JSON = [(b"content-type", b"application/json")]


class RefusedError(Error):
    """A request that gets another answer than it asked for."""

    def __init__(self, status: int, problem: str, *, next_step: str, headers: tuple[tuple[str, str], ...] = ()):
        super().__init__(problem, next_step=next_step)
        self.status, self.headers = status, headers


def busy() -> RefusedError:
    """The answer while there is more to do than can be done."""
    return RefusedError(
        503, "the server has too much to do", next_step="try again in a second", headers=(("retry-after", "1"),)
    )


def not_indexed_yet() -> RefusedError:
    """The answer while a first run has not come so far that anything can be found."""
    return RefusedError(
        503,
        "the photographs are being indexed for the first time",
        next_step="try again in a few seconds; /v1/status tells how far it came",
        headers=(("retry-after", "2"),),
    )


def status_of(error: Error) -> int:
    """The HTTP status that an error of this package is answered with."""
    if isinstance(error, RefusedError):
        return error.status
    if isinstance(error, CorruptIndexError):
        return 500
    if isinstance(error, UsageError | PictureError):
        return 400
    return 503 if isinstance(error, IndexBusyError | ServerLostError) else 500


def body_of(problem: str, next_step: str) -> bytes:
    """The body of a refusal.

    >>> body_of("it is empty", "send a picture")
    b'{"error": {"problem": "it is empty", "next_step": "send a picture"}}'
    """
    return json.dumps({"error": {"problem": problem, "next_step": next_step}}).encode()
