"""A process that reads photographs and does nothing else; `vision.readers` starts it and says why.

It starts with every run of `deepbinaries index`, so it imports little: no numpy, and of Pillow what the files at hand
need.
"""

import os
from io import BufferedIOBase
from pathlib import Path

from deepbinaries.errors import Error, PictureMemoryError
from deepbinaries.vision.originals import Original, date_taken, full_size, read_original
from deepbinaries.vision.reader_messages import Message, read_message, write_message
from deepbinaries.vision.reading import read_picture
from deepbinaries.vision.serving import grant, serve_forever
from deepbinaries.vision.small import look, square, thumbnail


def serve(requests: BufferedIOBase, answers: BufferedIOBase, seconds: int) -> None:
    """Talk about one photograph after another until there are no more, with so many seconds of the processor each."""
    while True:
        _, (path,) = read_message(requests)
        grant(seconds)
        try:
            original = read_original(Path(os.fsdecode(path)))
        except Error as error:
            write_message(answers, {"reason": str(error)})
            continue
        write_message(answers, {"size": original.size, "changed": original.changed, "id": original.id})
        asked, _ = read_message(requests)
        if asked["wanted"]:
            facts, contents = made_of(original, asked["at_least"], asked["side"])
            write_message(answers, facts, *contents)


def made_of(original: Original, at_least: int | None, side: int | None) -> Message:
    """What an index keeps of a photograph beside its code, and the pixels that its code is made of."""
    try:
        # Every picture is called "it": equal reasons can then be counted.
        picture = read_picture(original.content, name="it", at_least=at_least)
    except (Error, OSError) as error:
        return {"reason": str(error), "passing": isinstance(error, PictureMemoryError)}, []
    width, height = full_size(original.content, picture.size)
    seen = picture if side is None else square(picture, side)
    facts = {
        "width": width,
        "height": height,
        "taken": date_taken(original.content),
        "look": look(picture).hex(),
        "seen": seen.size,
    }
    return facts, [thumbnail(picture), seen.tobytes()]


if __name__ == "__main__":
    serve_forever(serve)
