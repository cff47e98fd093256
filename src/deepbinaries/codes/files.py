"""Codes on disk: `NAME.npy` with the packed rows, `NAME.npy.json` beside it with length and digest.

The array alone could be read with `numpy.load`; the sidecar says what its bytes mean and proves
that they are the ones that were written.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes.codes import Codes
from deepbinaries.errors import DataError, Error
from deepbinaries.files import read_json, write_array, write_json, written_whole

FORMAT = "deepbinaries-codes"
VERSION = 1


def save(codes: Codes, path: str | Path) -> None:
    """Write `path` (.npy) and its sidecar (.npy.json); the sidecar comes last, so a torn write is noticed."""
    path = _npy(path)
    with written_whole(path) as file:
        write_array(codes.packed, file)
    sidecar = {
        "format": FORMAT,
        "version": VERSION,
        "bits": codes.bits,
        "items": len(codes),
        "bit_order": "little",
        "padding": "zero",
        "sha256": codes.digest,
    }
    write_json(sidecar, _sidecar(path), indent=1)


def load(path: str | Path) -> Codes:
    """The codes of `path`, proven against their sidecar.

    Other people's codes have no sidecar; a matrix of 0 and 1, of -1 and +1 or of reals is then
    read with one column a bit. Packed bytes without a sidecar are refused: their length is unknown.
    """
    path = _npy(path)
    array = read_array(path)
    sidecar = _sidecar(path)
    if not sidecar.exists():
        try:
            return _from_plain_matrix(array, path)
        except Error as error:
            raise DataError(f"{path}: {error.problem}", next_step=error.next_step) from error
    facts = read_json(sidecar)
    if not isinstance(facts, dict) or facts.get("format") != FORMAT or facts.get("version") != VERSION:
        raise DataError(
            f"{sidecar} does not describe codes in {FORMAT} version {VERSION}",
            next_step="update deepbinaries, or write both files again with codes.save",
        )
    if type(facts.get("bits")) is not int:
        raise DataError(f"{sidecar} does not say how many bits a code has", next_step="write both files again")
    codes = Codes(array, facts["bits"])
    stated = [facts.get(name) for name in ("items", "bit_order", "padding")]
    if stated != [len(codes), "little", "zero"]:
        raise DataError(
            f"{sidecar} speaks of other codes: items, bit_order and padding are {stated}",
            next_step="write both files again with codes.save",
        )
    if codes.digest != facts.get("sha256"):
        raise DataError(
            f"the bytes of {path} are not those its sidecar was written for",
            next_step="copy or encode both files again",
        )
    return codes


def read_array(path: Path) -> NDArray[Any]:
    """The array in an .npy file, of plain numbers only."""
    try:
        with path.open("rb") as file:
            return np.lib.format.read_array(file, allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist", next_step="give an .npy file") from None
    except (ValueError, EOFError, OSError, MemoryError, OverflowError) as error:
        raise DataError(f"{path} is not a whole .npy file of numbers ({error})", next_step="write it again") from error


def _from_plain_matrix(array: NDArray[Any], path: Path) -> Codes:
    if array.ndim != 2 or array.dtype.kind not in "bfiu":
        raise DataError(
            f"it holds {array.dtype} of shape {array.shape}, not a matrix of bits",
            next_step="store one row an item and one column a bit",
        )
    if array.dtype.kind == "b" or (array.size and np.isin(array, (0, 1)).all()):
        return Codes.from_bits(array)
    if array.dtype == np.uint8:
        raise DataError(
            f"it looks packed and has no {_sidecar(path).name} that says how many bits a code has",
            next_step="store the unpacked matrix of 0 and 1, or save it with codes.save",
        )
    return Codes.from_values(array)


def _npy(path: str | Path) -> Path:
    path = Path(path)
    if not path.name:
        raise DataError(f"{path} is no file", next_step="give an .npy file")
    return path if path.suffix == ".npy" else path.with_name(path.name + ".npy")


def _sidecar(path: Path) -> Path:
    return path.with_name(path.name + ".json")
