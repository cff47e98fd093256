"""Sentences as counts of known words: the plainest text feature there is."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import UsageError
from deepbinaries.language.tokens import each_sentence, words
from deepbinaries.language.vocabulary import FIRST_WORD, MAX_CELLS, Vocabulary


def count_words(
    sentences: Iterable[str], vocabulary: Vocabulary, *, binary: bool = False, normalise: bool = False
) -> NDArray[np.float32]:
    """How often each sentence holds each word, (n, words); column j counts `vocabulary.words[j]`.

    The special tokens have no column, unknown words are not counted, and every word of a sentence takes
    part, also past the length at which `encode` cuts. `binary` gives 1 for a word that occurs at all,
    `normalise` scales every row to Euclidean length 1 (a row without a known word stays zero). An item
    of several sentences is one row when they are joined by a space.

    The matrix is dense and takes 4 bytes a cell: 13,500 sentences and 2,000 words are 108 MB. More than
    4 GiB are refused: go through the sentences in parts, or build the vocabulary with `maximum_words`.

    >>> count_words(["a dog and a cat", "two owls"], Vocabulary(["a", "cat", "dog"])).tolist()
    [[2.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    """
    sentences = list(each_sentence(sentences))
    cells = len(sentences) * len(vocabulary.words)
    if cells > MAX_CELLS:
        raise UsageError(
            f"{len(sentences):,} sentences by {len(vocabulary.words):,} words take {cells * 4 / 2**30:.1f} GiB",
            next_step="give the sentences in parts, or a vocabulary with maximum_words",
        )
    counts = np.zeros((len(sentences), len(vocabulary.words)), dtype=np.float32)
    for row, sentence in zip(counts, sentences, strict=True):
        known = (word for word in words(sentence, vocabulary.settings) if word in vocabulary)
        np.add.at(row, [vocabulary.id(word) - FIRST_WORD for word in known], 1)
    if binary:
        np.minimum(counts, 1, out=counts)
    if normalise:
        lengths = np.sqrt(np.einsum("ij,ij->i", counts, counts))[:, None]  # without a second matrix of squares
        np.divide(counts, lengths, out=counts, where=lengths > 0)
    return counts
