"""Both views of pairs, row by row: what the blocks of `views` are judged by."""

import numpy as np

from deepbinaries.features.inputs import Pairs
from deepbinaries.language.vocabulary import FIRST_WORD


def slow_views(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of pictures and sentences, centred."""
    X = np.array([np.asarray(picture, np.float64)[-1, :-4] for picture in pairs.images.regions])
    words = range(FIRST_WORD, pairs.texts.n_words)
    Y = np.array([[sum(token == word for token in text) for word in words] for text in pairs.texts.tokens], float)
    return X - X.mean(axis=0), Y - Y.mean(axis=0)
