"""The other side of `vision.processes`: what a process does before and after it serves."""

import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from io import BufferedIOBase
from math import ceil

from PIL import AvifImagePlugin

READY = b"\1"  # the first that a process says: all is in place


def serve_forever(serve: Callable[[BufferedIOBase, BufferedIOBase, int], None]) -> None:
    """Serve the process that started this one until it asks nothing more, within the limits that it has set.

    These are the processor's seconds a picture, which are passed on, and where there is one, that of the memory.
    """
    seconds, *memory = map(int, sys.argv[1:])
    for limit in memory:
        with suppress(ValueError, OSError):  # macOS has no such limit; better to go without than not at all
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what a crash or a limit ends leaves nothing on the disk
    AvifImagePlugin.DEFAULT_MAX_THREADS = 1  # there are as many of these processes as there are cores
    with suppress(EOFError, BrokenPipeError), os.fdopen(0, "rb") as requests, os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a decoder may print is no answer
        answers.write(READY)
        answers.flush()
        serve(requests, answers, seconds)


def grant(seconds: int) -> None:
    """So many seconds of the processor from now on; what needs more is ended by the system, wherever it is.

    A file of a few megabytes can keep a decoder busy for an hour: a JPEG of ten thousand scans is a lawful one. Such a
    process ends also where nobody waits for it any more.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = ceil(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
