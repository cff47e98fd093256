"""Ids of items: distinct texts in the order of their UTF-8 bytes, in arrays that can be mapped from a file.

No Python object is made for an id before somebody asks for it, so that ten million of them open at once.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import UsageError
from deepbinaries.index.id_order import MAX_ID_BYTES, WORD, Places, Text, byte_order, gathered, joined

MAX_ROWS = 2**32 - 1  # row numbers take half a word of the table of fingerprints

_MANY = 100  # ids that are worth some calls of numpy
_AT_ONCE = 1 << 18  # ids whose fingerprints are computed together
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, its bits well mixed: 2**64 divided by the golden ratio
_FACTORS = np.cumprod(np.full(MAX_ID_BYTES, _FACTOR))  # of each byte of an id


class Ids:
    """Ids in byte order. `text` holds all of them without gaps, `starts` (n + 1) where each begins.

    `finder` (n) finds the row of an id: the id's fingerprint in the upper half of each word and its row in
    the lower one, ascending.

    >>> ids, order = Ids.sorted(["pear", "apple"])
    >>> [ids[row] for row in range(2)], order.tolist(), ids.find(Ids.sorted(["fig", "pear"])[0]).tolist()
    (['apple', 'pear'], [1, 0], [-1, 1])
    """

    def __init__(self, text: NDArray[np.uint8], starts: NDArray[np.uint64], finder: NDArray[np.uint64]):
        self.text, self.starts, self.finder = text, starts, finder
        # A memory view gives one number three times as fast as an array does.
        self._text, self._starts = text.data, starts.data

    @classmethod
    def sorted(cls, texts: Sequence[str]) -> tuple["Ids", NDArray[np.int64]]:
        """Some texts as ids, and which of the texts each of them is; a text given twice is refused by name."""
        return cls._in_order(*joined(texts))

    @classmethod
    def merged(cls, parts: Sequence[tuple["Ids", NDArray[np.int64]]]) -> tuple["Ids", NDArray[np.int64]]:
        """Some rows of several ids together, and which of them, counted through all parts, each one is.

        >>> one, other = Ids.sorted(["apple", "pear"])[0], Ids.sorted(["fig"])[0]
        >>> ids, order = Ids.merged([(one, np.array([0, 1])), (other, np.array([0]))])
        >>> [ids[row] for row in range(3)], order.tolist()
        (['apple', 'fig', 'pear'], [0, 2, 1])
        """
        before = np.cumsum([0, *(len(ids.text) for ids, _ in parts)])
        begins = [ids.starts[rows].astype(np.int64) + n for (ids, rows), n in zip(parts, before, strict=False)]
        ends = [ids.starts[rows + 1].astype(np.int64) + n for (ids, rows), n in zip(parts, before, strict=False)]
        text = np.concatenate([*(ids.text for ids, _ in parts), np.zeros(WORD, dtype=np.uint8)])
        return cls._in_order(text, np.concatenate(begins), np.concatenate(ends) - np.concatenate(begins))

    @classmethod
    def _in_order(cls, text: Text, begins: Places, lengths: Places) -> tuple["Ids", NDArray[np.int64]]:
        n = len(begins)
        if n > MAX_ROWS:
            raise UsageError(f"{n:,} items are too many for one call", next_step="add them in parts")
        order, twice = byte_order(text, begins, lengths)
        if twice.size:
            given = gathered(text, begins[twice], lengths[twice]).tobytes().decode()
            raise UsageError(f"the id {given!r} is given twice", next_step="give every item an id of its own")
        starts = np.zeros(n + 1, dtype=np.uint64)
        np.cumsum(lengths[order], out=starts[1:], dtype=np.uint64)
        text = gathered(text, begins[order], lengths[order])
        finder = np.sort(fingerprints(text, starts) | np.arange(n, dtype=np.uint64))
        return cls(text, starts, finder), order

    def find(self, wanted: "Ids") -> NDArray[np.int64]:
        """The row of each wanted id, -1 for those that are not here."""
        prints = fingerprints(wanted.text, wanted.starts)
        rows = np.full(len(wanted), -1, dtype=np.int64)
        places = np.searchsorted(self.finder, prints)
        open_ = np.arange(len(wanted))
        while True:
            # Different ids may share a fingerprint, so whoever shares one is compared.
            open_ = open_[places[open_] < len(self)]
            entries = self.finder[places[open_]]
            same = (entries ^ prints[open_]) >> np.uint64(32) == 0
            open_, candidates = open_[same], (entries[same] & np.uint64(MAX_ROWS)).astype(np.int64)
            if not open_.size:
                return rows
            pairs = zip(candidates.tolist(), open_.tolist(), strict=True)
            equal = np.array([self.bytes_at(row) == wanted.bytes_at(other) for row, other in pairs])
            rows[open_[equal]] = candidates[equal]
            open_ = open_[~equal]
            places[open_] += 1

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> str:
        return str(self._text[self._starts[row] : self._starts[row + 1]], "utf-8")

    def texts(self, rows: NDArray[np.int64]) -> list[str]:
        """The ids of many rows, several times as fast as one by one.

        >>> Ids.sorted(["fig", "äpfel", "pear"])[0].texts(np.array([2, 0]))
        ['äpfel', 'fig']
        """
        if len(rows) < _MANY:
            return [self[row] for row in rows.tolist()]
        begins, ends = self.starts[rows].astype(np.int64), self.starts[rows + 1].astype(np.int64)
        bounds = np.concatenate([[0], np.cumsum(ends - begins)])
        places = np.arange(bounds[-1]) + np.repeat(begins - bounds[:-1], ends - begins)
        together = self.text[places].tobytes()
        text = together.decode()
        if len(text) == len(together):  # one byte is one character
            return [text[begin:end] for begin, end in pairwise(bounds.tolist())]
        return [together[begin:end].decode() for begin, end in pairwise(bounds.tolist())]

    def beginnings(self, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The first eight bytes of some ids as numbers, which are in the order of the ids, but for equal ones.

        >>> Ids.sorted(["fig", "pear", "pe"])[0].beginnings(np.array([0, 1, 2])).argsort()
        array([0, 1, 2])
        """
        begins, ends = self.starts[rows].astype(np.int64), self.starts[rows + 1].astype(np.int64)
        places = begins[:, None] + np.arange(8)
        # No id holds a NUL: what is filled up by them comes before what goes on.
        letters = np.where(places < ends[:, None], self.text[np.minimum(places, len(self.text) - 1)], 0)
        return letters.astype(np.uint8).view(">u8")[:, 0].astype(np.uint64)

    def bytes_at(self, row: int) -> bytes:
        """An id as it is stored."""
        return bytes(self._text[self._starts[row] : self._starts[row + 1]])

    def all_bytes(self) -> list[bytes]:
        """Every id as it is stored, in order."""
        text = self.text.tobytes()
        return [text[start:end] for start, end in pairwise(self.starts.tolist())]


def fingerprints(text: NDArray[np.uint8], starts: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """32 bits that depend on every byte of an id, in the upper half of a word, (n,). No id is empty.

    >>> one, two = (Ids.sorted([text])[0] for text in ("one", "two"))
    >>> fingerprints(one.text, one.starts) == fingerprints(two.text, two.starts)
    array([False])
    """
    n = len(starts) - 1
    prints = np.empty(n, dtype=np.uint64)
    for begin in range(0, n, _AT_ONCE):
        end = min(begin + _AT_ONCE, n)
        first, last = int(starts[begin]), int(starts[end])
        bounds: NDArray[np.int64] = starts[begin : end + 1].astype(np.int64) - first
        places = bounds[:-1]
        within = np.arange(last - first) - np.repeat(places, bounds[1:] - places)
        terms = (text[first:last].astype(np.uint64) + np.uint64(1)) * _FACTORS[within]
        sums = np.add.reduceat(terms, places)
        prints[begin:end] = (sums ^ (sums >> np.uint64(32))) * _FACTOR
    return prints & ~np.uint64(MAX_ROWS)
