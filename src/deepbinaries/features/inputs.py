"""What a hasher is given: pictures as region features, sentences as token ids, and pairs of both with labels.

Datasets of features alone have one vector a picture and one a text: `from_vectors` takes both.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError
from deepbinaries.features.region_array import RegionArray

POSITION = 4  # numbers at the end of a region's features: height, width and centre of its box


@dataclass(frozen=True, eq=False)
class Images:
    """Pictures as features of their regions, the most attractive first, the whole picture last."""

    regions: NDArray[Any] | RegionArray  # (n, K + 1, width + 4) float16 or float32; a `RegionArray` stays on disk

    @classmethod
    def from_vectors(cls, vectors: NDArray[np.floating[Any]]) -> "Images":
        """Pictures that are known by one vector each, (n, width): no regions, no positions.

        >>> Images.from_vectors(np.array([[1.0, 2.0]])).whole.tolist()
        [[1.0, 2.0]]
        """
        return cls(np.pad(vectors.astype(np.float32), [(0, 0), (0, POSITION)])[:, None])

    def __len__(self) -> int:
        return len(self.regions)

    def __getitem__(self, rows: Any) -> "Images":
        """Some rows: a slice, a list or a mask; one row alone still gives a sequence of one. What is on disk stays."""
        if isinstance(self.regions, RegionArray):
            return Images(self.regions.select(_several(rows)))
        return Images(self.regions[_several(rows)])

    @property
    def width(self) -> int:
        """d: features of a region, its position not counted."""
        return int(self.regions.shape[2]) - POSITION

    @property
    def n_regions(self) -> int:
        """K: regions beside the whole picture."""
        return int(self.regions.shape[1]) - 1

    @property
    def whole(self) -> NDArray[np.float32]:
        """The features of the whole pictures, (n, width)."""
        return np.asarray(self.regions[:, -1, : self.width], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Texts:
    """Sentences as token ids; 0 fills them up."""

    tokens: NDArray[np.int32]  # (n, length)
    n_words: int  # ids are below this: the size of the vocabulary, special tokens counted
    features: NDArray[np.floating[Any]] | None = None  # (n, d), where a text is known by a vector, not by its words

    def __post_init__(self) -> None:
        strange = self.tokens[(self.tokens < 0) | (self.tokens >= self.n_words)]
        if strange.size:
            raise DataError(
                f"a token id is {strange[0]}, the vocabulary has {self.n_words}",
                next_step="give ids from 0 on and below n_words, as the vocabulary's `encode` does",
            )

    @classmethod
    def from_vectors(cls, vectors: NDArray[np.floating[Any]]) -> "Texts":
        """Texts that are known by one vector each, (n, d): they have no tokens.

        >>> len(Texts.from_vectors(np.array([[0.5, 0.5], [1.0, 0.0]])))
        2
        """
        return cls(np.zeros((len(vectors), 0), dtype=np.int32), 0, vectors)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, rows: Any) -> "Texts":
        rows = _several(rows)
        return Texts(self.tokens[rows], self.n_words, None if self.features is None else self.features[rows])


@dataclass(frozen=True, eq=False)
class Pairs:
    """Training pairs: row i of the three belong together."""

    images: Images
    texts: Texts
    labels: Labels

    def __post_init__(self) -> None:
        if not len(self.images) == len(self.texts) == len(self.labels):
            raise DataError(
                f"{len(self.images):,} pictures, {len(self.texts):,} sentences and {len(self.labels):,} label sets "
                "are no pairs",
                next_step="give the three of the same rows, in the same order",
            )

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, rows: NDArray[np.integer]) -> "Pairs":
        """Some of the pairs."""
        return Pairs(self.images[rows], self.texts[rows], self.labels.select(rows))


def _several(rows: Any) -> Any:
    return [rows] if isinstance(rows, int | np.integer) else rows
