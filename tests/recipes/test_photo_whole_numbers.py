"""A backbone that multiplies whole numbers: no overflow anywhere, its first block as it was, no mean that shifts."""

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from onnxruntime import InferenceSession
from torch import nn

from deepbinaries.onnx_tracing import traced
from recipes.photo import whole_numbers
from recipes.photo.whole_numbers import IN_FLOATS, convolutions, in_whole_numbers

SEVEN_BITS = 64  # 255 x (64 + 64) still fits into sixteen bits with a sign


class Backbone(nn.Module):
    """A stem, and blocks that narrow, widen and look around in each channel, as the package's backbone has them."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.ReLU6(),
            nn.Conv2d(8, 8, 3, padding=1, groups=8),
            nn.ReLU6(),
            nn.Conv2d(8, 4, 1),
            nn.Conv2d(4, 24, 1),
            nn.ReLU6(),
            nn.Conv2d(24, 24, 3, padding=1, groups=24),
            nn.ReLU6(),
            nn.Conv2d(24, 16, 1),
        )

    def forward(self, pixels):
        return self.layers((pixels.permute(0, 3, 1, 2).float() - 127) / 32)


@pytest.fixture(scope="module")
def pictures():
    return list(np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3)).astype(np.uint8))


@pytest.fixture(scope="module")
def floats(pictures):
    torch.manual_seed(0)
    example = torch.from_numpy(np.stack(pictures))
    return traced(Backbone(), example, open_axes={0: "n"}, precision="fp32")


@pytest.fixture(scope="module")
def whole(floats, pictures):
    return in_whole_numbers(floats, pictures)


def seen(content, pictures):
    session = InferenceSession(content, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, {"x": picture[None]})[0] for picture in pictures])


def stored(content):
    return {one.name: numpy_helper.to_array(one) for one in onnx.load_from_string(content).graph.initializer}


def test_no_two_products_overflow_where_processors_add_them_in_sixteen_bits(whole):
    kernels = [one for one in stored(whole).values() if one.dtype == np.int8 and one.ndim == 4]
    assert len(kernels) == 3
    assert max(np.abs(kernel.astype(int)).max() for kernel in kernels) == SEVEN_BITS


def test_the_first_convolutions_stay_as_they_are(floats, whole):
    before, after = stored(floats), stored(whole)
    first = convolutions(onnx.load_from_string(floats))[:IN_FLOATS]
    assert all(np.array_equal(before[node.input[1]], after[node.input[1]]) for node in first)


def test_maps_are_nearly_what_they_were(floats, whole, pictures):
    exact = seen(floats, pictures)
    assert np.abs(seen(whole, pictures) - exact).mean() < 0.03 * np.abs(exact).mean()


def test_rounding_shifts_no_channel_away_from_its_mean(floats, whole, pictures, monkeypatch):
    monkeypatch.setattr(whole_numbers, "take_shifts_back", lambda *_: None)
    exact, mended, plain = (seen(some, pictures) for some in (floats, whole, in_whole_numbers(floats, pictures)))
    off = [np.abs((maps - exact).mean((0, 2, 3))).mean() for maps in (mended, plain)]
    assert off[0] < 0.5 * off[1]
