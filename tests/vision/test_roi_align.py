"""RoIAlign against a sampler that reads one point after the other."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from deepbinaries.vision.roi_align import roi_features


def bilinear(table: np.ndarray, y: float, x: float) -> float:
    """The value between the four nearest cells, whose middles are at whole numbers; the border goes on outwards."""
    h, w = table.shape
    y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, h - 1), min(left + 1, w - 1)
    down, across = y - top, x - left
    upper = table[top, left] * (1 - across) + table[top, right] * across
    lower = table[bottom, left] * (1 - across) + table[bottom, right] * across
    return upper * (1 - down) + lower * down


def slowly(maps: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """2 x 2 cells a box, 2 x 2 samples a cell, the mean of each cell, the mean of the cells."""
    n, d, h, w = maps.shape
    features = np.zeros((n, boxes.shape[1], d))
    for i, k, c in np.ndindex(features.shape):
        x0, y0, x1, y1 = boxes[i, k] * (w, h, w, h)
        cells = []
        for row, column in np.ndindex(2, 2):
            samples = []
            for sample_y, sample_x in np.ndindex(2, 2):
                y = y0 + (y1 - y0) * (row / 2 + (sample_y + 0.5) / 4)
                x = x0 + (x1 - x0) * (column / 2 + (sample_x + 0.5) / 4)
                samples.append(bilinear(maps[i, c], y - 0.5, x - 0.5))
            cells.append(np.mean(samples))
        features[i, k, c] = np.mean(cells)
    return features


def some(seed: int, n=2, k=3, d=2, h=3, w=5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    corners = np.sort(rng.random((n, k, 2, 2)), axis=2)  # x0 <= x1, y0 <= y1
    return rng.random((n, d, h, w), dtype=np.float32), corners.reshape(n, k, 4).astype(np.float32)


@given(seed=st.integers(0, 2**32), h=st.integers(1, 6), w=st.integers(1, 6))
def test_arrays_agree_with_the_slow_sampler(seed, h, w):
    maps, boxes = some(seed, h=h, w=w)
    assert_allclose(roi_features(maps, boxes), slowly(maps, boxes), atol=1e-5)


@given(seed=st.integers(0, 2**32), h=st.integers(1, 6), w=st.integers(1, 6))
def test_tensors_agree_with_arrays(seed, h, w):
    maps, boxes = some(seed, h=h, w=w)
    tensors = roi_features(torch.from_numpy(maps), torch.from_numpy(boxes))
    assert_allclose(tensors, roi_features(maps, boxes), atol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_a_box_around_one_cell_of_a_flat_map_is_that_value(kind):
    maps, boxes = np.full((1, 1, 4, 4), 3, np.float32), np.array([[[0.25, 0.5, 0.5, 0.75]]], np.float32)
    assert roi_features(kind(maps), kind(boxes)).item() == pytest.approx(3)


def test_maps_with_their_channels_last_in_memory_give_the_same():
    maps, boxes = (torch.from_numpy(array) for array in some(7))
    turned = maps.contiguous(memory_format=torch.channels_last)
    assert_allclose(roi_features(turned, boxes), roi_features(maps, boxes))


def test_gradients_reach_every_cell_under_the_whole_picture():
    maps = torch.zeros(1, 2, 3, 3, requires_grad=True)
    roi_features(maps, torch.tensor([[[0.0, 0.0, 1.0, 1.0]]])).sum().backward()
    assert (maps.grad > 0).all()
    assert maps.grad.sum().item() == pytest.approx(2)  # the weights of a box sum to 1, for each of two channels


def test_gradients_are_those_of_finite_differences():
    maps, boxes = (torch.from_numpy(array) for array in some(3, n=1))
    assert torch.autograd.gradcheck(lambda m: roi_features(m, boxes), maps.double().requires_grad_(), atol=1e-4)


def test_half_precision_maps_give_half_precision_features():
    maps, boxes = (torch.from_numpy(array) for array in some(5))
    halves = roi_features(maps.to(torch.bfloat16), boxes)
    assert halves.dtype == torch.bfloat16
    assert_allclose(halves.float(), roi_features(maps, boxes), atol=2e-2)
