"""What a GPU is given; the rest of a torch backbone is tested with the networks that are one."""

import pytest
import torch

from deepbinaries.vision.backbones.torch_backbone import _on_gpu


@pytest.mark.parametrize(("n", "filled"), [(0, 1), (1, 1), (2, 2), (3, 4), (64, 64), (65, 128)])
def test_a_network_on_a_gpu_meets_few_sizes_of_batches_and_answers_for_the_pictures_alone(n, filled):
    sizes = []

    def mean_colours(pixels):
        sizes.append(len(pixels))
        return pixels.float().mean((2, 3))

    pixels = torch.arange(n * 3 * 4, dtype=torch.uint8).reshape(n, 3, 2, 2)
    assert torch.equal(_on_gpu(mean_colours, pixels, half=False), pixels.float().mean((2, 3)))
    assert sizes == [filled]
