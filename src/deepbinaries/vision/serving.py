"""The other side of `vision.processes`: what a process does before and after it serves."""

import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from io import BufferedIOBase

from PIL import AvifImagePlugin

READY = b"\1"  # the first that a process says: all is in place


def serve_forever(serve: Callable[[BufferedIOBase, BufferedIOBase], None]) -> None:
    """Serve the process that started this one, with as much memory as it has set, until it asks nothing more."""
    for limit in sys.argv[1:]:
        resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
    AvifImagePlugin.DEFAULT_MAX_THREADS = 1  # there are as many of these processes as there are cores
    with suppress(EOFError, BrokenPipeError), os.fdopen(0, "rb") as requests, os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a decoder may print is no answer
        answers.write(READY)
        answers.flush()
        serve(requests, answers)
