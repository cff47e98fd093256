"""AlexNet with random weights: names and shapes, the layout of its features, crops only."""

import numpy as np
import pytest
import torch
from drawn import disc
from numpy.testing import assert_allclose
from PIL import Image
from safetensors.torch import save_file

from deepbinaries.errors import UsageError
from deepbinaries.vision.backbones import make_backbone
from deepbinaries.vision.backbones.alexnet import AlexNet
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings

PUBLISHED = {
    "features.0.weight": (64, 3, 11, 11),
    "features.0.bias": (64,),
    "features.3.weight": (192, 64, 5, 5),
    "features.3.bias": (192,),
    "features.6.weight": (384, 192, 3, 3),
    "features.6.bias": (384,),
    "features.8.weight": (256, 384, 3, 3),
    "features.8.bias": (256,),
    "features.10.weight": (256, 256, 3, 3),
    "features.10.bias": (256,),
    "classifier.1.weight": (4096, 9216),
    "classifier.1.bias": (4096,),
    "classifier.4.weight": (4096, 4096),
    "classifier.4.bias": (4096,),
}


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Random weights as torchvision would save them, fc8 included."""
    path = tmp_path_factory.mktemp("alexnet") / "alexnet.safetensors"
    torch.manual_seed(0)
    fc8 = {"classifier.6.weight": torch.zeros(1000, 4096), "classifier.6.bias": torch.zeros(1000)}
    save_file({**AlexNet().state_dict(), **fc8}, path)
    return path


@pytest.fixture(scope="module")
def alexnet(weights):
    return make_backbone("alexnet", weights=weights)


def test_names_and_shapes_are_torchvisions():
    with torch.device("meta"):
        state = AlexNet().state_dict()
    assert {name: tuple(tensor.shape) for name, tensor in state.items()} == PUBLISHED


def test_a_crop_has_4096_features_none_of_them_negative(alexnet):
    vectors = alexnet.vectors(disc()[None])
    assert vectors.shape == (1, 4096)
    assert vectors.min() == 0 < vectors.max()


def test_features_are_fc7_after_its_relu(alexnet, weights):
    """The layers one after the other, written out with torch's own functions."""
    from safetensors.torch import load_file
    from torch.nn import functional as f

    w = load_file(weights)
    x = torch.from_numpy(disc()).permute(2, 0, 1)[None].float() / 255
    x = (x - torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)) / torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
    for layer, stride, padding in ((0, 4, 2), (3, 1, 2), (6, 1, 1), (8, 1, 1), (10, 1, 1)):
        x = f.relu(f.conv2d(x, w[f"features.{layer}.weight"], w[f"features.{layer}.bias"], stride, padding))
        if layer in (0, 3, 10):
            x = f.max_pool2d(x, 3, 2)
    x = x.flatten(1)
    for layer in (1, 4):
        x = f.relu(f.linear(x, w[f"classifier.{layer}.weight"], w[f"classifier.{layer}.bias"]))
    assert_allclose(alexnet.vectors(disc()[None]), x, atol=1e-5)


def test_regions_have_4100_numbers_the_last_four_of_them_their_positions(weights):
    encoder = RegionEncoder(VisionSettings("alexnet", "crop", "grid", keep=2), backbone_weights=weights)
    features = encoder.encode([Image.fromarray(disc())])
    assert features.shape == (1, 3, 4100)
    assert features[0, -1, 4096:].tolist() == [1, 1, 0.5, 0.5]  # the whole picture: height, width, its centre
    assert (features[0, :-1, 4096:4098] < 1).any(axis=1).all()
    assert_allclose(features[0, -1, :4096], encoder.backbone.vectors(disc()[None])[0], atol=1e-3)


def test_dropout_is_off(alexnet):
    assert np.array_equal(alexnet.vectors(disc()[None]), alexnet.vectors(disc()[None]))


def test_it_has_no_maps(alexnet):
    assert alexnet.stride == 0
    with pytest.raises(UsageError, match="alexnet has no maps, only vectors; use mode=crop"):
        alexnet.maps(disc()[None])


def test_without_weights_it_says_which_to_give(monkeypatch, tmp_path):
    monkeypatch.setenv("DEEPBINARIES_CACHE", str(tmp_path))
    with pytest.raises(UsageError, match="alexnet comes without weights; run `deepbinaries download alexnet`"):
        make_backbone("alexnet")
