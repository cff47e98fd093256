"""Photographs read, recognised and made small by processes of their own, as many as there are cores.

What crosses the pipe is little: the path of a file on the way there; a small copy, and the square that a network sees,
on the way back. Neither the file's bytes nor the decoded picture ever leave the process that reads them.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from os import fsencode
from pathlib import Path
from types import TracebackType
from typing import Any

from PIL import Image

from deepbinaries.vision.processes import SECONDS, DiedError, Pipes, Processes, crashed, too_slow
from deepbinaries.vision.reader_messages import Message, read_message, write_message

WORKER = "deepbinaries.vision.reader_worker"
MEMORY = 4 * 2**30  # bytes that a process may take: enough for every picture that is read at all, in most formats


@dataclass(frozen=True)
class Found:
    """A file as it was read."""

    size: int  # bytes
    changed: int  # nanoseconds
    id: str  # of its content


@dataclass(frozen=True)
class Wanted:
    """What somebody wants to see of a photograph."""

    at_least: int | None  # pixels of its sides, as for `read_picture`
    side: int | None  # of the square that it is stretched to; None: as it is


@dataclass(frozen=True)
class Made:
    """What was made of a photograph."""

    width: int  # pixels, as it is seen upright
    height: int
    taken: str | None  # by the camera's clock, where the picture says it
    look: bytes
    small: bytes  # its thumbnail
    seen: Image.Image


class Readers:
    """At most `n` processes that read photographs, each started when it is first needed. Threads may share them.

    One that needs more than `seconds` of the processor for a photograph is ended, and it may take `memory` bytes.

    >>> with Readers(1) as readers:
    ...     readers.read(Path("/dev/null"), lambda found: Wanted(None, None))
    (None, 'it is no regular file; put the picture itself there')
    """

    def __init__(self, n: int, *, seconds: int = SECONDS, memory: int = MEMORY):
        self._processes = Processes(n, WORKER, seconds=seconds, memory=memory)

    def read(self, path: Path, wanted: Callable[[Found], Wanted | None]) -> tuple[Found | None, Made | str | None]:
        """The file as it was found, and what was made of it: the reason why nothing was, None where it was not wanted.

        Nothing counts as found where another try may do better: it cannot be opened, or memory is short. `wanted` is
        asked when the file is read, and before it is decoded. A process that dies is given a second chance.
        """
        found = None
        for _ in range(2):
            try:
                with self._processes.one() as pipes:
                    facts, _ = _said(pipes, {}, fsencode(path.absolute()))
                    if "reason" in facts:
                        return None, facts["reason"]
                    found = Found(**facts)
                    if (what := wanted(found)) is None:
                        write_message(pipes.asked, {"wanted": False})
                        return found, None
                    facts, contents = _said(pipes, {"wanted": True, **asdict(what)})
                    return None if facts.pop("passing", False) else found, _made(facts, contents)
            except DiedError as died:
                if died.late:
                    return found, too_slow("it")
        return found, crashed("it")

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        self._processes.close()

    def __enter__(self) -> "Readers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _said(pipes: Pipes, *asked: Any) -> Message:
    """The answer to a message."""
    write_message(pipes.asked, *asked)
    return read_message(pipes.answered)


def _made(facts: dict[str, Any], contents: list[bytes]) -> Made | str:
    if "reason" in facts:
        return str(facts["reason"])
    small, pixels = contents
    seen = Image.frombytes("RGB", facts.pop("seen"), pixels)
    return Made(**facts | {"look": bytes.fromhex(facts["look"])}, small=small, seen=seen)
