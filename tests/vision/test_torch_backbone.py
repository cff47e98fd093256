"""What a GPU is given; the rest of a torch backbone is tested with the networks that are one."""

import pytest
import torch

from deepbinaries.vision.backbones.on_gpu import OnGpu, filled_up

on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU here")


@pytest.mark.parametrize(("n", "size"), [(0, 1), (1, 1), (2, 2), (3, 4), (64, 64), (65, 128)])
def test_batches_are_filled_up_to_few_sizes(n, size):
    pixels = torch.arange(n * 3 * 4, dtype=torch.uint8).reshape(n, 3, 2, 2)
    filled = filled_up(pixels)
    assert len(filled) == size
    assert torch.equal(filled[:n], pixels)


@on_a_gpu
def test_a_recorded_network_answers_as_the_network_itself_whatever_the_size_of_the_batch():
    network = torch.nn.Conv2d(3, 5, 3).cuda().eval()
    played = OnGpu(network, half=False)
    for n in (3, 4, 1, 7, 3):
        pixels = torch.rand(n, 3, 8, 8, device="cuda")
        with torch.inference_mode():
            assert torch.allclose(played(pixels), network(pixels), atol=1e-5)


@on_a_gpu
def test_an_answer_stays_as_it_is_when_the_next_batch_is_played():
    played = OnGpu(lambda pixels: pixels * 2, half=False)
    first = played(torch.ones(2, 3, 4, 4, device="cuda"))
    played(torch.zeros(2, 3, 4, 4, device="cuda"))
    assert torch.equal(first, torch.full_like(first, 2))
