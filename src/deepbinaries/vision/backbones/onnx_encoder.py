"""Any encoder a user owns, as an ONNX file: `onnx:PATH`. It runs in onnxruntime and needs no torch.

Beside `PATH` lies `PATH.json`, which states how the pixels are prepared:

    {"side": 224, "layout": "NCHW", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "licence": "MIT"}

Pixels from 0 to 1 become (x - mean) / std. An encoder that takes bytes prepares them itself: `mean` and `std` are null.
An output (n, d) is a vector a picture; an output (n, d, h, w) is a map.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.files import read_bytes, read_json
from deepbinaries.vision.backbones import WeightsCard

MAX_BYTES = 2 * 2**30  # protobuf's own limit
MAX_SIDE = 4096
CHANNELS = 3
LAYOUTS = ("NCHW", "NHWC")
TYPES = {"tensor(uint8)": np.uint8, "tensor(float)": np.float32, "tensor(float16)": np.float16}


@dataclass(frozen=True)
class Preparation:
    """What the file beside an encoder states."""

    side: int
    layout: str  # "NCHW" or "NHWC"
    mean: tuple[float, ...] | None  # from 0 to 1; None: the encoder takes bytes
    std: tuple[float, ...] | None
    licence: str

    def __str__(self) -> str:
        return "RGB bytes" if self.mean is None else f"RGB, (x / 255 - mean) / std, mean {self.mean}, std {self.std}"


def load(path: str, *, weights: str | Path | None = None, device: str = "cpu") -> "OnnxEncoder":
    """The encoder in a file, prepared as the file beside it says."""
    if weights is not None:
        raise UsageError("an ONNX file holds its own weights", next_step="leave the weights out")
    return OnnxEncoder(Path(path), device)


class OnnxEncoder:
    """An ONNX file behind the contract of a backbone."""

    def __init__(self, path: Path, device: str = "cpu"):
        content = read_bytes(path, limit=MAX_BYTES)
        preparation = read_preparation(path)
        self._preparation = preparation
        self._session = _open(content, path, device)
        self._input = _check_input(self._session, preparation, path)
        self.name = f"onnx:{path.name}"
        self.crop_side = preparation.side
        self.card = WeightsCard(
            hashlib.sha256(content).hexdigest(), preparation.licence, path.name, preprocessing=str(preparation)
        )
        # One black picture says more than the shapes in the file, which may leave sides and widths open.
        output = self._run(np.zeros((1, self.crop_side, self.crop_side, CHANNELS), dtype=np.uint8))
        if output.ndim not in (2, 4):
            raise DataError(
                f"{path} gives {output.shape}, neither a vector nor a map a picture",
                next_step="export an encoder whose first output is (n, d) or (n, d, h, w)",
            )
        self.width = int(output.shape[1])
        self.stride = self.crop_side // int(output.shape[2]) if output.ndim == 4 else 0

    def maps(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Feature maps of pictures (n, h, w, 3): (n, width, h / stride, w / stride)."""
        if not self.stride:
            raise UsageError(f"{self.name} has no maps, only vectors", next_step="use mode=crop")
        return self._run(pixels)

    def vectors(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """One feature vector a picture of (n, s, s, 3): (n, width)."""
        output = self._run(pixels)
        return output.mean((2, 3)) if self.stride else output

    def _run(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The first output, of all pictures at once or, where the file fixes the number to 1, of one by one."""
        prepared = _prepare(pixels, self._preparation, self._input.type)
        step = 1 if self._input.shape[0] == 1 else max(len(prepared), 1)
        try:
            outputs = [
                self._session.run(None, {self._input.name: prepared[start : start + step]})[0]
                for start in range(0, len(prepared), step)
            ]
        except Exception as error:  # onnxruntime's errors have no family of their own
            _, height, width, _ = pixels.shape
            raise DataError(
                f"{self.name} cannot encode {width} x {height} pixels ({_first_line(error)})",
                next_step=f"use a side that it takes, such as the {self._preparation.side} stated beside it",
            ) from error
        return np.concatenate(outputs).astype(np.float32)


def read_preparation(path: Path) -> Preparation:
    """What `PATH.json` states about the encoder at `path`; an encoder without it is refused."""
    beside = path.with_name(path.name + ".json")
    if not beside.exists():
        raise DataError(
            f"{beside} does not exist, and without it nobody knows how {path.name} wants its pixels",
            next_step='write {"side": 224, "layout": "NCHW", "mean": [...], "std": [...], "licence": "..."} there',
        )
    stated = read_json(beside)
    if not isinstance(stated, dict):
        raise DataError(f"{beside} holds no JSON object", next_step="write one with side, layout, mean, std, licence")
    names = ("side", "layout", "mean", "std", "licence")
    for name in names:
        if name not in stated:
            raise DataError(f"{beside} does not state {name!r}", next_step=f"state {', '.join(names)}")
    side = stated["side"]
    if type(side) is not int or not 1 <= side <= MAX_SIDE:
        raise DataError(f"{beside}: side is {side!r}", next_step=f"give whole pixels, 1 to {MAX_SIDE}")
    if stated["layout"] not in LAYOUTS:
        raise DataError(f"{beside}: layout is {stated['layout']!r}", next_step="give NCHW or NHWC")
    if not isinstance(stated["licence"], str) or not stated["licence"]:
        raise DataError(f"{beside}: licence is no text", next_step="state the licence of the weights")
    mean, std = (_three(stated[name], name, beside) for name in ("mean", "std"))
    if (mean is None) != (std is None):
        raise DataError(f"{beside}: only one of mean and std is null", next_step="state both, or null for both")
    if std is not None and min(std) <= 0:
        raise DataError(f"{beside}: std is {std}", next_step="give three numbers above 0")
    return Preparation(side, stated["layout"], mean, std, stated["licence"])


def _three(value: Any, name: str, beside: Path) -> tuple[float, ...] | None:
    """Three numbers for pixels from 0 to 1, or none."""
    if value is None:
        return None
    numbers = value if isinstance(value, list) else []
    if len(numbers) != CHANNELS or not all(type(number) in (int, float) for number in numbers):
        raise DataError(f"{beside}: {name} is {value!r}", next_step="give three numbers, or null")
    # NaN and infinity fail this comparison too.
    if not all(-2 <= number <= 2 for number in numbers):
        raise DataError(f"{beside}: {name} is {value!r}", next_step="give it for pixels from 0 to 1: divide by 255")
    return tuple(float(number) for number in numbers)


def _open(content: bytes, path: Path, device: str) -> Any:
    """A session on the content, so that the file with the stated digest is the one that runs."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Threads that wait by spinning take the cores from the workers that decode pictures.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4  # what goes wrong is raised; nothing more is printed
    provider = "CPUExecutionProvider" if device == "cpu" else "CUDAExecutionProvider"
    if provider not in onnxruntime.get_available_providers():
        raise UsageError(
            f"onnxruntime cannot use {device!r} here", next_step="give device=cpu, or install onnxruntime-gpu"
        )
    try:
        return onnxruntime.InferenceSession(content, options, providers=[provider])
    except Exception as error:  # onnxruntime's errors have no family of their own
        raise DataError(
            f"{path} is no ONNX file ({_first_line(error)})", next_step="export or copy it again"
        ) from error


def _check_input(session: Any, preparation: Preparation, path: Path) -> Any:
    """The one input of the session, if it takes pictures as the preparation says."""
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 4:
        raise DataError(
            f"{path} does not take pictures alone", next_step="export an encoder with one input of four axes"
        )
    (found,) = inputs
    possible = [layout for layout in LAYOUTS if found.shape[layout.index("C")] == CHANNELS]
    stated = found.shape[preparation.layout.index("C")]
    if preparation.layout not in possible and (possible or isinstance(stated, int)):  # an open axis may be any
        raise DataError(
            f"{path} takes {found.shape}, which is not {preparation.layout} in RGB", next_step=f"mend {path.name}.json"
        )
    if found.type not in TYPES:
        raise DataError(f"{path} takes {found.type}", next_step="export an encoder of bytes or floats")
    if (found.type == "tensor(uint8)") != (preparation.mean is None):
        raise DataError(
            f"{path} takes {found.type}, which does not go with the mean and std stated beside it",
            next_step="state both for floats, and null for both for bytes",
        )
    return found


def _prepare(pixels: NDArray[np.uint8], preparation: Preparation, kind: str) -> NDArray[Any]:
    """Pixels (n, h, w, 3) as the encoder wants them."""
    x: NDArray[Any] = pixels
    if preparation.mean is not None and preparation.std is not None:
        mean, std = np.array(preparation.mean, np.float32), np.array(preparation.std, np.float32)
        x = (pixels.astype(np.float32) / 255 - mean) / std
    if preparation.layout == "NCHW":
        x = x.transpose(0, 3, 1, 2)
    return np.ascontiguousarray(x, dtype=TYPES[kind])


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
