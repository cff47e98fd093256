"""Linear maps of both views: the form of most shallow methods once they are learnt."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.features.inputs import Images, Texts
from deepbinaries.hashers.saving import nothing_learnt
from deepbinaries.hashers.views import Floats, blocks, check_width, view_of

# The arrays of a method whose values are (x - mean) W in each view, and (x - mean) W + offset, for `load_learnt`.
LINEAR: dict[str, tuple[str, ...]] = {"images.mean": ("dx",), "images.projection": ("dx", "bits")}
LINEAR |= {"texts.mean": ("dy",), "texts.projection": ("dy", "bits")}
WITH_OFFSETS = LINEAR | {"images.offset": ("bits",), "texts.offset": ("bits",)}


def linear(mean_x: Floats, mean_y: Floats, Wx: Floats, Wy: Floats) -> dict[str, Floats]:
    """The maps of both views by the names under which they are saved."""
    return {"images.mean": mean_x, "images.projection": Wx, "texts.mean": mean_y, "texts.projection": Wy}


def encode_linear(learnt: Mapping[str, NDArray[Any]], batch: Images | Texts, *, method: str) -> NDArray[np.float32]:
    """(x - mean) W + offset for each item of the batch, (n, bits); without an offset, zero is added.

    >>> maps = linear(np.array([1.0]), np.zeros(1), np.array([[2.0, -1.0]]), np.ones((1, 2)))
    >>> encode_linear(maps, Images.from_vectors(np.array([[4.0]])), method="example").tolist()
    [[6.0, -3.0]]
    """
    if not learnt:
        raise nothing_learnt(method)
    view = view_of(batch)
    mean, W, offset = learnt[f"{view}.mean"], learnt[f"{view}.projection"], learnt.get(f"{view}.offset", 0.0)
    check_width(batch, len(mean))
    values = [(block - mean) @ W + offset for block in blocks(batch)]
    return np.concatenate([np.empty((0, W.shape[1])), *values]).astype(np.float32)
