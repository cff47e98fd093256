"""Sentences without photographs: from them the sentence network learns what words mean, far beyond the captions.

A caption is said again with other words in the places of some of its own, mostly near ones, and every known word is put
into a sentence by itself. MiniLM tells what each of them means, and the sentence network has to say the same.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from deepbinaries.language import STOP_WORDS, TokenSettings, Vocabulary, words
from deepbinaries.language.vocabulary import FIRST_WORD
from recipes.photo.networks import WORDS

TOKENS = TokenSettings(append_eos=False, length=WORDS)
AGAIN = 3  # times that a caption is said with other words
CHANGED = 0.3  # share of its words that are changed
FAR = 0.2  # share of the changed ones that become any word of the captions
NEIGHBOURS = 8  # nearest words that one of them may become
ALONE = "a photo of a {}"


def wordings(captions: Sequence[str], vocabulary: Vocabulary, table: NDArray[np.float32], seed: int = 0) -> list[str]:
    """The sentences, each once, in the order of spelling; `table` holds the words' vectors by id."""
    rng = np.random.default_rng(seed)
    near = neighbours(vocabulary, table)
    counts = Counter(word for caption in captions for word in words(caption, TOKENS) if may_change(word))
    often = sorted(word for word in counts if counts[word] > 1)
    said = {ALONE.format(word) for word in vocabulary.words if word.isalpha()}
    for caption in captions:
        said.update(said_again(words(caption, TOKENS)[: TOKENS.length], near, often, rng))
    return sorted(said.difference(captions))


def may_change(word: str) -> bool:
    return word.isalpha() and word not in STOP_WORDS


def said_again(
    caption: Sequence[str], near: dict[str, list[str]], often: Sequence[str], rng: np.random.Generator
) -> Iterator[str]:
    """A caption with other words, a few times."""
    for _ in range(AGAIN):
        chances = rng.random((2, len(caption)))
        others = [
            word
            if chance >= CHANGED or not may_change(word)
            else str(rng.choice(often if far < FAR else near.get(word, often)))
            for word, chance, far in zip(caption, *chances, strict=True)
        ]
        yield " ".join(others)


def neighbours(vocabulary: Vocabulary, table: NDArray[np.float32]) -> dict[str, list[str]]:
    """The words that GloVe puts nearest to each word, the word itself left out."""
    spelt = vocabulary.words
    unit = table[FIRST_WORD:] / np.linalg.norm(table[FIRST_WORD:], axis=1, keepdims=True)
    found, furthest = {}, min(NEIGHBOURS, len(spelt) - 1)
    for start in range(0, len(spelt), 1000):
        cosines = unit[start : start + 1000] @ unit.T
        nearest = np.argpartition(-cosines, furthest, axis=1)[:, : furthest + 1]
        for word, places in zip(spelt[start : start + 1000], nearest, strict=True):
            found[word] = [spelt[place] for place in places if spelt[place] != word and may_change(spelt[place])]
    return {word: others for word, others in found.items() if others}
