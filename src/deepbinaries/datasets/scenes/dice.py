"""Random whole numbers that are the same on every machine and in every release."""

import hashlib
import struct
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Numbers read off a hash of the key: another key gives independent numbers.

    >>> a, b = Dice(0, 42, "words"), Dice(0, 42, "words")
    >>> [a.below(6) for _ in range(5)] == [b.below(6) for _ in range(5)]
    True
    """

    def __init__(self, *key: int | str):
        self._key = "/".join(map(str, key))
        self._blocks = 0
        self._words: list[int] = []

    def below(self, n: int) -> int:
        """One of 0, 1, ... n - 1."""
        if not self._words:
            block = hashlib.shake_256(f"{self._key}/{self._blocks}".encode()).digest(256)
            self._words = list(struct.unpack("<64I", block))
            self._blocks += 1
        return self._words.pop() * n >> 32

    def between(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """True in so many cases of a hundred."""
        return self.below(100) < percent

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[T], weights: Sequence[int]) -> T:
        """One of the options, each as likely as its weight says.

        >>> Dice("any").weighted("abc", [0, 1, 0])
        'b'
        """
        roll = self.below(sum(weights))
        return next(option for option, limit in zip(options, accumulate(weights), strict=True) if roll < limit)

    def sample(self, options: Sequence[T], n: int) -> list[T]:
        """`n` different ones of the options, in random order."""
        left = list(options)
        return [left.pop(self.below(len(left))) for _ in range(n)]
