"""A multi-index on disk: a folder of plain .npy arrays, and `index.json` with what they are and their checksums.

The header is written last, so that a torn write is noticed. Arrays are mapped and not read into
memory, but for the offsets: whatever happens to the files later, they lead to no wrong place.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes.gallery import Gallery
from deepbinaries.codes.multi_index import MAX_BITS, MAX_ITEMS, MAX_WIDTH, MultiIndex
from deepbinaries.errors import DataError, Error
from deepbinaries.files import read_json, write_array, write_json, written_whole
from deepbinaries.progress import track

FORMAT = "deepbinaries-multi-index"
VERSION = 1
HEADER = "index.json"


def save_index(index: MultiIndex, folder: str | Path) -> None:
    """Write an index to a folder, which is made if need be."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / HEADER).unlink(missing_ok=True)  # it would describe other arrays until the new one is there
    except OSError as error:
        raise Error(f"{folder} cannot be written ({error.strerror})", next_step="give another folder") from error
    arrays: dict[str, NDArray[Any]] = {
        "codes": index.gallery.segments[0],
        "tables": index.tables,
        "ids": index.ids,
        "offsets": index.offsets,
    }
    for name, array in track(arrays.items(), "saving the index", total=len(arrays)):
        with written_whole(folder / f"{name}.npy") as file:
            write_array(array, file)
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "bits": index.gallery.bits,
        "items": len(index),
        "widths": list(index.widths),
        "sha256": {name: _digest(array) for name, array in arrays.items()},
    }
    write_json(facts | {"header_sha256": _header_digest(facts)}, folder / HEADER, indent=1)


def open_index(folder: str | Path, *, verify: bool = True) -> MultiIndex:
    """The index that a folder holds, searched where it lies.

    Every byte is read once and proven against the header. Without `verify` only the header, the
    shapes and the offsets are, which takes no longer for many codes than for few.
    """
    folder = Path(folder)
    facts = _facts(folder / HEADER)
    bits, n, widths = facts["bits"], facts["items"], tuple(facts["widths"])
    m, n_offsets = len(widths), 2 ** widths[0] + 1
    tables = _mapped(folder / "tables.npy", np.dtype(np.uint64), (m, n))
    ids = _mapped(folder / "ids.npy", np.dtype(np.uint32), (m, n))
    codes = _mapped(folder / "codes.npy", np.dtype(np.uint64), (1, n))
    offsets = _mapped(folder / "offsets.npy", np.dtype(np.uint32), (m, n_offsets)).copy()
    arrays: dict[str, NDArray[Any]] = {"offsets": offsets} | (
        {"codes": codes, "tables": tables, "ids": ids} if verify else {}
    )
    for name, array in track(arrays.items(), "checking the index", total=len(arrays)):
        if _digest(array) != facts["sha256"].get(name):
            raise DataError(
                f"the bytes of {folder / name}.npy are not those its header was written for",
                next_step="copy the folder again, or build the index again",
            )
    if verify and n and ids.max() >= n:
        raise DataError(f"{folder / 'ids.npy'} names rows that are not there", next_step="build the index again")
    if (offsets[:, 0] != 0).any() or (offsets[:, -1] != n).any() or (offsets[:, 1:] < offsets[:, :-1]).any():
        raise DataError(f"{folder / 'offsets.npy'} leads out of its tables", next_step="build the index again")
    return MultiIndex(Gallery([codes], bits), widths, tables, ids, offsets)


def _facts(header: Path) -> dict[str, Any]:
    """What the header says, once it is known to be whole and to speak of an index that can be."""
    facts = read_json(header)
    if not isinstance(facts, dict) or facts.get("format") != FORMAT or facts.get("version") != VERSION:
        raise DataError(
            f"{header} does not describe an index in {FORMAT} version {VERSION}",
            next_step="update deepbinaries, or build the index again",
        )
    stated = facts.pop("header_sha256", None)
    if stated != _header_digest(facts) or not _possible(facts):
        raise DataError(f"{header} is not as it was written", next_step="copy the folder again, or build it again")
    return facts


def _possible(facts: dict[str, Any]) -> bool:
    bits, n, widths = (facts.get(name) for name in ("bits", "items", "widths"))
    return (
        type(bits) is int
        and 1 <= bits <= MAX_BITS
        and type(n) is int
        and 0 <= n <= MAX_ITEMS
        and isinstance(widths, list)
        and all(type(width) is int and 1 <= width <= MAX_WIDTH for width in widths)
        and sum(widths) == bits
        and max(widths) == widths[0]
        and isinstance(facts.get("sha256"), dict)
    )


def _mapped(path: Path, dtype: np.dtype[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """The array of a file as a read-only map; its type and shape must be these."""
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError:
        raise DataError(f"{path} does not exist", next_step="copy the whole folder of the index") from None
    except (ValueError, EOFError, OSError, MemoryError, OverflowError) as error:
        raise DataError(f"{path} is not a whole .npy file of numbers ({error})", next_step="copy it again") from error
    if (array.dtype, array.shape) != (dtype, shape) or not array.flags.c_contiguous:
        raise DataError(f"{path} does not hold {dtype} of shape {shape}", next_step="copy the folder again")
    return np.asarray(array)


def _digest(array: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def _header_digest(facts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
