"""The two views of an item as one vector each: what linear methods and kernels are given.

A picture is the features of the whole picture, its position left out. A text is how often it holds each known word,
or its own vector where it came with one.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError
from deepbinaries.features.inputs import Images, Texts
from deepbinaries.language.vocabulary import FIRST_WORD

BLOCK = 4096  # rows that are in memory at once

Floats = NDArray[np.float64]


def view_of(batch: Images | Texts) -> str:
    """The name of the view that a batch belongs to.

    >>> view_of(Texts.from_vectors(np.zeros((1, 2))))
    'texts'
    """
    return "images" if isinstance(batch, Images) else "texts"


def width(batch: Images | Texts) -> int:
    """d: the length of an item's vector.

    >>> width(Images.from_vectors(np.zeros((1, 5)))), width(Texts(np.zeros((1, 4), dtype=np.int32), n_words=9))
    (5, 6)
    """
    if isinstance(batch, Images):
        return batch.width
    return batch.n_words - FIRST_WORD if batch.features is None else batch.features.shape[1]


def check_width(batch: Images | Texts, known: int) -> None:
    """Refuse a batch whose vectors are not as long as those that were learnt from."""
    if width(batch) == known:
        return
    if isinstance(batch, Images):
        raise DataError(
            f"these pictures have {batch.width} features, the model was trained on {known}",
            next_step="prepare them with the model's own backbone",
        )
    if batch.features is None:
        raise DataError(
            f"these sentences are of {width(batch)} words, the model knows {known}",
            next_step="encode sentences with the model's own vocabulary",
        )
    raise DataError(
        f"these texts have {width(batch)} features, the model was trained on {known}",
        next_step="give the features that the model was trained on",
    )


def blocks(batch: Images | Texts) -> Iterator[Floats]:
    """The vectors of a batch, some thousand rows at a time; a number that is not finite is refused by its row.

    >>> [block.tolist() for block in blocks(Images.from_vectors(np.array([[1.0, 2.0]])))]
    [[[1.0, 2.0]]]
    """
    for start in range(0, len(batch), BLOCK):
        rows = slice(start, start + BLOCK)
        block = batch[rows].whole.astype(np.float64) if isinstance(batch, Images) else _text_vectors(batch[rows])
        bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
        if bad.size:
            side = "picture" if isinstance(batch, Images) else "text"
            raise DataError(
                f"row {start + bad[0]} of the {side} features holds a number that is not finite",
                next_step="prepare the features again",
            )
        yield block


def matrix(batch: Images | Texts) -> NDArray[np.float32]:
    """All vectors of a batch, (n, d), for methods that look at them again and again.

    >>> matrix(Texts.from_vectors(np.array([[0.5], [1.0]]))).tolist()
    [[0.5], [1.0]]
    """
    whole, start = np.empty((len(batch), width(batch)), dtype=np.float32), 0
    for block in blocks(batch):
        whole[start : start + len(block)] = block
        start += len(block)
    return whole


def word_counts(texts: Texts) -> Floats:
    """How often each sentence holds each word, (n, words); padding, ends and unknown words have no column.

    >>> word_counts(Texts(np.array([[3, 4, 4, 1, 2, 0]], dtype=np.int32), n_words=6)).tolist()
    [[1.0, 2.0, 0.0]]
    """
    counts = np.zeros((len(texts), texts.n_words))
    np.add.at(counts, (np.arange(len(texts))[:, None], texts.tokens), 1)
    return counts[:, FIRST_WORD:]


def _text_vectors(texts: Texts) -> Floats:
    return word_counts(texts) if texts.features is None else np.asarray(texts.features, dtype=np.float64)
