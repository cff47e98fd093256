"""A dataset made ready for a split: what training and evaluation take pictures, sentences and pairs from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets import Dataset, Parts
from deepbinaries.features.encoding import PictureEncoder
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.features.pictures import prepare_images
from deepbinaries.features.store import FeatureStore, places
from deepbinaries.features.texts import Read, all_sentences, prepare_texts, read_texts, without_known_words
from deepbinaries.language import TokenSettings, Vocabulary
from deepbinaries.language.tokens import PAPER

Rows = NDArray[np.integer] | Sequence[int]  # of the dataset, in any order


@dataclass(frozen=True, eq=False)
class Prepared:
    """Features and token ids of the items that a split names; everything is asked for by rows of the dataset."""

    dataset: Dataset
    parts: Parts
    store: FeatureStore
    vocabulary: Vocabulary
    tokens: Texts  # one text for each row of the store, in its order

    def images(self, rows: Rows) -> Images:
        """The pictures of the rows, left on disk until they are used."""
        return Images(self.store.as_array(rows))

    def texts(self, rows: Rows) -> Texts:
        """The texts of the rows."""
        return self.tokens[places(self.store.rows, rows, of="tokens")]

    def pairs(self, rows: Rows) -> Pairs:
        """The pictures, texts and labels of the rows."""
        return Pairs(self.images(rows), self.texts(rows), self.parts.labels.select(np.asarray(rows, dtype=np.int64)))

    def sentences(self, rows: Rows) -> tuple[Texts, NDArray[np.int64]]:
        """Every sentence of the rows, for training that draws one in each epoch; offsets as `all_sentences` gives."""
        return all_sentences(self.dataset, rows, self.vocabulary)

    def readable(self, rows: Rows) -> NDArray[np.int64]:
        """Those of the rows, in their order, whose picture could be read: nothing is learnt from the others."""
        asked: NDArray[np.int64] = np.asarray(rows, dtype=np.int64)
        return asked[~np.isin(asked, self.store.failed)]

    @property
    def without_known_words(self) -> NDArray[np.int64]:
        """The rows whose text holds no known word."""
        return self.store.rows[without_known_words(self.tokens)]


def prepare(
    dataset: Dataset,
    parts: Parts,
    encoder: PictureEncoder,
    folder: str | Path,
    *,
    vocabulary: Vocabulary | None = None,
    settings: TokenSettings = PAPER,
    read: Read = "first",
    every_sentence: bool = False,
    minimum_count: int = 3,
    **how: Any,
) -> Prepared:
    """The dataset made ready for its split; `how` goes to `prepare_images` (batch, workers, progress).

    The store holds all items that the split names, also those that `parts` drops for want of a label, so that
    one store serves every rule of relevance. Sentences are read by a trained model's `vocabulary` where one is given,
    else by one made of the training items' words.
    """
    row_of = {id_: row for row, id_ in enumerate(dataset.ids)}
    named = sorted({row_of[id_] for ids in (parts.split.query, parts.split.database) for id_ in ids})
    store = prepare_images(dataset, named, encoder, folder, **how)
    if vocabulary is not None:
        return Prepared(
            dataset, parts, store, vocabulary, read_texts(dataset, parts.split, named, vocabulary, read=read)
        )
    vocabulary, texts = prepare_texts(
        dataset,
        parts.split,
        named,
        train=parts.train.tolist(),
        settings=settings,
        read=read,
        every_sentence=every_sentence,
        minimum_count=minimum_count,
    )
    return Prepared(dataset, parts, store, vocabulary, texts)
