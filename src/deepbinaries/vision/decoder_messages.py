"""What a process that decodes pictures is asked and answers, as bytes in a pipe. Numbers are little-endian, of 8 bytes.

A request: how many files, and `at_least` or -1; the lengths of each one's name and bytes; names and bytes, in turns.
An answer: how many pictures; width and height of each, or 0 and the length of the reason why it cannot be read;
their pixels and reasons. A request may be answered in several parts, and is over when every file has its own.
"""

import struct
from collections.abc import Sequence
from io import BufferedIOBase

import numpy as np
from PIL import Image

from deepbinaries.vision.pixels import Pixels

Files = Sequence[tuple[str, bytes]]  # their names, and what is in them

TEXT = {"encoding": "utf-8", "errors": "surrogatepass"}  # names of files may be no Unicode


def write_request(pipe: BufferedIOBase, files: Files, at_least: int | None) -> None:
    """Ask for the pictures in these files."""
    parts = [part for name, file in files for part in (name.encode(**TEXT), file)]
    pipe.write(_packed(len(files), -1 if at_least is None else at_least, *map(len, parts)))
    for part in parts:
        pipe.write(part)
    pipe.flush()


def read_request(pipe: BufferedIOBase) -> tuple[list[tuple[str, bytes]], int | None]:
    """The files of the next request, and `at_least`; EOFError when there is none."""
    n_files, at_least = _numbers(pipe, 2)
    lengths = _numbers(pipe, 2 * n_files)
    parts = [_taken(pipe, length).tobytes() for length in lengths]
    names = [name.decode(**TEXT) for name in parts[::2]]
    return list(zip(names, parts[1::2], strict=True)), None if at_least < 0 else at_least


def write_answer(pipe: BufferedIOBase, answers: Sequence[Image.Image | str]) -> None:
    """Send RGB pictures, or the reasons why there are none."""
    contents = [answer.encode(**TEXT) if isinstance(answer, str) else answer.tobytes() for answer in answers]
    sizes = [
        (0, len(content)) if isinstance(answer, str) else answer.size
        for answer, content in zip(answers, contents, strict=True)
    ]
    pipe.write(_packed(len(answers), *(number for size in sizes for number in size)))
    for content in contents:
        pipe.write(content)
    pipe.flush()


def read_answer(pipe: BufferedIOBase) -> list[Pixels | str]:
    """The pixels or reasons of the next answer; EOFError when it does not come whole."""
    (n_answers,) = _numbers(pipe, 1)
    numbers = _numbers(pipe, 2 * n_answers)
    sizes = list(zip(numbers[::2], numbers[1::2], strict=True))
    lengths = [3 * width * height if width else height for width, height in sizes]
    contents = np.split(_taken(pipe, sum(lengths)), np.cumsum(lengths)[:-1]) if lengths else []
    return [
        content.reshape(height, width, 3) if width else content.tobytes().decode(**TEXT)
        for (width, height), content in zip(sizes, contents, strict=True)
    ]


def _packed(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


def _numbers(pipe: BufferedIOBase, n: int) -> tuple[int, ...]:
    return struct.unpack(f"<{n}q", _taken(pipe, 8 * n).data)


def _taken(pipe: BufferedIOBase, n_bytes: int) -> Pixels:
    """The next bytes, read straight to where they stay, while other threads run."""
    taken = np.empty(n_bytes, dtype=np.uint8)
    if pipe.readinto(taken.data) < n_bytes:
        raise EOFError
    return taken
