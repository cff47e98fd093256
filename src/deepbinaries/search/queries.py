"""What somebody asks: sentences, pictures and known items, added, weighed and subtracted as real values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets.formats import SUFFIXES
from deepbinaries.errors import UsageError
from deepbinaries.language import LITTLE_WORDS, Vocabulary
from deepbinaries.language.tokens import collapse
from deepbinaries.language.vocabulary import Reading
from deepbinaries.vision.originals import ID_LENGTH

if TYPE_CHECKING:
    from deepbinaries.model import Picture

MOST_PARTS = 32
MOST_WEIGHT = 1000.0
MOST_TEXT = 10_000  # characters of a sentence
LOOKED_UP = 10  # unknown words that are compared with every known one
LISTED = 10  # words in a note

_WEIGHT = re.compile(r"(\d+(?:\.\d+)?):(.+)", re.DOTALL)
_ID = re.compile(rf"id:([0-9a-f]{{{ID_LENGTH}}})")
_MINUS = re.compile(r'(?<!\S)-(?:["“]([^"“”]+)["”]|(\w\S*))')  # of "black-and-white" no hyphen is one
_ALL_MINUS = re.compile(r"\s*-([^\s-].*)", re.DOTALL)  # what a shell makes of -"some words"
_EMOJI = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff][\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d]*")


@dataclass(frozen=True)
class Part:
    """One part of a query. A negative weight takes away what it stands for."""

    kind: Literal["text", "picture", "id"]
    what: "str | Picture"
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < abs(self.weight) <= MOST_WEIGHT:  # also what is no number
            raise UsageError(f"{self.weight} is no weight", next_step=f"give one up to {MOST_WEIGHT:g}, not 0")
        if self.kind == "text" and len(str(self.what)) > MOST_TEXT:
            raise UsageError(
                f"a sentence of {len(str(self.what)):,} characters is too long", next_step=f"at most {MOST_TEXT:,}"
            )


@dataclass(frozen=True)
class Unknown:
    """A word that the model does not know, and the known one whose spelling is nearest."""

    word: str
    nearest: str | None

    def __str__(self) -> str:
        return f"{self.word!r} is unknown" + (f"; did you mean {self.nearest!r}?" if self.nearest else "")


def parse(words: Sequence[str]) -> list[Part]:
    """The parts of a query that is given as words, in which a lone + or - adds or takes away, as does - before a word.

    What names a picture file is that picture, `id:...` a known item, all else a sentence; `2:` in front is a weight.

    >>> [(part.what, part.weight) for part in parse(["two", "dogs", "+", "2:a beach", "-", "a boat"])]
    [('two dogs', 1.0), ('a beach', 2.0), ('a boat', -1.0)]
    >>> [(part.what, part.weight) for part in parse(["two", "dogs", "-boat", "-some sand"])]
    [('two dogs', 1.0), ('boat', -1.0), ('some sand', -1.0)]
    """
    groups: list[tuple[float, list[str]]] = [(1.0, [])]
    taken: list[str] = []
    for word in words:
        if word in ("+", "-"):
            groups.append((1.0 if word == "+" else -1.0, []))
        elif _file(word) is not None:
            groups[-1][1].append(word)
        elif match := _ALL_MINUS.fullmatch(word):
            taken.append(match[1])
        else:
            kept, away = taken_away(word)
            taken += away
            groups[-1][1].extend([kept] if kept or not away else [])
    groups += [(-1.0, [one]) for one in taken]
    if len(groups) > 1 and not groups[0][1]:  # a query may begin with its sign
        del groups[0]
    if len(groups) > MOST_PARTS:
        raise UsageError(f"a query of {len(groups)} parts is too long", next_step=f"give at most {MOST_PARTS}")
    return [_part(" ".join(gathered), sign) for sign, gathered in groups]


def taken_away(text: str) -> tuple[str, list[str]]:
    """A text without what - in front of a word, or of words in quotes, takes away, and what that is.

    >>> taken_away('a dog -beach -"a red boat" in black-and-white')
    ('a dog in black-and-white', ['beach', 'a red boat'])
    """
    taken = [quoted or word for quoted, word in _MINUS.findall(text)]
    return (collapse(_MINUS.sub("", text)), taken) if taken else (text, [])


def known_id(text: str) -> str | None:
    """The id in `id:...`, None where a text does not begin so; what does, and is no id, is refused.

    >>> known_id("id:" + "0" * 32), known_id("a dog")
    ('00000000000000000000000000000000', None)
    """
    if not text.startswith("id:"):
        return None
    match = _ID.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{text[:80]!r} is no id of a picture",
            next_step=f"give id: and the {ID_LENGTH} hexadecimal digits, 0-9 and a-f, of one that was found",
        )
    return match[1]


def _part(text: str, sign: float) -> Part:
    weight = 1.0
    if (match := _WEIGHT.fullmatch(text)) and _file(text) is None:
        weight, text = float(match[1]), match[2].strip()
    if (known := known_id(text)) is not None:
        return Part("id", known, sign * weight)
    name, dot, suffix = text.rpartition(".")
    if name and dot and suffix.lower() in SUFFIXES:
        path = _file(text)
        if path is None:
            raise UsageError(
                f"{text[:80]} names a picture that is not there", next_step="check the path, and put + between parts"
            )
        return Part("picture", path, sign * weight)
    if not text.strip():
        raise UsageError("the query, or a part of it, is empty", next_step='give a sentence such as "a dog on a beach"')
    return Part("text", text, sign * weight)


def _file(text: str) -> Path | None:
    """The file that a text names, if there is one; many texts can be no name at all."""
    try:
        path = Path(text).expanduser()
        return path if path.is_file() else None
    except (OSError, RuntimeError, ValueError):  # too long, of a user whom nobody knows, with a zero in it
        return None


def combine(values: Sequence[NDArray[np.floating]], weights: Sequence[float]) -> NDArray[np.float32]:
    """The values of a query of several parts. Each part counts by its weight alone, not by how sure its bits are.

    >>> combine([np.array([3.0, 4.0]), np.array([0.0, 2.0])], [1.0, -1.0]).round(2)
    array([ 0.6, -0.2], dtype=float32)
    """
    if len(values) == 1 and weights[0] > 0:
        return values[0].astype(np.float32)
    lengths = [max(float(np.linalg.norm(of_part)), 1e-12) for of_part in values]
    total = sum(weight * of_part / length for of_part, weight, length in zip(values, weights, lengths, strict=True))
    together = np.asarray(total, dtype=np.float32)
    if np.abs(together).max() < 1e-6:
        raise UsageError("the parts of the query cancel each other out", next_step="ask for less, or more, of one")
    return together


def unknown_words(reading: Reading, vocabulary: Vocabulary) -> list[Unknown]:
    """The words of a sentence that are not known, each once, the first of them with the nearest known spelling."""
    words = list(dict.fromkeys(reading.unknown))
    nearest = [vocabulary.nearest(word) for word in words[:LOOKED_UP]]
    return [Unknown(word, near) for word, near in zip_longest(words, nearest)]


def unread_emoji(sentence: str, reading: Reading) -> list[Unknown]:
    """The emoji that a reading passed over, which people mean as words, unlike other signs; each once.

    >>> [str(word) for word in unread_emoji("a dog 🐶, wow!", Reading(("a", "dog"), ("wow",), ()))]
    ["'🐶' is unknown"]
    """
    read = " ".join((*reading.known, *reading.unknown, *reading.cut))
    return [Unknown(emoji, None) for emoji in dict.fromkeys(_EMOJI.findall(sentence)) if emoji not in read]


def unspoken_words(reading: Reading, vocabulary: Vocabulary) -> list[str]:
    """Notes on known words that no caption of the training used, where a word of nearly their spelling was used."""
    words = list(dict.fromkeys(reading.known))[:LOOKED_UP]
    return [
        f"{word!r} stands in none of the captions that the model learnt from; did you mean {near!r}?"
        for word in words
        if (near := vocabulary.nearest_spoken(word))
    ]


def first_of(words: Sequence[str]) -> str:
    """The first words of a list, and how many more there are.

    >>> first_of(["a"] * 12)
    'a, a, a, a, a, a, a, a, a, a and 2 more'
    """
    more = f" and {len(words) - LISTED:,} more" if len(words) > LISTED else ""
    return ", ".join(words[:LISTED]) + more


def is_understood(reading: Reading) -> bool:
    """Whether a sentence can be searched by: little words say nothing where the others are not known.

    >>> is_understood(Reading(("a",), ("zebra",), ())), is_understood(Reading(("a", "dog"), ("zebra",), ()))
    (False, True)
    """
    telling = any(word.lower() not in LITTLE_WORDS for word in reading.known)
    return telling or (reading.understood and not reading.unknown)
