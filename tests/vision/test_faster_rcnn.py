"""The proposer `faster-rcnn` on a stand-in for torchvision, whose network takes what is bright for a thing."""

import sys
from hashlib import sha256
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from PIL import Image
from safetensors.torch import save_file
from torch import nn

from deepbinaries.errors import DataError
from deepbinaries.vision.proposers import make_proposer
from deepbinaries.vision.proposers.faster_rcnn import FasterRCNN
from deepbinaries.vision.regions import MOST_PROPOSALS

CELL = 8  # pixels of a cell, in what the network sees
ENLARGED = 2  # as torchvision enlarges small pictures


class TinyRCNN(nn.Module):
    """The parts of torchvision's model that its first stage has, under the same names."""

    def __init__(self, kept: int):
        super().__init__()
        self.kept = kept
        self.scorer = nn.Conv2d(1, 1, 1)
        self.rpn = SimpleNamespace(
            head=lambda maps: ([self.scorer(maps[0])], [torch.zeros(1, 4, *maps[0].shape[2:])]),
            anchor_generator=lambda _, maps: [cells(*maps[0].shape[2:])],
            box_coder=SimpleNamespace(decode=lambda deltas, anchors: (anchors[0] + deltas)[:, None]),
            filter_proposals=self.strongest,
        )

    def transform(self, images):
        enlarged = nn.functional.interpolate(images[0][None], scale_factor=ENLARGED)
        return SimpleNamespace(tensors=enlarged, image_sizes=[tuple(enlarged.shape[2:])]), None

    def backbone(self, pixels):
        return {"0": nn.functional.avg_pool2d(pixels.mean(1, keepdim=True), CELL)}

    def strongest(self, boxes, objectness, sizes, n_by_level):
        assert (sizes, n_by_level) == ([(32, 48)], [24])  # of a picture of 24 x 16 pixels
        chosen = objectness.flatten().sigmoid().sort(descending=True)
        return [boxes[0, chosen.indices[: self.kept]]], [chosen.values[: self.kept]]


def cells(rows: int, columns: int) -> torch.Tensor:
    """The box of each cell in pixels, row by row."""
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    corners = torch.stack([x, y, x + 1, y + 1], dim=-1).reshape(-1, 4)
    return corners.float() * CELL


def by_item(objectness, deltas):
    """What torchvision's function of this name gives for one level."""
    return objectness[0].flatten(0)[:, None], deltas[0].permute(0, 2, 3, 1).reshape(-1, 4)


@pytest.fixture(autouse=True)
def torchvision(monkeypatch):
    detection, rpn = ModuleType("torchvision.models.detection"), ModuleType("torchvision.models.detection.rpn")

    def fasterrcnn_resnet50_fpn(*, weights, weights_backbone, rpn_post_nms_top_n_test):
        assert weights is weights_backbone is None  # nothing is fetched
        return TinyRCNN(rpn_post_nms_top_n_test)

    detection.fasterrcnn_resnet50_fpn = fasterrcnn_resnet50_fpn
    rpn.concat_box_prediction_layers = by_item
    for module in (ModuleType("torchvision"), ModuleType("torchvision.models"), detection, rpn):
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.fixture
def weights(tmp_path):
    """Weights by which a cell's objectness is sigmoid(4 brightness - 2)."""
    path = tmp_path / "weights.safetensors"
    save_file({"scorer.weight": torch.full((1, 1, 1, 1), 4.0), "scorer.bias": torch.tensor([-2.0])}, path)
    return path


def test_the_brightest_cell_is_proposed_first_in_shares_of_the_picture(weights):
    pixels = np.zeros((16, 24, 3), np.uint8)
    pixels[8:12, 4:8] = 255  # one cell of the enlarged picture
    proposals = make_proposer("faster-rcnn", weights).propose(Image.fromarray(pixels))
    assert_allclose(proposals.boxes[0], [4 / 24, 8 / 16, 8 / 24, 12 / 16], atol=1e-6)
    others = 1 / (1 + np.exp(2))
    assert_allclose(proposals.confidence, [1 - others, *[others] * 23], atol=1e-6)


def test_as_many_are_asked_for_as_are_looked_at(weights):
    assert FasterRCNN(weights)._model.kept == MOST_PROPOSALS


def test_its_digest_is_that_of_the_weights(weights):
    assert FasterRCNN(weights).digest == sha256(weights.read_bytes()).hexdigest()


def test_weights_of_another_network_are_refused_by_name(weights):
    save_file({"scorer.weight": torch.zeros(2, 1, 1, 1), "scorer.bias": torch.zeros(1)}, weights)
    with pytest.raises(DataError, match="weights.safetensors does not fit Faster R-CNN .*size mismatch"):
        FasterRCNN(weights)


def test_what_is_no_safetensors_file_is_refused_by_name(weights):
    weights.write_bytes(b"no weights")
    with pytest.raises(DataError, match="weights.safetensors is no whole safetensors file"):
        FasterRCNN(weights)
