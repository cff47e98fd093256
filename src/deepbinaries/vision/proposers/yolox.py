"""YOLOX, a detector without anchors (Ge and others, 2021), for its objectness alone.

The classes that it was taught are not read, so that regions stay free of them. Its weights are a file of the user's
own choice, an ONNX export whose boxes are not decoded inside the network (`demo/export_onnx.py` of YOLOX).
"""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.errors import DataError
from deepbinaries.files import read_bytes
from deepbinaries.vision.regions import Proposals

MAX_FILE_BYTES = 2**30
STRIDES = (8, 16, 32)  # pixels a cell, in the order of the network's answers
FILLING = 114  # the grey that surrounds a picture, as in its training
LEAST_OBJECTNESS = 0.01


class Yolox:
    """One box a cell with its objectness, from every cell that is not sure to be empty."""

    name = "yolox"

    def __init__(self, path: Path):
        content = read_bytes(path, limit=MAX_FILE_BYTES)
        self.digest = hashlib.sha256(content).hexdigest()
        self._session = _session(content, path)
        self._input = self._session.get_inputs()[0].name
        shape = self._session.get_inputs()[0].shape
        answer = self._session.get_outputs()[0].shape
        if len(shape) != 4 or shape[:2] != [1, 3] or not isinstance(shape[2], int) or shape[2] != shape[3]:
            raise _no_yolox(path, f"its input is {shape}, not [1, 3, side, side]")
        self._side: int = shape[2]
        self._cells = cells(self._side)
        if len(answer) != 3 or answer[1] != len(self._cells) or not isinstance(answer[2], int) or answer[2] < 5:
            raise _no_yolox(path, f"its output is {answer}, not [1, {len(self._cells)}, 5 + classes]")

    def propose(
        self,
        picture: Image.Image,
        energy: NDArray[np.floating] | None = None,  # noqa: ARG002
        id: str = "",  # noqa: A002, ARG002
    ) -> Proposals:
        answer, scaled_size = self.answer(picture)
        return decode(answer, self._cells, scaled_size)

    def answer(self, picture: Image.Image) -> tuple[NDArray[np.float32], tuple[int, int]]:
        """All that the network says, (cells, 5 + classes), and the picture's width and height in its square."""
        image, scaled_size = letterbox(picture, self._side)
        (answer,) = self._session.run(None, {self._input: image})[:1]
        return answer[0], scaled_size


def letterbox(picture: Image.Image, side: int) -> tuple[NDArray[np.float32], tuple[int, int]]:
    """The network's input (1, 3, side, side) in B, G, R from 0 to 255, and the picture's width and height in it.

    The picture lies at the top left, in its own proportions.
    """
    scale = side / max(picture.size)
    width, height = (max(1, round(length * scale)) for length in picture.size)
    square = Image.new("RGB", (side, side), (FILLING,) * 3)
    square.paste(picture.resize((width, height), Image.Resampling.BILINEAR))
    image = np.asarray(square, dtype=np.float32)[:, :, ::-1].transpose(2, 0, 1)
    return np.ascontiguousarray(image[None]), (width, height)


def cells(side: int) -> NDArray[np.float32]:
    """Column, row and stride of each cell, (n, 3), in the order of the network's answers.

    >>> len(cells(416)), cells(32)[-2:].tolist()
    (3549, [[1.0, 1.0, 16.0], [0.0, 0.0, 32.0]])
    """
    tables = []
    for stride in STRIDES:
        rows, columns = np.divmod(np.arange((side // stride) ** 2), side // stride)
        tables.append(np.stack([columns, rows, np.full_like(rows, stride)], axis=1))
    return np.concatenate(tables).astype(np.float32)


def decode(answer: NDArray[np.float32], cells: NDArray[np.float32], scaled_size: tuple[int, int]) -> Proposals:
    """The boxes in a network's answer (cells, 5 + classes), inside the picture and in shares of it."""
    likely = answer[:, 4] >= LEAST_OBJECTNESS
    answer, places, strides = answer[likely], cells[likely, :2], cells[likely, 2:]
    centres = (answer[:, 0:2] + places) * strides
    # No thing is larger than the picture: e to the 10th cells would be, and more might overflow.
    sides = np.exp(np.minimum(answer[:, 2:4], 10)) * strides
    pixels = np.concatenate([centres - sides / 2, centres + sides / 2], axis=1)
    boxes = np.clip(pixels / np.array(scaled_size * 2, dtype=np.float32), 0, 1)
    return Proposals(boxes.astype(np.float32), answer[:, 4].clip(max=1).astype(np.float32))


def _session(content: bytes, path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # as many pictures at once as there are cores serve better
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common parent
        reason = " ".join(str(error).split())[:200]
        raise _no_yolox(path, f"it is no whole ONNX file: {reason}") from error


def _no_yolox(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path} is no YOLOX network ({reason})",
        next_step="give an ONNX file exported without decoding, such as yolox_nano.onnx",
    )
