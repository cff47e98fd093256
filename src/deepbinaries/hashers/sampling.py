"""A part of the training pairs, for methods that cannot look at all of them."""

import numpy as np

from deepbinaries.errors import DataError
from deepbinaries.features.inputs import Pairs


def sampled(pairs: Pairs, n: int, rng: np.random.Generator) -> Pairs:
    """At most n of the pairs, drawn without repeats and kept in their order; all of them where there are no more.

    >>> from deepbinaries.datasets import Labels
    >>> from deepbinaries.features.inputs import Images, Texts
    >>> three = Images.from_vectors(np.zeros((3, 1))), Texts.from_vectors(np.zeros((3, 1)))
    >>> len(sampled(Pairs(*three, Labels.from_names([["a"]] * 3)), 2, np.random.default_rng(0)))
    2
    """
    if len(pairs) < 2:
        raise DataError(f"{len(pairs)} pairs teach nothing", next_step="give at least two")
    if len(pairs) <= n:
        return pairs
    return pairs.select(np.sort(rng.choice(len(pairs), n, replace=False)))
