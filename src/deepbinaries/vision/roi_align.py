"""Features of regions from one map of the picture: RoIAlign, 2 x 2 cells of 2 x 2 samples, then the mean over cells.

Bilinear samples are products of a row part and a column part, and means are linear. So a box needs two short vectors
of weights, one over the rows of the map and one over its columns, and the feature is their product with the map.
"""

from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

SAMPLES = 4  # along a side: 2 cells x 2 samples; more cells gave no better features


@overload
def roi_features(maps: NDArray[np.float32], boxes: NDArray[Any]) -> NDArray[np.float32]: ...
@overload
def roi_features(maps: "Tensor", boxes: "Tensor") -> "Tensor": ...
def roi_features(maps: Any, boxes: Any) -> Any:
    """Features (n, k, d) of boxes (n, k, 4) on maps (n, d, h, w), as arrays or as tensors with gradients.

    A box is x0, y0, x1, y1 in shares of the picture.

    >>> maps = np.array([[[[1.0, 3.0], [5.0, 7.0]]]], dtype=np.float32)
    >>> roi_features(maps, np.array([[[0, 0, 1, 1], [0, 0, 0.5, 0.5]]])).tolist()
    [[[4.0], [1.75]]]
    """
    return _of_arrays(maps, boxes) if isinstance(maps, np.ndarray) else _of_tensors(maps, boxes)


def _of_arrays(maps: NDArray[np.float32], boxes: NDArray[Any]) -> NDArray[np.float32]:
    """Without torch: (k, h * w) weights times the (h * w, d) map, one product a picture."""
    n, d, h, w = maps.shape
    rows = _weights(boxes[..., 1], boxes[..., 3], h)
    columns = _weights(boxes[..., 0], boxes[..., 2], w)
    weights = (rows[..., :, None] * columns[..., None, :]).reshape(n, -1, h * w)
    features: NDArray[np.float32] = weights.astype(maps.dtype) @ maps.reshape(n, d, h * w).transpose(0, 2, 1)
    return features


def _weights(start: NDArray[Any], end: NDArray[Any], size: int) -> NDArray[np.float64]:
    """How much each of `size` cells counts for a span given in shares: (..., size), which sums to 1."""
    steps = (np.arange(SAMPLES) + 0.5) / SAMPLES
    samples = (start[..., None] + (end - start)[..., None] * steps) * size
    # The middle of cell i lies at i + 1/2; beyond the first and the last middle the map goes on unchanged.
    places = np.clip(samples - 0.5, 0, size - 1)
    weights: NDArray[np.float64] = np.maximum(0, 1 - np.abs(places[..., None] - np.arange(size))).mean(-2)
    return weights


def _of_tensors(maps: "Tensor", boxes: "Tensor") -> "Tensor":
    """The same with gradients, as one batched product: (k, h * w) weights times the (h * w, d) map."""
    n, d, h, w = maps.shape
    boxes = boxes.to(maps.device).float()
    rows = _tensor_weights(boxes[..., 1], boxes[..., 3], h)
    columns = _tensor_weights(boxes[..., 0], boxes[..., 2], w)
    weights = (rows[..., :, None] * columns[..., None, :]).reshape(n, -1, h * w)
    # Maps most often lie in memory with their channels last, so that this view costs nothing.
    return weights.to(maps.dtype) @ maps.permute(0, 2, 3, 1).reshape(n, h * w, d)


def _tensor_weights(start: "Tensor", end: "Tensor", size: int) -> "Tensor":
    """The same as `_weights`, for tensors."""
    import torch

    steps = (torch.arange(SAMPLES, device=start.device) + 0.5) / SAMPLES
    samples = (start[..., None] + (end - start)[..., None] * steps) * size
    places = (samples - 0.5).clamp(0, size - 1)
    return (1 - (places[..., None] - torch.arange(size, device=start.device)).abs()).clamp(min=0).mean(-2)
