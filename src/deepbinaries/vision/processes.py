"""Processes of our own that take hostile files: a file that crashes or stops one of them is a failure like any other.

They are started anew rather than forked, since a GPU that is in use does not survive a fork, and know nothing of the
caller's program. What they are asked and answer is for those to say who use them.
"""

import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedIOBase
from queue import SimpleQueue
from typing import IO, cast

from deepbinaries.errors import Error, PictureError, UsageError
from deepbinaries.vision.serving import READY

PIPE_BYTES = 2**20  # as much as Linux grants: five pictures of 256 pixels, read in one go
KEPT = {  # from one picture to the next: to be given fresh memory for each takes a tenth of decoding's time
    "MALLOC_MMAP_THRESHOLD_": str(12 * 2**20),  # bytes; what is larger is given back at once
    "MALLOC_TRIM_THRESHOLD_": str(32 * 2**20),  # bytes that a process keeps in all; glibc alone reads these
}

SECONDS = 120  # of the processor a picture: many times what the largest lawful ones need, and an end for the others

Process = subprocess.Popen[bytes]


class DiedError(Exception):
    """A process has died on what it was asked: `late` where it was ended because a picture took too long."""

    def __init__(self, *, late: bool):
        super().__init__()
        self.late = late


@dataclass(frozen=True)
class Pipes:
    """Both ends of a conversation with a process."""

    asked: BufferedIOBase
    answered: BufferedIOBase


class Processes:
    """At most `n` processes that run a module, each started when it is first needed. Threads may share one of these.

    One that needs more than `seconds` of the processor for a picture is ended, and with `memory` it may take so many
    bytes.
    """

    def __init__(self, n: int, module: str, *, seconds: int = SECONDS, memory: int | None = None):
        self._module = module
        self._arguments = [str(limit) for limit in (seconds, memory) if limit is not None]
        self._idle: SimpleQueue[Process | None] = SimpleQueue()  # None: one that is still to be started
        for _ in range(n):
            self._idle.put(None)
        self._running: set[Process] = set()
        self._closed = False
        self._lock = threading.Lock()  # of the two above

    @contextmanager
    def one(self) -> Iterator[Pipes]:
        """A process that nobody else talks to meanwhile; DiedError when it does not live to the end of the talk."""
        process = self._idle.get()
        try:
            process = process or self._start()
            yield _pipes(process)
        except BaseException as error:
            # It may be in the middle of an answer: nobody shall read the rest.
            ended, process = process, None
            if ended is not None:
                self._end(ended)
                if isinstance(error, EOFError | BrokenPipeError):
                    raise DiedError(late=ended.returncode == -signal.SIGXCPU) from None
            raise
        finally:
            self._idle.put(process)

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for process in running:
            process.kill()
        for process in running:
            self._end(process)

    def _start(self) -> Process:
        with self._lock:
            if self._closed:
                raise UsageError("these decoders are closed", next_step="make new ones")
            process = _started(self._module, *self._arguments)
            self._running.add(process)
        if _pipes(process).answered.read(1) != READY:
            self._end(process)
            raise Error(
                f"the process that decodes pictures does not start (it ended with {process.returncode})",
                next_step="give workers=1, which decodes without it",
            )
        return process

    def _end(self, process: Process) -> None:
        process.kill()
        process.wait()
        pipes = _pipes(process)
        for pipe in (pipes.asked, pipes.answered):
            with suppress(BrokenPipeError):  # a request that it did not live to read
                pipe.close()
        with self._lock:
            self._running.discard(process)


def crashed(name: str) -> str:
    """Why a picture has no pixels on which a process has died twice."""
    return str(
        PictureError(f"{name} cannot be read: its decoder crashed", next_step="save the picture anew, or remove it")
    )


def too_slow(name: str) -> str:
    """Why a picture has no pixels that took a process too long."""
    return str(PictureError(f"{name} takes too long to decode", next_step="save the picture anew, or remove it"))


def _started(module: str, *arguments: str) -> Process:
    """A new process, in a group of its own, so that Ctrl-C reaches only the one that waits for it."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(path) or os.curdir for path in sys.path),  # it finds what this one finds
        "OMP_NUM_THREADS": "1",  # it computes nothing
        "OPENBLAS_NUM_THREADS": "1",
        **KEPT,
    }
    # No word of it is a user's; and with -P no file of the current folder is run for being called like a module.
    command = [sys.executable, "-P", "-m", module, *arguments]
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, process_group=0)  # noqa: S603
    except OSError as error:
        raise Error(
            f"the process that decodes pictures does not start ({error.strerror})",
            next_step="give workers=1, which decodes without it",
        ) from error
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        for end in (process.stdin, process.stdout):
            with suppress(OSError):  # beyond what a user's pipes may have in all
                fcntl.fcntl(cast("IO[bytes]", end), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return process


def _pipes(process: Process) -> Pipes:
    # Every process is started with both.
    return Pipes(cast("BufferedIOBase", process.stdin), cast("BufferedIOBase", process.stdout))
