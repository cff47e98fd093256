"""Ids of items: distinct texts in the order of their UTF-8 bytes, in arrays that can be mapped from a file.

No Python object is made for an id before somebody asks for it, so that ten million of them open at once.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import UsageError

MAX_ID_BYTES = 1024  # what the keys of every store can hold
MAX_ROWS = 2**32 - 1  # row numbers take half a word of the table of fingerprints

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
        return cls.from_bytes(_encoded(texts))

    @classmethod
    def from_bytes(cls, encoded: Sequence[bytes]) -> tuple["Ids", NDArray[np.int64]]:
        """Ids that are already encoded, in any order, and which of them each one is."""
        if len(encoded) > MAX_ROWS:
            raise UsageError(f"{len(encoded):,} items are too many for one call", next_step="add them in parts")
        order = sorted(range(len(encoded)), key=encoded.__getitem__)
        ascending = [encoded[place] for place in order]
        for one, next_one in pairwise(ascending):
            if one == next_one:
                raise UsageError(
                    f"the id {one.decode()!r} is given twice", next_step="give every item an id of its own"
                )
        text = np.frombuffer(b"".join(ascending), dtype=np.uint8)
        starts = np.zeros(len(ascending) + 1, dtype=np.uint64)
        np.cumsum(np.fromiter(map(len, ascending), dtype=np.uint64, count=len(ascending)), out=starts[1:])
        finder = np.sort(fingerprints(text, starts) | np.arange(len(ascending), dtype=np.uint64))
        return cls(text, starts, finder), np.array(order, dtype=np.int64)

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


def _encoded(texts: Iterable[str]) -> list[bytes]:
    encoded = []
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise UsageError(f"id {place} is {type(text).__name__}, not text", next_step="give ids as str")
        try:
            as_bytes = text.encode()
        except UnicodeEncodeError:
            raise UsageError(f"the id {text!r} is no valid Unicode", next_step="give ids that UTF-8 can hold") from None
        if not 1 <= len(as_bytes) <= MAX_ID_BYTES or b"\0" in as_bytes:
            raise UsageError(
                f"the id {text[:40]!r} is empty, has more than {MAX_ID_BYTES} bytes, or holds a NUL",
                next_step="give short texts, a digest for instance",
            )
        encoded.append(as_bytes)
    return encoded
