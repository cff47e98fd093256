"""`Gallery`: codes laid out as a scan reads them, once, for many searches."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbinaries.codes.bits import MAX_BITS
from deepbinaries.codes.codes import Codes
from deepbinaries.errors import DataError, UsageError

Columns = NDArray[np.uint64]  # (words, n), as `Codes.columns` makes them: word w of every item lies together


class Gallery:
    """Codes in columns, in one or several segments, of which some rows may be hidden from every search.

    Rows are numbered through all segments in their order. Segments are used as they are, read-only
    memory maps among them; nothing is copied.

    >>> gallery = Gallery.of(Codes.from_bits([[0, 1], [1, 1], [1, 0]]))
    >>> gallery, gallery.without([1]).n_visible, gallery.only([1]).n_visible
    (Gallery(3 x 2 bits, 1 segment), 2, 1)
    """

    def __init__(self, segments: Sequence[Columns], bits: int, hidden: NDArray[np.bool_] | None = None):
        if not 1 <= bits <= MAX_BITS:
            raise UsageError(f"bits={bits} is outside 1..{MAX_BITS}", next_step="64 is a good start")
        self.bits = bits
        self.n_words = -(-bits // 64)
        self.segments = tuple(_checked(segment, number, bits) for number, segment in enumerate(segments))
        self.starts = np.cumsum([0, *(segment.shape[1] for segment in self.segments)], dtype=np.int64)
        if hidden is not None and (hidden.dtype != np.bool_ or hidden.shape != (len(self),)):
            raise UsageError(
                f"hidden rows are one truth value for each of {len(self)} rows, "
                f"these are {hidden.dtype} of shape {hidden.shape}",
                next_step="use Gallery.without or Gallery.only with row numbers",
            )
        self.hidden = None if hidden is None or not hidden.any() else _read_only(hidden)

    @classmethod
    def of(cls, codes: "Codes | Gallery") -> "Gallery":
        """The gallery of some codes; a gallery is given back as it is."""
        return codes if isinstance(codes, Gallery) else cls([codes.columns()], codes.bits)

    def without(self, rows: ArrayLike) -> "Gallery":
        """The same gallery with these rows hidden as well; the others keep their numbers."""
        hidden = np.zeros(len(self), dtype=np.bool_) if self.hidden is None else self.hidden.copy()
        hidden[self._numbers(rows)] = True
        return Gallery(self.segments, self.bits, hidden)

    def only(self, rows: ArrayLike) -> "Gallery":
        """The same gallery with all but these rows hidden; a row that was hidden stays so."""
        visible = np.zeros(len(self), dtype=np.bool_)
        visible[self._numbers(rows)] = True
        return Gallery(self.segments, self.bits, ~visible if self.hidden is None else ~visible | self.hidden)

    @cached_property
    def n_visible(self) -> int:
        """How many rows a search can find."""
        return len(self) - (0 if self.hidden is None else int(np.count_nonzero(self.hidden)))

    def _numbers(self, rows: ArrayLike) -> NDArray[np.int64]:
        numbers = np.asarray(rows)
        if not numbers.size:
            return np.empty(0, dtype=np.int64)
        if numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= len(self):
            raise UsageError(f"rows are whole numbers from 0 to {len(self) - 1}", next_step="name rows of this gallery")
        return numbers.astype(np.int64)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __repr__(self) -> str:
        n = len(self.segments)
        hidden = f", {len(self) - self.n_visible} hidden" if self.hidden is not None else ""
        return f"Gallery({len(self)} x {self.bits} bits, {n} segment{'s' * (n != 1)}{hidden})"


def _checked(segment: Columns, number: int, bits: int) -> Columns:
    n_words = -(-bits // 64)
    if segment.dtype != np.uint64 or segment.ndim != 2 or len(segment) != n_words:
        raise DataError(
            f"segment {number}: columns of {bits} bits are uint64 of shape ({n_words}, n), "
            f"these are {segment.dtype} of shape {segment.shape}",
            next_step="make them with Codes.columns",
        )
    # Whole words have no padding, so that opening a memory map of 64 or 128 bits reads none of it.
    dirty = np.flatnonzero(segment[-1] >> np.uint64(bits % 64)) if bits % 64 else np.empty(0)
    if dirty.size:
        raise DataError(
            f"segment {number}: row {dirty[0]} has a bit set beyond bit {bits - 1}",
            next_step="padding bits must be zero: make the columns again, or give the true number of bits",
        )
    return _read_only(np.require(segment, requirements=["C", "A"]))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
