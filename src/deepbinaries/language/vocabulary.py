"""The words a model knows, their ids, and an honest answer about the words it does not know."""

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.files import read_json, write_json
from deepbinaries.language.spelling import nearest
from deepbinaries.language.tokens import PAPER, TokenSettings, each_sentence, split, words

PAD, UNK, EOS = 0, 1, 2
FIRST_WORD = 3  # the id of the first word; the three before it have no spelling, so no sentence can write them

FORMAT = "deepbinaries-vocabulary"
VERSION = 1
MAX_CELLS = 2**30  # of a matrix, 4 bytes each: 4 GiB
_SHOWN = 10  # words of one kind that a message lists


@dataclass(frozen=True)
class Reading:
    """What a vocabulary makes of one sentence; its words stand as they were written, in their order.

    >>> print(Reading(known=("red", "lights"), unknown=("Weihnachtsmarkt",), cut=("at", "night")))
    'Weihnachtsmarkt' is unknown; past the length and left out: at, night; used: red, lights
    """

    known: tuple[str, ...]
    unknown: tuple[str, ...]
    cut: tuple[str, ...]  # past the length, whether known or not

    @property
    def understood(self) -> bool:
        """Whether at least one word is known; without one, a search would answer at random."""
        return bool(self.known)

    def __str__(self) -> str:
        parts = []
        if self.unknown:
            verb = "is" if len(set(self.unknown)) == 1 else "are"
            parts.append(f"{_listed(self.unknown, quote=True)} {verb} unknown")
        if self.cut:
            parts.append(f"past the length and left out: {_listed(self.cut)}")
        parts.append(f"used: {_listed(self.known)}" if self.known else "no word is left to search by")
        return "; ".join(parts)


