"""Any encoder a user owns, as an ONNX file: `onnx:PATH`. It runs in onnxruntime and needs no torch.

Beside `PATH` lies `PATH.json`, which states how the pixels are prepared:

    {"side": 224, "layout": "NCHW", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "licence": "MIT"}

Pixels from 0 to 1 become (x - mean) / std. An encoder that takes bytes prepares them itself: `mean` and `std` are null.
`"decoded": 1` there says that a large JPEG may be decoded to as few pixels a side as are seen, not to twice as many.
An output (n, d) is a vector a picture; an output (n, d, h, w) is a map. The first output is taken where it is one of
them, else the first of the others that is a vector: beside it, many encoders give what they see at each place.
"""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.files import read_bytes, read_json, write_json, written_whole
from deepbinaries.onnx_files import MAX_BYTES, first_line, open_network
from deepbinaries.vision.backbones import TWICE, WeightsCard

MAX_SIDE = 4096
MIN_STD = 0.001  # 1 / 255 turns pixels from 0 to 1 into bytes; what is smaller by far makes infinities of them
CHANNELS = 3
LAYOUTS = ("NCHW", "NHWC")
TYPES = {"tensor(uint8)": np.uint8, "tensor(float)": np.float32, "tensor(float16)": np.float16}


@dataclass(frozen=True)
class Preparation:
    """What the file beside an encoder states; nonsense is refused."""

    side: int
    layout: str  # "NCHW" or "NHWC"
    mean: tuple[float, ...] | None  # from 0 to 1; None: the encoder takes bytes
    std: tuple[float, ...] | None
    licence: str
    made_of: str = ""  # SHA-256 of the weights that the encoder was exported from, where that is known
    decoded: int = TWICE  # how many times as many pixels a side has where a large JPEG is decoded to a smaller one

    def __post_init__(self) -> None:
        if type(self.side) is not int or not 1 <= self.side <= MAX_SIDE:
            raise UsageError(f"side is {self.side!r}", next_step=f"give whole pixels, 1 to {MAX_SIDE}")
        if self.layout not in LAYOUTS:
            raise UsageError(f"layout is {self.layout!r}", next_step="give NCHW or NHWC")
        if not isinstance(self.licence, str) or not self.licence:
            raise UsageError("licence is no text", next_step="state the licence of the weights")
        if not isinstance(self.made_of, str):
            raise UsageError("made_of is no text", next_step="state the SHA-256 of the weights, or leave it out")
        if type(self.decoded) is not int or not 1 <= self.decoded <= MAX_SIDE:
            raise UsageError(f"decoded is {self.decoded!r}", next_step="give 1 or 2, or leave it out")
        for name, numbers in (("mean", self.mean), ("std", self.std)):
            if numbers is not None and (len(numbers) != CHANNELS or not all(map(_is_share, numbers))):
                raise UsageError(
                    f"{name} is {_written(numbers)}",
                    next_step="give three numbers for pixels from 0 to 1: those for bytes divided by 255",
                )
        if (self.mean is None) != (self.std is None):
            null, given = ("mean", "std") if self.mean is None else ("std", "mean")
            raise UsageError(f"{null} is none, {given} is not", next_step="state both, or none for both (null in JSON)")
        if self.std is not None and min(self.std) < MIN_STD:
            raise UsageError(f"std is {_written(self.std)}", next_step=f"give three numbers, {MIN_STD} or more")

    def __str__(self) -> str:
        return "RGB bytes" if self.mean is None else f"RGB, (x / 255 - mean) / std, mean {self.mean}, std {self.std}"


def load(path: str, *, weights: str | Path | None = None, device: str = "cpu") -> "OnnxEncoder":
    """The encoder in a file, prepared as the file beside it says."""
    if weights is not None:
        raise UsageError("an ONNX file holds its own weights", next_step="leave the weights out")
    return OnnxEncoder(Path(path), device)


