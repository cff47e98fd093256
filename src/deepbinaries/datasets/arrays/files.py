"""Plain numeric arrays out of `.npz` and `.mat` files; Python objects in them are never brought to life."""

import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, MissingExtraError

SUFFIXES = (".npz", ".mat")
MAX_ARRAY_BYTES = 16 * 2**30
HDF5 = b"\x89HDF\r\n\x1a\n"


def array_names(path: Path) -> list[str]:
    """The names of the arrays in a file."""
    if path.suffix == ".mat":
        return [name for name, _, _ in _mat(path, "whosmat")]
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise DataError(f"{path} is not an .npz file ({error})", next_step="copy it again from its source") from error


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, NDArray[np.generic]]:
    """The arrays of these names, as stored; they hold booleans, integers or finite real numbers."""
    names = list(names)
    if path.suffix == ".mat":
        stored = _mat(path, "loadmat", variable_names=names)
        arrays = {name: stored[name] for name in names}
    else:
        arrays = {name: _npz_array(path, name) for name in names}
    for name, array in arrays.items():
        _check_numbers(array, name, path)
    return arrays


def _npz_array(path: Path, name: str) -> Any:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
            if archive.getinfo(f"{name}.npy").file_size > MAX_ARRAY_BYTES:
                raise ValueError(f"it has more than {MAX_ARRAY_BYTES:,} bytes")
            return np.lib.format.read_array(file, allow_pickle=False)
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, RuntimeError, MemoryError) as error:
        raise DataError(
            f"the array {name!r} of {path} cannot be read ({error})",
            next_step="save it again as a plain array of numbers",
        ) from error


def _mat(path: Path, function: str, **settings: Any) -> Any:
    """What a function of scipy.io says about a MATLAB file."""
    try:
        with path.open("rb") as file:
            head = file.read(512 + len(HDF5))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})", next_step="restore its permissions") from error
    if head.startswith((b"MATLAB 7.3", HDF5)) or head.endswith(HDF5):
        raise DataError(
            f"{path} is a MATLAB 7.3 (HDF5) file, which is not read",
            next_step="save it in MATLAB with save(..., '-v7'), or as .npz",
        )
    try:
        import scipy.io
    except ImportError as missing:
        raise MissingExtraError("scipy", "train") from missing
    try:
        return getattr(scipy.io, function)(str(path), appendmat=False, **settings)
    except Exception as error:  # scipy answers damaged files with almost any kind
        raise DataError(f"{path} is not a whole .mat file ({error})", next_step="copy it again") from error


def _check_numbers(array: Any, name: str, path: Path) -> None:
    """Refuse what is no plain array of finite numbers; a bad row is named."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf" or array.ndim == 0:
        kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise DataError(
            f"the array {name!r} of {path} holds {kind}, not plain numbers",
            next_step="save it as a full array of numbers",
        )
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise DataError(
            f"row {row} of the array {name!r} of {path} holds a number that is not finite",
            next_step="correct or remove the row",
        )
