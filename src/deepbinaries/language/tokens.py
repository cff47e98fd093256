"""The words of a sentence, prepared as the paper does, with every choice it leaves open as a setting."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from deepbinaries.errors import DataError, UsageError

MAX_LENGTH = 4096  # tokens of a sentence; beyond it a typing error is likelier than a wish
MAX_WORD = 100  # characters; a longer run is no word, and what is done to a word may take quadratic time


@dataclass(frozen=True)
class TokenSettings:
    """How a sentence becomes tokens. The defaults are the paper's preparation, read literally.

    >>> TokenSettings(length=0)
    Traceback (most recent call last):
        ...
    deepbinaries.errors.UsageError: length=0 is outside 1..4096; 12 is the paper's, None sets no limit
    """

    lower_case: bool = True
    remove_full_stops: bool = True  # "t.v." is "tv"; elsewhere a stop parts two words
    split_on_punctuation: bool = True  # otherwise white space alone parts words
    append_eos: bool = True  # the end token
    length: int | None = 12  # tokens, `eos` among them; longer sentences lose their end, None cuts none
    keep_eos: bool = False  # a cut sentence still ends with `eos`, at the cost of one more word
    padding: Literal["right", "left"] = "right"  # the side that fills up shorter sentences

    def __post_init__(self) -> None:
        for name in ("lower_case", "remove_full_stops", "split_on_punctuation", "append_eos", "keep_eos"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name}={getattr(self, name)!r} is no choice", next_step="give True or False")
        if self.length is not None and (type(self.length) is not int or not 1 <= self.length <= MAX_LENGTH):
            raise UsageError(
                f"length={self.length!r} is outside 1..{MAX_LENGTH}", next_step="12 is the paper's, None sets no limit"
            )
        if self.padding not in ("right", "left"):
            raise UsageError(f"padding={self.padding!r} is no side", next_step="give 'right' or 'left'")
        if self.keep_eos and not self.append_eos:
            raise UsageError("keep_eos has no eos to keep", next_step="set append_eos, or leave keep_eos out")
        if self.keep_eos and self.length == 1:
            raise UsageError("keep_eos with length=1 leaves no room for a word", next_step="set length to 2 or more")

    def words_kept(self, n_words: int) -> int:
        """How many of a sentence's words fit.

        >>> TokenSettings().words_kept(20), TokenSettings(keep_eos=True).words_kept(20)
        (12, 11)
        """
        return n_words if self.length is None else min(n_words, self.length - self.keep_eos)

    def ends_with_eos(self, n_words: int) -> bool:
        """Whether a sentence of so many words still has its end token.

        >>> TokenSettings().ends_with_eos(11), TokenSettings().ends_with_eos(12)
        (True, False)
        """
        return self.append_eos and (self.length is None or self.words_kept(n_words) < self.length)


PAPER = TokenSettings()


def split(sentence: str, settings: TokenSettings = PAPER) -> list[str]:
    """The words of a sentence as they were written, none cut off, in a time linear in its length.

    A word is a run of letters, marks and digits of any script; everything else parts words. A hyphen
    parts them too: the halves of "tee-shirt" are common words where the whole is rare. An apostrophe
    stays, because "can" is the opposite of "can't", but a final "'s" goes: "woman's" speaks of a woman.

    >>> split("A woman's tee-shirt says 'Can’t stop' in L.A.")
    ['A', 'woman', 'tee', 'shirt', 'says', "Can't", 'stop', 'in', 'LA']
    """
    if settings.remove_full_stops:
        sentence = _STOP_BETWEEN_INITIALS.sub("", sentence).replace(".", " ")
    if not settings.split_on_punctuation:
        return [_compose(word[:MAX_WORD]) for word in sentence.split()]
    found = _WORD.findall(sentence.translate(_CHARACTERS))
    return [_compose(_POSSESSIVE.sub("", word[:MAX_WORD])) for word in found]


def words(sentence: str, settings: TokenSettings = PAPER) -> list[str]:
    """The words of a sentence in the spelling that is compared and counted.

    >>> words("Two DOGS,   one Café!")
    ['two', 'dogs', 'one', 'café']
    """
    found = split(sentence, settings)
    return [_compose(word.lower()) for word in found] if settings.lower_case else found


def collapse(text: str) -> str:
    r"""The text with every run of white space made one space, and none at its ends.

    >>> collapse("  a dog\n\ton   a beach ")
    'a dog on a beach'
    """
    return " ".join(text.split())


def each_sentence(sentences: Iterable[str], where: str = "") -> Iterator[str]:
    """The sentences one by one, proven to be texts: a single text or a missing one is refused.

    >>> list(each_sentence(["a dog", None], where="item 7: "))
    Traceback (most recent call last):
        ...
    deepbinaries.errors.DataError: item 7: sentence 1 is NoneType, not text; give '' where there is none
    """
    if isinstance(sentences, str | bytes) or not isinstance(sentences, Iterable):
        raise UsageError(
            f"{where}{type(sentences).__name__} was given where a list of sentences is wanted",
            next_step="give [sentence], also for a single one",
        )
    for row, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise DataError(
                f"{where}sentence {row} is {type(sentence).__name__}, not text", next_step="give '' where there is none"
            )
        yield sentence


class _Characters(dict[int, str | None]):
    """A table for `str.translate`: what is neither letter, mark nor digit becomes a space."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Cf":  # soft hyphens and joiners are invisible and stand inside words
            return None
        return character if category[0] in "LMN" else " "


_APOSTROPHES = ("'", "\u2019", "\u02bc")  # typewriter, typographic, letter
_ZERO_WIDTH_SPACE = "\u200b"  # the one format character that parts words
_CHARACTERS = _Characters({ord(_ZERO_WIDTH_SPACE): " "} | {ord(character): "'" for character in _APOSTROPHES})
_CHARACTERS.update({code: _CHARACTERS[code] for code in range(128)})  # nearly all text, so it is looked up ahead
_WORD = re.compile(r"\w[^\s']*(?:'[^\s']+)*")  # marks follow a letter; alone, as behind an emoji, they are no word
_POSSESSIVE = re.compile(r"(?:'[sS])+\Z")
_STOP_BETWEEN_INITIALS = re.compile(r"(?<=\b[^\W\d_])\.(?=[^\W\d_]\b)")


def _compose(word: str) -> str:
    """One spelling for accents that can be written as one character or two."""
    return word if word.isascii() else unicodedata.normalize("NFC", word)
