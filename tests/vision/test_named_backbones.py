"""Models of other libraries by name, tested with stand-ins of two layers: neither library is needed."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from safetensors.torch import save_file
from torch import nn

from deepbinaries.errors import Error, UsageError
from deepbinaries.vision.backbones import make_backbone

PIXELS = np.zeros((1, 8, 8, 3), np.uint8)
PIXELS[0, :2, :2] = 255


class TimmModel(nn.Module):
    """Means of 2 x 2 pixels; a timm model has its classifier only when asked."""

    def __init__(self, classes: int):
        super().__init__()
        self.pretrained_cfg = {"classifier": "head", "license": "mit"}
        self.conv = nn.Conv2d(3, 5, 2, stride=2)
        self.head = nn.Linear(5, classes) if classes else nn.Identity()

    def forward_features(self, x):
        return self.conv(x)

    def forward(self, x):
        return self.head(self.forward_features(x).mean((2, 3)))


class TokenModel(TimmModel):
    """One without maps: its features are a row of tokens."""

    def forward_features(self, x):
        return self.conv(x).flatten(2).transpose(1, 2)

    def forward(self, x):
        return self.forward_features(x).mean(1)


class TorchvisionModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 2, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(5, 10)

    def forward(self, x):
        return self.fc(self.avgpool(self.conv(x)).flatten(1))


class Unpooled(TorchvisionModel):
    """One that has what it would need to average a map, but never does."""

    def forward(self, x):
        return self.conv(x)


@pytest.fixture
def timm(monkeypatch):
    def create_model(name, *, pretrained, num_classes):
        assert not pretrained  # nothing is fetched
        kinds = {"tiny": TimmModel, "tokens": TokenModel}
        if name not in kinds:
            raise RuntimeError(f"Unknown model ({name})")
        return kinds[name](num_classes)

    package, data = ModuleType("timm"), ModuleType("timm.data")
    package.create_model = create_model
    data.resolve_model_data_config = lambda _: {"input_size": (3, 8, 8), "mean": (0.5,) * 3, "std": (0.25,) * 3}
    monkeypatch.setitem(sys.modules, "timm", package)
    monkeypatch.setitem(sys.modules, "timm.data", data)


@pytest.fixture
def torchvision(monkeypatch):
    recorded = SimpleNamespace(crop_size=[8], mean=[0.0] * 3, std=[1.0] * 3)
    models = ModuleType("torchvision.models")
    kinds = {"tiny": TorchvisionModel, "linear": lambda: nn.Linear(1, 1), "unpooled": Unpooled}

    def get_model(name, weights):
        assert weights is None  # nothing is fetched
        if name not in kinds:
            raise ValueError(f"Unknown model {name}")
        return kinds[name]()

    models.get_model = get_model
    models.get_model_weights = lambda _: SimpleNamespace(DEFAULT=SimpleNamespace(transforms=lambda: recorded))
    monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.models", models)


@pytest.fixture
def saved(tmp_path):
    """Writes the weights of a network that ends with a classifier."""

    def save(network):
        save_file(network.state_dict(), tmp_path / "weights.safetensors")
        return tmp_path / "weights.safetensors"

    return save


@pytest.mark.usefixtures("timm")
def test_a_timm_model_gives_maps_prepared_as_timm_records(saved):
    network = TimmModel(classes=7)
    backbone = make_backbone("timm:tiny", weights=saved(network))
    with torch.inference_mode():
        expected = network.conv((torch.from_numpy(PIXELS).permute(0, 3, 1, 2) / 255 - 0.5) / 0.25)
    assert (backbone.width, backbone.stride, backbone.crop_side) == (5, 2, 8)
    assert_allclose(backbone.maps(PIXELS), expected, atol=1e-6)
    assert_allclose(backbone.vectors(PIXELS), expected.mean((2, 3)), atol=1e-6)
    assert (backbone.card.licence, backbone.card.source) == ("mit", "weights.safetensors")


@pytest.mark.usefixtures("timm")
def test_a_model_of_tokens_has_vectors_only(saved):
    backbone = make_backbone("timm:tokens", weights=saved(TokenModel(classes=7)))
    assert backbone.stride == 0
    assert backbone.vectors(PIXELS).shape == (1, 5)


@pytest.mark.usefixtures("timm")
def test_a_model_that_timm_does_not_know_is_refused():
    with pytest.raises(UsageError, match="timm makes no model 'resnet5000'"):
        make_backbone("timm:resnet5000")


@pytest.mark.usefixtures("torchvision")
def test_a_torchvision_model_stops_at_the_map_it_would_average(saved):
    network = TorchvisionModel()
    backbone = make_backbone("torchvision:tiny", weights=saved(network))
    with torch.inference_mode():
        expected = network.conv(torch.from_numpy(PIXELS).permute(0, 3, 1, 2) / 255)
    assert_allclose(backbone.maps(PIXELS), expected, atol=1e-6)
    assert_allclose(backbone.vectors(PIXELS), expected.mean((2, 3)), atol=1e-6)


@pytest.mark.usefixtures("torchvision")
def test_a_torchvision_model_without_a_map_is_refused():
    with pytest.raises(UsageError, match="torchvision:linear averages no map"):
        make_backbone("torchvision:linear")


@pytest.mark.usefixtures("torchvision")
def test_a_torchvision_model_that_never_averages_its_map_is_refused(saved):
    with pytest.raises(Error, match="never averages its map"):
        make_backbone("torchvision:unpooled", weights=saved(Unpooled()))


@pytest.mark.usefixtures("torchvision")
def test_a_model_that_torchvision_does_not_know_is_refused():
    with pytest.raises(UsageError, match="torchvision makes no model 'resnet5000'"):
        make_backbone("torchvision:resnet5000")


@pytest.mark.usefixtures("timm", "torchvision")
@pytest.mark.parametrize("name", ["timm:tiny", "torchvision:tiny"])
def test_weights_are_never_fetched_but_asked_for(name):
    with pytest.raises(UsageError, match=f"{name} comes without weights; give them as FILE.safetensors"):
        make_backbone(name)


@pytest.mark.parametrize("library", ["timm", "torchvision"])
def test_a_library_that_is_not_installed_is_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError, match=f"{library} is not installed; run pip install {library}"):
        make_backbone(f"{library}:resnet50")


def test_a_library_made_for_another_torch_is_refused_in_one_line(tmp_path, monkeypatch):
    (tmp_path / "timm.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="timm cannot be imported .*nms does not exist"):
        make_backbone("timm:resnet50")


@pytest.mark.parametrize("name", ["timm", "torchvision:", "onnx"])
def test_a_family_without_a_member_is_refused(name):
    with pytest.raises(UsageError, match="does not say which one; write"):
        make_backbone(name)


@pytest.mark.parametrize("device", ["gpu", "cuda"])
@pytest.mark.usefixtures("timm")
def test_a_device_that_is_not_there_is_refused(saved, device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError, match="no device is called 'gpu'|torch finds no GPU here"):
        make_backbone("timm:tiny", weights=saved(TimmModel(classes=7)), device=device)
