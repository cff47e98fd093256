"""Codes on disk: `NAME.npy` with the packed rows, `NAME.json` beside it with length and digest.

The array alone could be read with `numpy.load`; the sidecar says what its bytes mean and proves
that they are the ones that were written.
"""

import json
from pathlib import Path

import numpy as np

from deepbinaries.codes.codes import Codes
from deepbinaries.errors import DataError

FORMAT = "deepbinaries-codes"
VERSION = 1


def save(codes: Codes, path: str | Path) -> None:
    """Write `path` (.npy) and its sidecar (.json); the sidecar comes last, so a torn write is noticed."""
    path = _npy(path)
    sidecar = {
        "format": FORMAT,
        "version": VERSION,
        "bits": codes.bits,
        "items": len(codes),
        "bit_order": "little",
        "padding": "zero",
        "sha256": codes.digest,
    }
    whole = path.with_suffix(".npy.part")
    with whole.open("wb") as file:
        np.save(file, np.ascontiguousarray(codes.packed), allow_pickle=False)
    whole.replace(path)
    whole = path.with_suffix(".json.part")
    whole.write_text(json.dumps(sidecar, indent=1) + "\n")
    whole.replace(path.with_suffix(".json"))


def load(path: str | Path) -> Codes:
    """The codes of `path`, proven against their sidecar.

    Other people's codes have no sidecar; a matrix of 0 and 1, of -1 and +1 or of reals is then
    read with one column a bit. Packed bytes without a sidecar are refused: their length is unknown.
    """
    path = _npy(path)
    try:
        array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist", next_step="give the .npy file that holds the codes") from None
    except (ValueError, EOFError, OSError) as error:
        raise DataError(f"{path} is not a whole .npy file ({error})", next_step="write or copy it again") from error
    sidecar = path.with_suffix(".json")
    if not sidecar.exists():
        return _from_plain_matrix(array, path)
    try:
        facts = json.loads(sidecar.read_bytes())
        known = facts["format"] == FORMAT and facts["version"] == VERSION
        bits, digest = int(facts["bits"]), str(facts["sha256"])
    except (ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise DataError(
            f"{sidecar} does not describe codes ({error})", next_step="write both files again with codes.save"
        ) from error
    if not known:
        raise DataError(
            f"{sidecar} is of format {facts['format']} version {facts['version']}",
            next_step=f"this release reads {FORMAT} version {VERSION}: update deepbinaries or write the codes again",
        )
    codes = Codes(array, bits)
    if codes.digest != digest:
        raise DataError(
            f"the bytes of {path} are not those its sidecar was written for",
            next_step="copy or encode both files again",
        )
    return codes


def _from_plain_matrix(array: np.ndarray, path: Path) -> Codes:
    if array.ndim != 2 or array.dtype.kind not in "bfiu":
        raise DataError(
            f"{path} holds {array.dtype} of shape {array.shape}, not a matrix of bits",
            next_step="store one row an item and one column a bit",
        )
    if array.dtype.kind == "b" or (array.size and np.isin(array, (0, 1)).all()):
        return Codes.from_bits(array)
    if array.dtype == np.uint8:
        raise DataError(
            f"{path} looks packed and has no {path.with_suffix('.json').name} that says how many bits a code has",
            next_step="store the unpacked matrix of 0 and 1, or save it with codes.save",
        )
    return Codes.from_values(array)


def _npy(path: str | Path) -> Path:
    path = Path(path)
    return path if path.suffix == ".npy" else path.with_name(path.name + ".npy")
