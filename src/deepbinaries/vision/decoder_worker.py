"""A process that decodes pictures and does nothing else; `vision.decoders` starts it and says why.

Requests come in by standard input, answers go out by standard output; it ends when there is nobody to serve.
"""

import os
import resource
import sys
from contextlib import suppress
from io import BufferedIOBase

from PIL import AvifImagePlugin, Image

from deepbinaries.errors import Error
from deepbinaries.vision.decoder_messages import read_request, write_answer
from deepbinaries.vision.reading import read_picture

ENOUGH = 6_000_000  # pixels that are sent before the next file is decoded: large pictures do not pile up here


def serve(requests: BufferedIOBase, answers: BufferedIOBase) -> None:
    """Answer requests until they end. An answer of nothing comes first: it says that all is in place."""
    write_answer(answers, [])
    while True:
        files, at_least = read_request(requests)
        waiting: list[Image.Image | str] = []
        for name, file in files:
            waiting.append(_decoded(name, file, at_least))
            if sum(picture.width * picture.height for picture in waiting if not isinstance(picture, str)) > ENOUGH:
                write_answer(answers, waiting)
                waiting = []
        if waiting:
            write_answer(answers, waiting)


def _decoded(name: str, file: bytes, at_least: int | None) -> Image.Image | str:
    try:
        return read_picture(file, name=name, at_least=at_least)
    except (Error, OSError) as error:
        return str(error)


def main() -> None:
    """Serve the process that started this one, with as much memory as it has set."""
    for limit in sys.argv[1:]:
        resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
    AvifImagePlugin.DEFAULT_MAX_THREADS = 1  # there are as many of these processes as there are cores
    with suppress(EOFError, BrokenPipeError), os.fdopen(0, "rb") as requests, os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a decoder may print is no answer
        serve(requests, answers)


if __name__ == "__main__":
    main()
