"""`Codes`: n binary codes of one length, packed."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbinaries.codes.bits import MAX_BITS, pack, unpack
from deepbinaries.errors import DataError, UsageError


class Codes:
    """Binary codes, one row an item, packed into bytes (layout: `deepbinaries.codes.bits`).

    >>> codes = Codes.from_values([[0.1, -0.2, 0.3], [-1.0, 1.0, 0.0]])
    >>> len(codes), codes.bits, codes.packed.tolist()
    (2, 3, [[5], [6]])
    """

    def __init__(self, packed: NDArray[np.uint8], bits: int):
        if not 1 <= bits <= MAX_BITS:
            raise UsageError(f"bits={bits} is outside 1..{MAX_BITS}", next_step="64 is a good start")
        n_bytes = -(-bits // 8)
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != n_bytes:
            raise DataError(
                f"packed codes of {bits} bits are uint8 rows of {n_bytes} bytes, "
                f"these are {packed.dtype} of shape {packed.shape}",
                next_step="make them with Codes.from_values or Codes.from_bits",
            )
        # Without padding nothing is touched, so that wrapping a memory map reads none of it.
        dirty = np.flatnonzero(packed[:, -1] >> bits % 8) if bits % 8 else np.empty(0)
        if dirty.size:
            raise DataError(
                f"row {dirty[0]} has a bit set beyond bit {bits - 1}",
                next_step="padding bits must be zero: pack again, or give the true number of bits",
            )
        self.packed = packed.view()
        self.packed.flags.writeable = False  # what was checked stays as it was, as far as we can see to it
        self.bits = bits

    @classmethod
    def from_values(cls, values: ArrayLike) -> "Codes":
        """The codes of (n, bits) real values: bit 1 where a value is at or above zero."""
        packed, matrix = pack(values), np.asarray(values)
        if matrix.dtype.kind in "iu" and matrix.size and not (matrix < 0).any() and np.isin(matrix, (0, 1)).all():
            raise DataError(
                "these whole numbers are 0 and 1, and both are at or above zero",
                next_step="use Codes.from_bits for bits",
            )
        return cls(packed, matrix.shape[1])

    @classmethod
    def from_bits(cls, bits: ArrayLike) -> "Codes":
        """The codes of an (n, bits) matrix of 0 and 1 (or False and True).

        >>> Codes.from_bits([[1, 0, 1]]).packed.tolist()
        [[5]]
        """
        matrix = np.asarray(bits)
        if matrix.ndim != 2 or not np.isin(matrix, (0, 1)).all():
            raise DataError(
                f"bits are a matrix of 0 and 1, this is {matrix.dtype} of shape {matrix.shape} with other values",
                next_step="use Codes.from_values for reals and for -1 and +1",
            )
        return cls(np.packbits(matrix.astype(bool), axis=1, bitorder="little"), matrix.shape[1])

    def to_bits(self) -> NDArray[np.uint8]:
        """The bits as 0 and 1, (n, bits)."""
        return unpack(self.packed, self.bits)

    def to_signs(self) -> NDArray[np.float32]:
        """The bits as -1 and +1, (n, bits), as the paper's equations use them."""
        return self.to_bits().astype(np.float32) * 2 - 1

    def columns(self) -> NDArray[np.uint64]:
        """The codes as (words, n) 64-bit words: word w of every item lies together, as a scan reads them."""
        n_words = -(-self.bits // 64)
        rows = np.zeros((len(self), n_words * 8), dtype=np.uint8)
        rows[:, : self.packed.shape[1]] = self.packed
        # "<u8" fixes the byte order, so that the words are the same numbers on every machine.
        return np.ascontiguousarray(rows.view("<u8").T, dtype=np.uint64)

    @property
    def digest(self) -> str:
        """SHA-256 over length, count and bytes."""
        state = hashlib.sha256(f"{self.bits} {len(self)}\n".encode())
        state.update(np.ascontiguousarray(self.packed).data)
        return state.hexdigest()

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, rows: Any) -> "Codes":
        """The codes of some rows: a slice, a list of rows, a mask, or one row (still as `Codes`)."""
        if isinstance(rows, int | np.integer):
            rows = [rows]
        return Codes(self.packed[rows], self.bits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Codes) and self.bits == other.bits and np.array_equal(self.packed, other.packed)

    __hash__ = None  # type: ignore[assignment]  # two equal arrays may live at two places

    def __repr__(self) -> str:
        return f"Codes({len(self)} x {self.bits} bits)"


def concatenate(parts: Sequence[Codes]) -> Codes:
    """Several codes below each other.

    >>> a = Codes.from_bits([[1, 0]])
    >>> concatenate([a, a])
    Codes(2 x 2 bits)
    """
    lengths = sorted({part.bits for part in parts})
    if len(lengths) != 1:
        raise UsageError(
            f"codes of {lengths or 'no'} bits cannot be put together",
            next_step="give at least one part, all of one length",
        )
    return Codes(np.concatenate([part.packed for part in parts]), lengths[0])
