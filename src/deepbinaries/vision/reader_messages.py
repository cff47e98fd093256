"""What a process that reads photographs is asked and answers, as messages in a pipe.

A message is a few facts, and contents that they speak of. In the pipe: the length of the facts, little-endian, of 8
bytes; the facts as JSON, the contents' lengths among them; the contents.

About each photograph two questions are asked, so that nothing is decoded that is known already:

    {}, its path                      {"size", "changed", "id"} of the file, or {"reason"} why it cannot be read
    {"wanted", "at_least", "side"}    {"width", "height", "taken", "look", "seen"}, the small copy and the pixels;
                                      or {"reason", "passing"}; or no answer at all where it is not wanted
"""

import json
from collections.abc import Mapping
from io import BufferedIOBase
from typing import Any

Message = tuple[dict[str, Any], list[bytes]]


def write_message(pipe: BufferedIOBase, facts: Mapping[str, Any], *contents: bytes) -> None:
    """Say something."""
    said = json.dumps({**facts, "lengths": [len(content) for content in contents]}).encode()
    pipe.write(len(said).to_bytes(8, "little") + said)
    for content in contents:
        pipe.write(content)
    pipe.flush()


def read_message(pipe: BufferedIOBase) -> Message:
    """What is said next; EOFError when it does not come whole."""
    facts = json.loads(_taken(pipe, int.from_bytes(_taken(pipe, 8), "little")))
    return facts, [_taken(pipe, length) for length in facts.pop("lengths")]


def _taken(pipe: BufferedIOBase, n_bytes: int) -> bytes:
    taken = pipe.read(n_bytes)
    if len(taken) < n_bytes:
        raise EOFError
    return taken
