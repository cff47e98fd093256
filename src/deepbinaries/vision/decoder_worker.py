"""A process that decodes pictures and does nothing else; `vision.decoders` starts it and says why.

Requests come in by standard input, answers go out by standard output; it ends when there is nobody to serve.
"""

from io import BufferedIOBase

from PIL import Image

from deepbinaries.errors import Error
from deepbinaries.vision.decoder_messages import read_request, write_answer
from deepbinaries.vision.reading import read_picture
from deepbinaries.vision.serving import grant, serve_forever

ENOUGH = 6_000_000  # pixels that are sent before the next file is decoded: large pictures do not pile up here


def serve(requests: BufferedIOBase, answers: BufferedIOBase, seconds: int) -> None:
    """Answer requests until they end, with so many seconds of the processor for each file."""
    while True:
        files, at_least = read_request(requests)
        waiting: list[Image.Image | str] = []
        for name, file in files:
            grant(seconds)
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


if __name__ == "__main__":
    serve_forever(serve)
