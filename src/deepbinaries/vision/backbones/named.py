"""Models of timm and torchvision by name, where these are installed: `timm:MODEL`, `torchvision:MODEL`.

Weights are given by path and never fetched. The pixels are prepared as the library records it for the model.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from deepbinaries.errors import Error, UsageError
from deepbinaries.vision.backbones import WeightsCard
from deepbinaries.vision.backbones.torch_backbone import TorchBackbone
from deepbinaries.vision.backbones.weights import Weights, load_into, read_weights

UNSTATED = "as stated by whoever made the file"


def load_timm(model: str, *, weights: str | Path | None = None, device: str = "cpu") -> TorchBackbone:
    """A timm model without its classifier. It has maps if it is a convolutional one."""
    timm, timm_data = _library("timm"), _library("timm.data")
    try:
        network = timm.create_model(model, pretrained=False, num_classes=0)
    except (RuntimeError, ValueError, ModuleNotFoundError) as error:
        raise UsageError(f"timm makes no model {model!r} ({error})", next_step="see timm.list_models()") from error
    recorded = timm_data.resolve_model_data_config(network)
    found = _given(weights, f"timm:{model}")
    load_into(network, found, leave_out=f"{network.pretrained_cfg.get('classifier') or 'classifier'}.")
    prepared = Prepared(network, recorded["mean"], recorded["std"])
    side = int(recorded["input_size"][-1])
    return _behind_the_contract(
        f"timm:{model}", prepared, side, found, device, licence=network.pretrained_cfg.get("license") or UNSTATED
    )


def load_torchvision(model: str, *, weights: str | Path | None = None, device: str = "cpu") -> TorchBackbone:
    """A torchvision model up to the map that it averages; one that averages none is refused."""
    models = _library("torchvision.models")
    try:
        network = models.get_model(model, weights=None)
        recorded = models.get_model_weights(model).DEFAULT.transforms()
    except (ValueError, AttributeError) as error:
        raise UsageError(
            f"torchvision makes no model {model!r} ({error})", next_step="see torchvision.models.list_models()"
        ) from error
    if not hasattr(network, "avgpool") or not hasattr(recorded, "crop_size"):
        raise UsageError(f"torchvision:{model} averages no map", next_step="take a convolutional classifier")
    found = _given(weights, f"torchvision:{model}")
    load_into(network, found)
    prepared = Prepared(UpToTheMap(network), recorded.mean, recorded.std)
    side = int(recorded.crop_size[0])
    return _behind_the_contract(f"torchvision:{model}", prepared, side, found, device, licence=UNSTATED)


class Prepared(nn.Module):
    """A network with `forward_features` that takes pixels from 0 to 255."""

    mean: Tensor
    std: Tensor

    def __init__(self, network: nn.Module, mean: Sequence[float], std: Sequence[float]):
        super().__init__()
        self.network = network
        self.preprocessing = f"RGB, (x / 255 - mean) / std, mean {tuple(mean)}, std {tuple(std)}"
        self.register_buffer("mean", torch.tensor(mean).view(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(3, 1, 1), persistent=False)

    def forward(self, pixels: Tensor) -> Tensor:
        """Vectors (n, d)."""
        vectors: Tensor = self.network(self._prepare(pixels))
        return vectors

    def features(self, pixels: Tensor) -> Tensor:
        """Maps (n, d, h, w), or whatever a network that is not convolutional has in their place."""
        maps: Tensor = self.network.forward_features(self._prepare(pixels))  # type: ignore[operator]
        return maps

    def _prepare(self, pixels: Tensor) -> Tensor:
        return (pixels.float() / 255 - self.mean) / self.std


class UpToTheMap(nn.Module):
    """A torchvision classifier that stops at the map it would average, whatever its layers are called."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network
        network.avgpool = Stop()

    def forward(self, x: Tensor) -> Tensor:
        return self.forward_features(x).mean((2, 3))

    def forward_features(self, x: Tensor) -> Tensor:
        try:
            self.network(x)
        except Reached as reached:
            return reached.map
        raise Error("the network never averages its map", next_step="take another model")


class Stop(nn.Module):
    """Ends the pass through a network; unlike a hook that remembers, it is safe with several threads."""

    def forward(self, x: Tensor) -> Tensor:
        raise Reached(x)


class Reached(Exception):  # noqa: N818 - no error, but the way out of a network
    def __init__(self, x: Tensor):
        super().__init__()
        self.map = x


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        absent = str(missing.name).partition(".")[0]
        raise UsageError(
            f"{absent} is not installed", next_step=f"run pip install {absent}, or take another backbone"
        ) from missing
    except (ImportError, RuntimeError) as error:  # a torchvision made for another torch
        raise UsageError(
            f"{name} cannot be imported ({error})", next_step="install the release that goes with this torch"
        ) from error


def _given(weights: str | Path | None, name: str) -> Weights:
    if weights is None:
        raise UsageError(
            f"{name} comes without weights", next_step="give them as FILE.safetensors or FILE.pth#sha256=DIGEST"
        )
    return read_weights(weights)


def _behind_the_contract(
    name: str, network: Prepared, side: int, weights: Weights, device: str, *, licence: str
) -> TorchBackbone:
    """The backbone, whose width and stride a black picture tells."""
    with torch.inference_mode():
        black = torch.zeros(1, 3, side, side)
        width = network.eval()(black).shape[1]
        shape = network.features(black).shape
    has_maps = len(shape) == 4 and shape[1] == width
    return TorchBackbone(
        name,
        network,
        to_maps=network.features if has_maps else None,
        width=width,
        stride=side // shape[2] if has_maps else 0,
        crop_side=side,
        card=WeightsCard(weights.sha256, licence, weights.source, network.preprocessing),
        device=device,
    )
