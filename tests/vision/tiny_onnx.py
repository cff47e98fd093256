"""ONNX files of a few bytes, written by hand: a network that gives the same answer to every picture."""

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FLOAT = 1


def _number(value: int) -> bytes:
    """A protobuf varint."""
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + _number(rest) if rest else bytes([low])


def _field(place: int, content: bytes | str | int) -> bytes:
    if isinstance(content, int):
        return _number(place << 3) + _number(content)
    content = content.encode() if isinstance(content, str) else content
    return _number(place << 3 | 2) + _number(len(content)) + content


def _value(name: str, shape: Sequence[int]) -> bytes:
    dimensions = b"".join(_field(1, _field(1, length)) for length in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, FLOAT) + _field(2, dimensions)))


def constant_network(input_shape: Sequence[int], answer: NDArray[np.float32]) -> bytes:
    """The file of a network `images` -> `output` that looks at nothing and answers `answer`."""
    numbers = struct.pack(f"<{answer.size}f", *answer.ravel().tolist())
    dimensions = b"".join(_field(1, length) for length in answer.shape)
    stored = dimensions + _field(2, FLOAT) + _field(8, "answer") + _field(9, numbers)
    node = _field(1, "answer") + _field(2, "output") + _field(4, "Identity")
    graph = (
        _field(1, node)
        + _field(2, "constant")
        + _field(5, stored)
        + _field(11, _value("images", input_shape))
        + _field(12, _value("output", answer.shape))
    )
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))