class Vocabulary:
    """Known words and their ids: `pad` is 0, `unk` 1, `eos` 2, then the words from 3 on, in their order.

    `words` leaves the three special tokens out; `len(vocabulary)` counts every id, as an embedding needs it. Where the
    words come from elsewhere than the training's captions, `spoken` names those that these used, most frequent first.

    >>> vocabulary = Vocabulary.from_sentences(["a dog", "a cat", "a dog"], minimum_count=2)
    >>> vocabulary.words, len(vocabulary)
    (('a', 'dog'), 5)
    """

    def __init__(self, words: Sequence[str], settings: TokenSettings = PAPER, *, spoken: Sequence[str] = ()):
        self.words = _proven(words, "the vocabulary")
        self.settings = settings
        self.spoken = _proven(spoken, "the list of spoken words")
        self._id_of = {word: id_ for id_, word in enumerate(self.words, start=FIRST_WORD)}
        if foreign := [word for word in self.spoken if word not in self._id_of]:
            raise DataError(f"the spoken word {foreign[0]!r} is not among the words", next_step="leave it out")

    @classmethod
    def from_sentences(
        cls,
        sentences: Iterable[str],
        settings: TokenSettings = PAPER,
        *,
        minimum_count: int = 3,
        maximum_words: int | None = None,
    ) -> "Vocabulary":
        """The words seen at least `minimum_count` times, the most frequent first, equal counts by spelling.

        Give training sentences only: a word that is known because a query used it flatters the result. DataError where
        no word is frequent enough: more sentences help, or a lower `minimum_count`.
        """
        if minimum_count < 1 or (maximum_words is not None and maximum_words < 1):
            raise UsageError(
                f"minimum_count={minimum_count} and maximum_words={maximum_words} leave no word",
                next_step="give numbers from 1 on",
            )
        counts = Counter(word for sentence in each_sentence(sentences) for word in words(sentence, settings))
        frequent = [word for word, count in counts.items() if count >= minimum_count]
        if not frequent:
            raise DataError(
                f"none of {len(counts):,} different words occurs {minimum_count} times",
                next_step="give more sentences",
            )
        frequent.sort(key=lambda word: (-counts[word], word))
        return cls(frequent[:maximum_words], settings)

    def spoken_in(self, sentences: Iterable[str], *, minimum_count: int = 3) -> tuple[str, ...]:
        """The known words that sentences use so many times, the most frequent first, equal counts in their order here.

        >>> Vocabulary(["the", "do", "dog"]).spoken_in(["A dog.", "the dog", "adog"], minimum_count=1)
        ('dog', 'the')
        """
        counts = Counter(word for sentence in each_sentence(sentences) for word in words(sentence, self.settings))
        # Words come in their order, and sorting keeps it among equals.
        used = [word for word in self.words if counts[word] >= minimum_count]
        return tuple(sorted(used, key=lambda word: -counts[word]))

    def __len__(self) -> int:
        return FIRST_WORD + len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._id_of

    def id(self, word: str) -> int:
        """The id of a word in the spelling of `tokens.words`, or 1 (`unk`).

        >>> Vocabulary(["dog"]).id("dog"), Vocabulary(["dog"]).id("cat")
        (3, 1)
        """
        return self._id_of.get(word, UNK)

    def encode(self, sentences: Iterable[str]) -> NDArray[np.int32]:
        """The ids of the sentences' tokens, (n, length); without a length, (n, the longest of these sentences).

        >>> Vocabulary(["a", "dog"], TokenSettings(length=5)).encode(["A dog.", "a red dog", ""]).tolist()
        [[3, 4, 2, 0, 0], [3, 1, 4, 2, 0], [2, 0, 0, 0, 0]]
        """
        rows = [self._tokens(words(sentence, self.settings)) for sentence in each_sentence(sentences)]
        length = self.settings.length
        width = max((len(row) for row in rows), default=0) if length is None else length
        if len(rows) * width > MAX_CELLS:
            raise UsageError(
                f"{len(rows):,} sentences of up to {width:,} tokens take {len(rows) * width * 4 / 2**30:.1f} GiB",
                next_step="give the sentences in parts, or settings with a length",
            )
        ids = np.full((len(rows), width), PAD, dtype=np.int32)
        for filled, row in zip(ids, rows, strict=True):
            start = 0 if self.settings.padding == "right" else width - len(row)
            filled[start : start + len(row)] = row
        return ids

    def reading(self, sentence: str) -> Reading:
        """Which words of a sentence are known, which are not, and which are cut off.

        >>> Vocabulary(["red", "lights"]).reading("Red lights, Weihnachtsmarkt").unknown
        ('Weihnachtsmarkt',)
        """
        (sentence,) = each_sentence([sentence])
        written = split(sentence, self.settings)
        kept = self.settings.words_kept(len(written))
        pairs = list(zip(written, words(sentence, self.settings), strict=True))[:kept]
        return Reading(
            known=tuple(as_written for as_written, word in pairs if word in self),
            unknown=tuple(as_written for as_written, word in pairs if word not in self),
            cut=tuple(written[kept:]),
        )

    def nearest(self, word: str) -> str | None:
        """The known word whose spelling is nearest to this one's, or None; of equals what captions used most.

        >>> Vocabulary(["a", "umbrella"]).nearest("Umbrela")
        'umbrella'
        >>> Vocabulary(["do", "dog"], spoken=["dog"]).nearest("dgo")
        'dog'
        """
        written = words(word, self.settings)
        return nearest(written[0], chain(self.spoken, self.words)) if written else None

    def nearest_spoken(self, word: str) -> str | None:
        """The nearest word that captions used, for one that none of them did; None for any other.

        >>> vocabulary = Vocabulary(["elefant", "elephant"], spoken=["elephant"])
        >>> vocabulary.nearest_spoken("elefant"), vocabulary.nearest_spoken("elephant")
        ('elephant', None)
        """
        written = words(word, self.settings)
        return nearest(written[0], self.spoken) if written and written[0] not in self.spoken else None

    @property
    def digest(self) -> str:
        """SHA-256 over words and settings: what a model records."""
        return _digest(self._content())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash((self.words, self.settings))

    def __repr__(self) -> str:
        return f"Vocabulary({len(self.words):,} words)"

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as JSON, at once or not at all."""
        content = self._content()
        write_json(content | {"sha256": _digest(content)}, Path(path), indent=0)

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        """Read a vocabulary and prove its digest."""
        path = Path(path)
        content = _read(path)
        stated = content.pop("sha256", None)
        if stated != _digest(content):
            raise DataError(
                f"the content of {path} is not the one its digest was made for",
                next_step="copy it again, or write it with Vocabulary.save",
            )
        try:
            known, spoken = content["words"], content.get("spoken", [])
            if not (isinstance(known, list) and isinstance(spoken, list)):
                raise TypeError("words or spoken is not a list")
            return cls(known, TokenSettings(**content["tokens"]), spoken=spoken)
        except (KeyError, TypeError, UsageError, DataError) as error:
            raise DataError(
                f"{path} does not describe a vocabulary ({error})", next_step="write it with Vocabulary.save"
            ) from error

    def _tokens(self, sentence_words: list[str]) -> list[int]:
        n_words = len(sentence_words)
        ids = [self.id(word) for word in sentence_words[: self.settings.words_kept(n_words)]]
        return [*ids, EOS] if self.settings.ends_with_eos(n_words) else ids

    def _content(self) -> dict[str, Any]:
        settings = dataclasses.asdict(self.settings)
        # Without spoken words nothing is said of them, so that such a vocabulary keeps the digest it always had.
        spoken = {"spoken": list(self.spoken)} if self.spoken else {}
        return {"format": FORMAT, "version": VERSION, "tokens": settings, "words": list(self.words), **spoken}


def _proven(some: Sequence[str], where: str) -> tuple[str, ...]:
    """Words of which each is a text that stands there once."""
    if not all(isinstance(word, str) and word for word in some):
        raise DataError(f"a word of {where} is empty or no text", next_step="leave it out")
    repeated = [word for word, count in Counter(some).items() if count > 1]
    if repeated:
        raise DataError(f"{where} holds {repeated[0]!r} twice", next_step="give every word once")
    return tuple(some)


def _read(path: Path) -> dict[str, Any]:
    """The JSON object of a vocabulary file of this format and version, its content not yet proven."""
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path} is not a vocabulary", next_step="give a file written by Vocabulary.save")
    if content.get("version") != VERSION:
        raise DataError(
            f"{path} is a vocabulary of version {content.get('version')!r}",
            next_step=f"this release reads version {VERSION}: update deepbinaries, or build the vocabulary again",
        )
    return content


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()


def _listed(some: tuple[str, ...], *, quote: bool = False) -> str:
    different = list(dict.fromkeys(some))
    shown = [f"{word!r}" if quote else word for word in different[:_SHOWN]]
    more = len(different) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