class OnnxEncoder:
    """An ONNX file behind the contract of a backbone, its pixels prepared as given, or else as stated beside it."""

    def __init__(self, path: Path, device: str = "cpu", *, preparation: Preparation | None = None):
        content = read_bytes(path, limit=MAX_BYTES)
        preparation = preparation or read_preparation(path)
        self._path = path
        self.preparation = preparation
        # A thread a picture keeps all cores busy, however many there are; threads inside of one picture do not.
        self._session = open_network(content, path, device=device, threads=1)
        self._input = _check_input(self._session, preparation, path)
        self.name = f"onnx:{path.name}"
        self.crop_side, self.decoded = preparation.side, preparation.decoded
        self.card = WeightsCard(
            hashlib.sha256(content).hexdigest(),
            preparation.licence,
            path.name,
            preprocessing=str(preparation),
            made_of=preparation.made_of,
        )
        # One black picture says more than the shapes in the file, which may leave sides and widths open.
        black = np.zeros((1, self.crop_side, self.crop_side, CHANNELS), dtype=np.uint8)
        shapes = [np.shape(output) for output in self._answers(black)]
        place = _place_of_features(shapes, path)
        self._output = self._session.get_outputs()[place].name
        self.width = int(shapes[place][1])
        self.stride = self.crop_side // int(shapes[place][2]) if len(shapes[place]) == 4 else 0

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
        """The features; pictures are run one by one, so that none depends on its neighbours, on all cores."""
        if not len(pixels):  # their shape still says how large a map would be
            return self._run(np.zeros((1, *pixels.shape[1:]), dtype=np.uint8))[:0]
        if len(pixels) == 1:
            return self._run_one(pixels)
        with ThreadPoolExecutor(min(len(pixels), os.cpu_count() or 1)) as threads:
            return np.concatenate(list(threads.map(self._run_one, pixels[:, None])))

    def _run_one(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        (output,) = self._answers(pixels, [self._output])
        features: NDArray[np.float32] = output.astype(np.float32)
        return features

    def _answers(self, pixels: NDArray[np.uint8], names: list[str] | None = None) -> list[Any]:
        """The outputs of these names, or all of them."""
        prepared = _prepare(pixels, self.preparation, self._input.type)
        try:
            return list(self._session.run(names, {self._input.name: prepared}))
        except Exception as error:  # onnxruntime's errors have no family of their own
            _, height, width, _ = pixels.shape
            side = self.preparation.side
            raise DataError(
                f"{self._path} cannot encode {width} x {height} pixels ({first_line(error)})",
                next_step="state the side that it takes" if width == side else f"use the side that is stated, {side}",
            ) from error

    def save(self, path: Path) -> None:
        """Write the encoder to a file, and beside it what is stated of it."""
        content = read_bytes(self._path, limit=MAX_BYTES)
        if hashlib.sha256(content).hexdigest() != self.card.sha256:
            raise DataError(f"{self._path} has changed since it was opened", next_step="open it again")
        write_encoder(content, self.preparation, path)


def write_encoder(content: bytes, preparation: Preparation, path: Path) -> None:
    """Write an ONNX file, and `PATH.json` with what it needs to know of the pixels."""
    with written_whole(path) as file:
        file.write(content)
    write_json(asdict(preparation), path.with_name(path.name + ".json"), indent=1)


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
    for name in ("mean", "std"):
        if stated[name] is not None and not isinstance(stated[name], list):
            raise DataError(f"{beside}: {name} is {stated[name]!r}", next_step="give three numbers, or null")
    # 1 and 1.0 are the same preparation, and shall be called the same.
    mean, std = (
        None if stated[name] is None else tuple(float(x) if type(x) is int else x for x in stated[name])
        for name in ("mean", "std")
    )
    try:
        others = {name: stated[name] for name in ("made_of", "decoded") if name in stated}
        return Preparation(stated["side"], stated["layout"], mean, std, stated["licence"], **others)
    except UsageError as error:
        raise DataError(f"{beside}: {error.problem}", next_step=error.next_step) from error


def _is_share(number: object) -> bool:
    """Whether this may be a mean, or a standard deviation, of pixels from 0 to 1; some encoders want others."""
    return isinstance(number, int | float) and not isinstance(number, bool) and -2 <= number <= 2


def _written(numbers: tuple[object, ...]) -> str:
    return ", ".join(map(str, numbers))


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
            f"{path} takes {_axes(found.shape)}, which is not {preparation.layout} in RGB",
            next_step=f"state the layout {possible[0]}" if possible else "export an encoder of pictures in RGB",
        )
    if found.type not in TYPES:
        raise DataError(f"{path} takes {found.type}", next_step="export an encoder of bytes or floats")
    if found.type == "tensor(uint8)" and preparation.mean is not None:
        raise DataError(
            f"{path} takes bytes, but mean and std are stated", next_step="state none for both (null in JSON)"
        )
    if found.type != "tensor(uint8)" and preparation.mean is None:
        raise DataError(f"{path} takes {found.type}, but neither mean nor std is stated", next_step="state both")
    return found


def _place_of_features(shapes: Sequence[tuple[int, ...]], path: Path) -> int:
    """Which of an encoder's outputs, by their shapes for one picture, are its features."""
    of_one = [len(shape) if shape[:1] == (1,) else 0 for shape in shapes]
    if of_one[0] in (2, 4):
        return 0
    if 2 in of_one:
        return of_one.index(2)
    raise DataError(
        f"{path} gives {', '.join(map(str, shapes))}, neither a vector nor a map a picture",
        next_step="export an encoder with an output (n, d), or whose first output is (n, d, h, w)",
    )


def _axes(shape: Sequence[int | str | None]) -> str:
    """A shape as people write it; an axis may be open without a name.

    >>> _axes(["n", 3, None, None])
    'n x 3 x ? x ?'
    """
    return " x ".join("?" if axis is None else str(axis) for axis in shape)


def _prepare(pixels: NDArray[np.uint8], preparation: Preparation, kind: str) -> NDArray[Any]:
    """Pixels (n, h, w, 3) as the encoder wants them."""
    x: NDArray[Any] = pixels
    if preparation.mean is not None and preparation.std is not None:
        mean, std = np.array(preparation.mean, np.float32), np.array(preparation.std, np.float32)
        x = (pixels.astype(np.float32) / 255 - mean) / std
    if preparation.layout == "NCHW":
        x = x.transpose(0, 3, 1, 2)
    return np.ascontiguousarray(x, dtype=TYPES[kind])
