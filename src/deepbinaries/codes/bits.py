"""The one place where real values become bits, and bits become bytes.

A value at or above zero is bit 1 (+1 in the paper's equations), a value below is bit 0 (-1).
Bit j of a code lies in byte j // 8 at position j % 8, least significant first; the unused high
bits of the last byte are zero, so that XOR and popcount need no mask.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbinaries.errors import DataError

MAX_BITS = 1024


def sign(values: ArrayLike) -> NDArray[Any]:
    """Map reals to -1 and +1. Zero counts as +1, so that no bit is left undefined.

    >>> sign([[-2.0, 0.0, 3.0]]).tolist()
    [[-1.0, 1.0, 1.0]]
    """
    values = _finite_enough(values)
    return np.where(values >= 0, 1, -1).astype(values.dtype)


def pack(values: ArrayLike) -> NDArray[np.uint8]:
    """The packed bits of (n, bits) real values: uint8 rows of ceil(bits / 8) bytes.

    >>> pack([[0.5, -0.5, 0.0, -1.0]]).tolist()
    [[5]]
    """
    values = _finite_enough(values)
    if values.ndim != 2:
        raise DataError(
            f"codes are packed from a matrix, these values have shape {values.shape}",
            next_step="give one row an item and one column a bit",
        )
    return np.packbits(values >= 0, axis=1, bitorder="little")


def unpack(packed: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """The bits of packed rows as 0 and 1, (n, bits).

    >>> unpack(np.array([[5]], dtype=np.uint8), 4).tolist()
    [[1, 0, 1, 0]]
    """
    return np.unpackbits(packed, axis=1, count=bits, bitorder="little")


def _finite_enough(values: ArrayLike) -> NDArray[Any]:
    """The values as floats; infinities have a sign, NaN has none and is refused by row."""
    try:
        values = np.asarray(values)
    except ValueError as error:
        raise DataError(f"the values are no matrix ({error})", next_step="give rows of one length") from error
    if values.dtype == bool or values.dtype.kind not in "fiu":
        raise DataError(
            f"a sign is taken of real numbers, these are {values.dtype}",
            next_step="use Codes.from_bits for 0 and 1",
        )
    if values.dtype.kind != "f":
        return values.astype(np.float32)
    bad = np.isnan(values)
    if bad.any():
        first = np.argwhere(bad)[0].tolist()
        raise DataError(
            " ".join(f"{axis} {place}" for axis, place in zip(("row", "column"), first, strict=False)) + " is a NaN",
            next_step="a NaN has no sign: look for a division by zero or a diverged network before encoding",
        )
    return values
