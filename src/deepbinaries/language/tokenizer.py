"""The tokenizer of a user's own text encoder, in place of a vocabulary: pieces of words, all of them known.

It is a `tokenizer.json`, as the package `tokenizers` writes and reads it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, MissingExtraError, UsageError
from deepbinaries.files import read_json, write_json
from deepbinaries.language.tokens import each_sentence
from deepbinaries.language.vocabulary import Reading

FORMAT = "deepbinaries-tokenizer"
VERSION = 1
LONGEST = 4096  # tokens
NONSENSE = "xqzjvk ꙮ"  # letters that few vocabularies hold all of


@dataclass(frozen=True)
class PieceSettings:
    """How many pieces of a sentence are read."""

    length: int = 77  # CLIP's

    def __post_init__(self) -> None:
        if type(self.length) is not int or not 1 <= self.length <= LONGEST:
            raise UsageError(f"length={self.length!r} is no number of tokens", next_step="77 is that of CLIP")


class Tokenizer:
    """Pieces of words and their ids, shifted by one: 0 is padding here, whatever the text encoder pads with."""

    def __init__(self, content: dict[str, Any], settings: PieceSettings = PieceSettings()):  # noqa: B008 - frozen
        try:
            import tokenizers
        except ModuleNotFoundError as missing:
            raise MissingExtraError("tokenizers", "adopt") from missing
        self.content = content
        self.settings = settings
        try:
            self._tokenizer = tokenizers.Tokenizer.from_str(json.dumps(content))
        except Exception as error:  # the package raises plain exceptions
            raise DataError(
                f"this is no tokenizer ({str(error)[:200]})", next_step="give the tokenizer.json of the text encoder"
            ) from error
        padding = self._tokenizer.padding
        self.pad_id = int(padding["pad_id"]) if padding else 0  # for the text encoder
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._pieces([NONSENSE])  # what it makes of unknown words it shall say now, and not when a search meets one
        self._end = self._ending()
        # Some tokenizers leave ids out, so that their number says less than the last one.
        self._n_ids = max(self._tokenizer.get_vocab().values(), default=-1) + 2

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The pieces that are whole words; any other word is made of several."""
        pieces = (piece.removesuffix("</w>").lstrip("Ġ▁") for piece in self._tokenizer.get_vocab())
        return tuple(sorted({piece for piece in pieces if piece.isalpha()}))

    def __len__(self) -> int:
        return self._n_ids

    def encode(self, sentences: Iterable[str]) -> NDArray[np.int32]:
        """The ids of the sentences' pieces plus one, (n, length), filled up by 0; what is cut still has its end."""
        encoded = self._pieces(list(each_sentence(sentences)))
        ids = np.zeros((len(encoded), self.settings.length), dtype=np.int32)
        for row, of_sentence in zip(ids, encoded, strict=True):
            found = of_sentence.ids
            if len(found) > len(row):
                found = [*found[: len(row) - len(self._end)], *self._end]
            row[: len(found)] = np.array(found, dtype=np.int32) + 1
        return ids

    def reading(self, sentence: str) -> Reading:
        """Which words of a sentence are read, and which are cut off; none is unknown."""
        (sentence,) = each_sentence([sentence])
        (encoded,) = self._pieces([sentence])
        written = sentence.split()
        if len(encoded.ids) <= self.settings.length:
            return Reading(tuple(written), (), ())
        seen_to = max((end for _, end in encoded.offsets[: self.settings.length - len(self._end)]), default=0)
        kept = len(sentence[:seen_to].split())
        return Reading(tuple(written[:kept]), (), tuple(written[kept:]))

    def nearest(self, word: str) -> None:
        """Nothing: no word is unknown."""

    def nearest_spoken(self, word: str) -> None:
        """Nothing: what captions used is not told."""

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as JSON, at once or not at all."""
        facts = {"format": FORMAT, "version": VERSION, "length": self.settings.length, "tokenizer": self.content}
        write_json(facts, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Read what `save` wrote."""
        stated = read_json(Path(path))
        try:
            if (stated["format"], stated["version"]) != (FORMAT, VERSION):
                raise ValueError(f"{stated['format']} version {stated['version']} is not {FORMAT} version {VERSION}")
            return cls(stated["tokenizer"], PieceSettings(stated["length"]))
        except (KeyError, TypeError, ValueError, UsageError, DataError) as error:
            raise DataError(f"{path} holds no tokenizer ({error})", next_step="adopt the encoders again") from error

    def _pieces(self, sentences: list[str]) -> list[Any]:
        """What the package makes of sentences: ids, and where in a sentence their pieces stand."""
        try:
            found: list[Any] = self._tokenizer.encode_batch(sentences)
        except Exception as error:  # the package raises plain exceptions
            raise DataError(
                f"this tokenizer cannot read every word ({str(error)[:200]})",
                next_step="give one whose token for unknown words is in its vocabulary",
            ) from error
        return found

    def _ending(self) -> list[int]:
        """The ids that end every sentence."""
        empty, word = (encoded.ids for encoded in self._pieces(["", "a"]))
        end: list[int] = []
        while empty and word and empty[-1] == word[-1] and len(end) < self.settings.length - 1:
            end.insert(0, empty.pop())
            word.pop()
        return end


def is_tokenizer(path: Path) -> bool:
    """Whether a file holds a tokenizer, not a vocabulary."""
    stated = read_json(path)
    return isinstance(stated, dict) and stated.get("format") == FORMAT
