"""Pictures decoded by processes of our own, beside the one that feeds a GPU.

Pillow's AVIF decoder holds the interpreter's lock, so that threads decode no faster than one of them. Processes do;
and a decoder that crashes on a hostile file takes its process with it instead of the whole run. They are started anew
rather than forked, since a GPU that is in use does not survive a fork, and know nothing of the caller's program.
"""

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedIOBase
from queue import SimpleQueue
from types import TracebackType
from typing import IO, cast

from deepbinaries.errors import Error, PictureError, UsageError
from deepbinaries.vision.decoder_messages import Files, read_answer, write_request
from deepbinaries.vision.pixels import Pixels

PIPE_BYTES = 2**20  # as much as Linux grants: five pictures of 256 pixels, read in one go

Process = subprocess.Popen[bytes]


class Decoders:
    """At most `n` processes that decode pictures, each started when it is first needed. Threads may share one of these.

    With `memory`, a process may take so many bytes; with `seconds`, one that needs longer for a call is ended.

    >>> with Decoders(1) as decoders:
    ...     decoders.read([("a.jpg", b"not a picture")])
    ['a.jpg is no picture this program can read; save it as JPEG, PNG, WebP or AVIF']
    """

    def __init__(self, n: int, *, memory: int | None = None, seconds: float | None = None):
        self._arguments, self._seconds = [] if memory is None else [str(memory)], seconds
        self._idle: SimpleQueue[Process | None] = SimpleQueue()  # None: one that is still to be started
        for _ in range(n):
            self._idle.put(None)
        self._running: set[Process] = set()
        self._closed = False
        self._lock = threading.Lock()  # of the two above

    def read(self, files: Files, *, at_least: int | None = None) -> list[Pixels | str]:
        """The pixels of each file, as `read_picture` decodes it, or the reason why it cannot be read.

        When a process dies, each of the pictures that it has not answered for is tried again alone.
        """
        answers: list[Pixels | str] = []
        alone = False
        process = self._idle.get()
        try:
            while len(answers) < len(files):
                process = process or self._start()
                some = files[len(answers) :][: 1 if alone else None]
                late = threading.Event()
                try:
                    with _ended_after(self._seconds, process, late):
                        _ask(process, some, at_least, answers)
                except (EOFError, BrokenPipeError):
                    self._end(process)
                    process = None
                    if late.is_set():
                        answers.append(_too_slow(files[len(answers)][0]))
                    elif alone:
                        answers.append(_crashed(files[len(answers)][0]))
                    alone = True
        except BaseException:
            process = None  # it may be in the middle of an answer: nobody shall read the rest
            raise
        finally:
            self._idle.put(process)
        return answers

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for process in running:
            process.kill()
        for process in running:
            self._end(process)

    def __enter__(self) -> "Decoders":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> Process:
        with self._lock:
            if self._closed:
                raise UsageError("these decoders are closed", next_step="make new ones")
            process = _started(*self._arguments)
            self._running.add(process)
        try:
            read_answer(_pipe(process.stdout))
        except EOFError:
            self._end(process)
            raise Error(
                f"the process that decodes pictures does not start (it ended with {process.returncode})",
                next_step="give workers=1, which decodes without it",
            ) from None
        return process

    def _end(self, process: Process) -> None:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):  # a request that it did not live to read
                _pipe(pipe).close()
        with self._lock:
            self._running.discard(process)


def _ask(process: Process, files: Files, at_least: int | None, answers: list[Pixels | str]) -> None:
    """Add the answers for these files as they come; EOFError or BrokenPipeError when the process dies."""
    write_request(_pipe(process.stdin), files, at_least)
    wanted = len(answers) + len(files)
    while len(answers) < wanted:
        answers += read_answer(_pipe(process.stdout))


@contextmanager
def _ended_after(seconds: float | None, process: Process, late: threading.Event) -> Iterator[None]:
    """End a process that is not done after so many seconds, and note that it was so."""
    if seconds is None:
        yield
        return

    def end() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _started(*arguments: str) -> Process:
    """A new process, in a group of its own, so that Ctrl-C reaches only the one that waits for it."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(path) or os.curdir for path in sys.path),  # it finds what this one finds
        "OMP_NUM_THREADS": "1",  # it computes nothing
        "OPENBLAS_NUM_THREADS": "1",
    }
    # No word of it is a user's; and with -P no file of the current folder is run for being called like a module.
    command = [sys.executable, "-P", "-m", "deepbinaries.vision.decoder_worker", *arguments]
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
                fcntl.fcntl(_pipe(end), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return process


def _pipe(pipe: IO[bytes] | None) -> BufferedIOBase:
    return cast("BufferedIOBase", pipe)  # every process is started with both


def _crashed(name: str) -> str:
    return str(
        PictureError(f"{name} cannot be read: its decoder crashed", next_step="save the picture anew, or remove it")
    )


def _too_slow(name: str) -> str:
    return str(PictureError(f"{name} takes too long to decode", next_step="save the picture anew, or remove it"))
