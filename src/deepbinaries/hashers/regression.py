"""Linear prediction of one view from the other: the predicting view is mapped, the predicted one is only centred."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import unknown_name
from deepbinaries.features.inputs import Images, Texts
from deepbinaries.hashers.covariances import Covariances
from deepbinaries.hashers.saving import nothing_learnt
from deepbinaries.hashers.views import Floats, blocks, check_width

DIRECTIONS = ("text_to_image", "image_to_text")

# The arrays of a regression, for `load_learnt`.
REGRESSION = {"from.mean": ("d_from",), "from.projection": ("d_from", "d_to"), "to.mean": ("d_to",)}


def check_direction(direction: str) -> None:
    """Refuse a direction that does not exist."""
    if direction not in DIRECTIONS:
        raise unknown_name("direction of a regression", direction, DIRECTIONS)


def in_direction(S: Covariances, direction: str) -> tuple[Floats, Floats]:
    """The covariance of the predicting view and the one across: Syy and Syx for text_to_image, else Sxx and Sxy."""
    return (S.Syy, S.Sxy.T) if direction == "text_to_image" else (S.Sxx, S.Sxy)


def regression(S: Covariances, A: Floats, direction: str) -> dict[str, Floats]:
    """The means of both views and the map A of the predicting one, by the names under which they are saved."""
    means = (S.mean_y, S.mean_x) if direction == "text_to_image" else (S.mean_x, S.mean_y)
    return {"from.mean": means[0], "from.projection": A, "to.mean": means[1]}


def encode_regression(
    learnt: Mapping[str, NDArray[Any]], batch: Images | Texts, *, direction: str, method: str
) -> NDArray[np.float32]:
    """(y - mean_y) A for the predicting view, x - mean_x for the other, (n, width of x).

    >>> learnt = {"from.mean": np.zeros(1), "from.projection": np.array([[2.0, 3.0]]), "to.mean": np.array([1.0, 1.0])}
    >>> encode_regression(learnt, Texts.from_vectors(np.ones((1, 1))), direction="text_to_image", method="a").tolist()
    [[2.0, 3.0]]
    >>> encode_regression(learnt, Images.from_vectors(np.ones((1, 2))), direction="text_to_image", method="a").tolist()
    [[0.0, 0.0]]
    """
    if not learnt:
        raise nothing_learnt(method)
    predicting = isinstance(batch, Texts) == (direction == "text_to_image")
    mean, A = learnt["from.mean" if predicting else "to.mean"], learnt["from.projection"]
    check_width(batch, len(mean))
    values = [(block - mean) @ A if predicting else block - mean for block in blocks(batch)]
    return np.concatenate([np.empty((0, A.shape[1])), *values]).astype(np.float32)
