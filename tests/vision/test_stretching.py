import numpy as np
import pytest
from drawn import disc
from PIL import Image

from deepbinaries.vision.stretching import bicubic_weights, stretched, stretched_on


@pytest.fixture
def pictures():
    """Of three sizes, out of order, smaller and larger than the square that they become."""
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 256, (150, 200, 3), dtype=np.uint8))
    return [
        Image.fromarray(disc()),
        noise,
        Image.fromarray(disc()).resize((64, 48)),
        noise.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
    ]


def test_tensors_are_stretched_as_pillow_stretches_pictures(pictures):
    import torch

    squares = stretched_on(torch.device("cpu"), pictures, 96)
    slowly = np.stack([stretched(picture, 96) for picture in pictures])
    assert squares.shape == (4, 3, 96, 96)
    difference = np.abs(squares.permute(0, 2, 3, 1).numpy().astype(int) - slowly)
    assert difference.max() <= 1  # Pillow counts in whole numbers
    assert difference.mean() < 0.01


def test_pixels_are_stretched_as_their_pictures_are(pictures):
    import torch

    cpu = torch.device("cpu")
    pixels = [np.asarray(picture) for picture in pictures]
    assert torch.equal(stretched_on(cpu, pixels, 96), stretched_on(cpu, pictures, 96))
    assert np.array_equal(stretched(pixels[1], 96), stretched(pictures[1], 96))


@pytest.mark.parametrize("length", [1, 2, 95, 96, 97, 1000])
def test_the_weights_of_a_pixel_sum_to_one_whatever_the_length(length):
    weights = bicubic_weights(length, 96)
    assert weights.shape == (96, length)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


def test_a_picture_as_long_as_a_road_needs_no_more_memory_than_the_others():
    import torch

    road = Image.new("RGB", (2_000_000, 1), (10, 20, 30))
    assert stretched_on(torch.device("cpu"), [road], 96)[0].unique().tolist() == [10, 20, 30]


def test_pictures_of_about_the_same_size_do_not_change_each_other(pictures, monkeypatch):
    import torch

    cpu = torch.device("cpu")
    nearly = pictures + [picture.crop((3, 5, picture.width, picture.height)) for picture in pictures]
    alone = torch.cat([stretched_on(cpu, [picture], 96) for picture in nearly])
    together = stretched_on(cpu, nearly, 96)
    assert (together.int() - alone.int()).abs().max() <= 1  # longer sums are rounded otherwise
    monkeypatch.setattr("deepbinaries.vision.stretching.MOST_PIXELS", 1)  # each on its own
    assert torch.equal(stretched_on(cpu, nearly, 96), together)
