"""Generated pairs whose features and words tell their labels, so that a method can learn something in seconds."""

import numpy as np

from deepbinaries.datasets import Labels
from deepbinaries.features.inputs import Images, Pairs, Texts

N_LABELS, WIDTH, REGIONS, LENGTH = 10, 24, 4, 6


def make_pairs(n: int, seed: int, n_labels: int = N_LABELS) -> Pairs:
    rng = np.random.default_rng(seed)
    has = rng.random((n, n_labels)) < 0.06
    has[np.arange(n), rng.integers(0, n_labels, n)] = True
    mixing = np.random.default_rng(0).normal(size=(n_labels, WIDTH))
    regions = rng.normal(0, 0.3, (n, REGIONS + 1, WIDTH + 4))
    regions[:, -1, :WIDTH] += has @ mixing
    for row in range(n):  # each region shows one of the labels
        shown = rng.choice(np.flatnonzero(has[row]), REGIONS)
        regions[row, :-1, :WIDTH] += mixing[shown]
    tokens = np.zeros((n, LENGTH), dtype=np.int32)
    for row in range(n):
        words = 3 + np.flatnonzero(has[row])[: LENGTH - 1]
        tokens[row, : len(words)] = words
        tokens[row, len(words)] = 2
    return Pairs(Images(regions.astype(np.float16)), Texts(tokens, 3 + n_labels), Labels.from_matrix(has))
