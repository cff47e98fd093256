"""Spellings of words that a model knows, for those that it does not: "2" is two, "café" is cafe, "don't" is do not."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Protocol

from deepbinaries.language.vocabulary import Reading

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_LETTER = re.compile(r"\b[^\W\d_]-(?=\w)")  # of an X-ray, or a T-shirt


class _Vocabulary(Protocol):
    def reading(self, sentence: str) -> Reading: ...


def reworded(sentence: str, vocabulary: _Vocabulary) -> str:
    """The sentence with other spellings of its unknown words, where all that they consist of is known.

    >>> from deepbinaries.language import Vocabulary
    >>> reworded("2 dogs don't bark at a Café", Vocabulary(["two", "dogs", "do", "not", "bark", "cafe"]))
    'two dogs do not bark at a Cafe'
    """

    def known(text: str) -> bool:
        reading = vocabulary.reading(text)
        return reading.understood and not reading.unknown

    def spelt(match: re.Match[str]) -> str:
        if known(match[0]):
            return match[0]
        return next(filter(known, _spellings(match[0])), match[0])

    composed = unicodedata.normalize("NFC", sentence)
    return _WORD.sub(spelt, _LETTER.sub(lambda letter: letter[0] if known(letter[0]) else "", composed))


def _spellings(word: str) -> Iterator[str]:
    if word.isdecimal() and len(word) <= len(str(len(NUMBERS))) and int(word) < len(NUMBERS):
        yield NUMBERS[int(word)]
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", word) if not unicodedata.combining(mark))
    if plain != word:
        yield plain
    for negation in ("n't", "'t"):  # "doesn't", "can't"
        stem = word.replace("’", "'").removesuffix(negation)
        if stem.isalpha():
            yield f"{stem} not"
