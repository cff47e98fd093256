"""Token ids for the sentences of a dataset, by the words of its training items alone."""

from collections.abc import Iterable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets import Dataset, Split
from deepbinaries.errors import unknown_name
from deepbinaries.features.inputs import Texts
from deepbinaries.language import TokenSettings, Vocabulary
from deepbinaries.language.tokens import PAPER
from deepbinaries.language.vocabulary import FIRST_WORD

Read = Literal["first", "whole"]  # the sentence that stands for an item, or all its sentences as one


def prepare_texts(
    dataset: Dataset,
    split: Split,
    rows: Iterable[int],
    *,
    train: Iterable[int],
    settings: TokenSettings = PAPER,
    read: Read = "first",
    every_sentence: bool = False,
    minimum_count: int = 3,
) -> tuple[Vocabulary, Texts]:
    """The vocabulary of the training rows, and what it makes of one text for each row.

    Words count as they are read: those of a sentence that training never sees would get ids whose vectors are never
    learnt. With `every_sentence` training draws from all sentences of an item, so all of them count.

    >>> from deepbinaries.datasets import load
    >>> from deepbinaries.datasets.splits import by_fraction
    >>> scenes = load("scenes", items=50)
    >>> split = by_fraction(scenes, 0.1)
    >>> vocabulary, texts = prepare_texts(scenes, split, range(50), train=split.parts(scenes).train)
    >>> texts.tokens.shape, texts.n_words == len(vocabulary)
    ((50, 12), True)
    """
    if every_sentence:
        learnt: Iterator[str] = (sentence for row in train for sentence in dataset.sentences(row))
    else:
        learnt = (text_of(dataset, split, row, read) for row in train)
    vocabulary = Vocabulary.from_sentences(learnt, settings, minimum_count=minimum_count)
    return vocabulary, read_texts(dataset, split, rows, vocabulary, read=read)


def text_of(dataset: Dataset, split: Split, row: int, read: Read = "first") -> str:
    """The text that is read of an item."""
    first = split.sentence(dataset, row)  # refuses an item without sentences, whatever is read
    if read == "first":
        return first
    if read == "whole":
        return " ".join(dataset.sentences(row))
    raise unknown_name("way to read", read, ("first", "whole"))


def read_texts(
    dataset: Dataset, split: Split, rows: Iterable[int], vocabulary: Vocabulary, *, read: Read = "first"
) -> Texts:
    """One text for each row, in the ids of a vocabulary."""
    tokens = vocabulary.encode(text_of(dataset, split, int(row), read) for row in rows)
    return Texts(tokens, len(vocabulary))


def all_sentences(dataset: Dataset, rows: Iterable[int], vocabulary: Vocabulary) -> tuple[Texts, NDArray[np.int64]]:
    """Every sentence of the rows, and offsets: item i has the texts `offsets[i]` to `offsets[i + 1] - 1`.

    >>> from deepbinaries.datasets import load
    >>> scenes = load("scenes", items=3)
    >>> texts, offsets = all_sentences(scenes, [2, 0], Vocabulary(["a", "seat"]))
    >>> offsets.tolist() == [0, len(scenes.sentences(2)), len(texts)]
    True
    """
    of_rows = [list(dataset.sentences(int(row))) for row in rows]
    offsets = np.cumsum([0, *map(len, of_rows)]).astype(np.int64)
    return Texts(vocabulary.encode(sentence for some in of_rows for sentence in some), len(vocabulary)), offsets


def without_known_words(texts: Texts) -> NDArray[np.int64]:
    """The places of the texts that hold no known word: whatever is learnt, they look all alike.

    >>> without_known_words(Texts(np.array([[1, 2], [3, 2]], dtype=np.int32), n_words=4)).tolist()
    [0]
    """
    return np.flatnonzero((texts.tokens < FIRST_WORD).all(axis=1)).astype(np.int64)
