"""What a search answers: rows of the gallery and their distances."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Neighbours:
    """The k nearest rows of each query in (distance, row) order; fewer columns when the gallery is smaller."""

    rows: NDArray[np.int64]  # (queries, min(k, gallery))
    distances: NDArray[np.int64]  # the same shape
    ties: NDArray[np.int64]  # gallery rows at each query's last distance, those left out included


@dataclass(frozen=True)
class Within:
    """Every row within a radius of each query in (distance, row) order; query q owns offsets[q]:offsets[q + 1]."""

    rows: NDArray[np.int64]
    distances: NDArray[np.int64]
    offsets: NDArray[np.int64]  # (queries + 1,)

    def __getitem__(self, query: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        of_query = slice(self.offsets[query], self.offsets[query + 1])
        return self.rows[of_query], self.distances[of_query]
