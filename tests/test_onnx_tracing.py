"""Torch networks as ONNX files: zeros are put around pictures by convolutions, matrices are stored in bytes."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn
from torch.nn import functional

from deepbinaries.onnx_files import open_network
from deepbinaries.onnx_tracing import narrowed, traced


class Padded(nn.Module):
    """A convolution over a picture that is padded before, more at one side than at the other."""

    def __init__(self, zeros, mode="constant", value=0.0, own=0):
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3, padding=own)
        self.zeros, self.how = zeros, {"mode": mode} if mode == "reflect" else {"mode": mode, "value": value}

    def forward(self, x):
        return self.convolution(functional.pad(x, self.zeros, **self.how))


class TwoMatrices(nn.Module):
    """Both forms that a matrix takes in an ONNX file: with its outputs as rows, and as columns."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.last(self.first(x).amax(1))


def run(content, x):
    return open_network(content, Path("network.onnx")).run(None, {"x": x.numpy()})[0]


def kinds(content):
    return {node.op_type for node in onnx.load_from_string(content).graph.node}


@pytest.fixture
def picture():
    return torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("zeros", "own"), [((0, 1, 0, 1), 0), ((1, 2, 1, 2), 0), ((2, 0, 0, 1), 1)])
def test_zeros_around_a_picture_become_part_of_the_convolution(picture, zeros, own):
    network = Padded(zeros, own=own).eval()
    content = traced(network, torch.zeros(2, 3, 8, 8), open_axes={0: "n"}, precision="fp32")
    assert "Pad" not in kinds(content)
    assert_allclose(run(content, picture), network(picture).detach(), atol=1e-5)


@pytest.mark.parametrize(
    "network", [Padded((1, 1, 1, 1), "reflect"), Padded((1, 1, 1, 1), value=2.0), Padded((-1, 1, 0, 0))]
)
def test_whatever_else_is_put_around_a_picture_stays_as_it_is(picture, network):
    content = traced(network, torch.zeros(2, 3, 8, 8), open_axes={0: "n"}, precision="fp32")
    assert "Pad" in kinds(content)
    assert_allclose(run(content, picture), network(picture).detach(), atol=1e-5)


def test_matrices_in_bytes_are_as_near_as_a_step_of_each_output_allows():
    torch.manual_seed(0)
    network = TwoMatrices().eval()
    with torch.no_grad():
        network.first.weight[0] *= 1000  # one large output must not coarsen the others
    content = traced(network, torch.zeros(2, 5, 6), open_axes={0: "n"}, precision="fp32")
    x = torch.randn(3, 5, 6)
    stored = {tensor.name: tensor for tensor in onnx.load_from_string(narrowed(content)).graph.initializer}
    matrices = [tensor for tensor in stored.values() if len(tensor.dims) > 1 and not tensor.name.endswith("_steps")]
    assert {tensor.data_type for tensor in matrices} == {onnx.TensorProto.INT8}
    wanted = run(content, x)
    assert np.abs(run(narrowed(content), x) - wanted).max() < 0.02 * np.abs(wanted).max()
