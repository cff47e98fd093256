"""Pairs of a dataset that holds features alone, one vector a picture and one a text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets import Parts
from deepbinaries.datasets.arrays import Arrays
from deepbinaries.features.inputs import Images, Pairs, Texts

Rows = NDArray[np.integer[Any]] | Sequence[int]  # of the dataset, in any order


def vector_pairs(dataset: Arrays, rows: Rows) -> Pairs:
    """The pictures, texts and labels of the rows.

    >>> from deepbinaries.datasets import Labels
    >>> features = {"image": np.array([[1.0, 2.0], [3.0, 4.0]]), "text": np.array([[5.0], [6.0]])}
    >>> tiny = Arrays("tiny", ("a", "b"), Labels.from_names([["cat"], ["dog"]]), features, None)
    >>> pairs = vector_pairs(tiny, [1])
    >>> pairs.images.whole.tolist(), pairs.texts.features.tolist(), pairs.labels.of(0)
    ([[3.0, 4.0]], [[6.0]], ('dog',))
    """
    places: NDArray[np.int64] = np.asarray(rows, dtype=np.int64)
    images, texts = (dataset.features[side][places] for side in ("image", "text"))
    return Pairs(Images.from_vectors(images), Texts.from_vectors(texts), dataset.labels.select(places))


@dataclass(frozen=True, eq=False)
class PreparedVectors:
    """A dataset of features alone, asked for by rows as `features.Prepared` is."""

    dataset: Arrays
    parts: Parts

    def images(self, rows: Rows) -> Images:
        """The pictures of the rows."""
        return self.pairs(rows).images

    def texts(self, rows: Rows) -> Texts:
        """The texts of the rows."""
        return self.pairs(rows).texts

    def pairs(self, rows: Rows) -> Pairs:
        """The pictures, texts and labels of the rows; labels that are ignored are left out."""
        pairs = vector_pairs(self.dataset, rows)
        return Pairs(pairs.images, pairs.texts, self.parts.labels.select(np.asarray(rows, dtype=np.int64)))

    def readable(self, rows: Rows) -> NDArray[np.int64]:
        """All of the rows: there is no picture that could be broken."""
        return np.asarray(rows, dtype=np.int64)
