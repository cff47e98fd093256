"""AlexNet up to fc7, the paper's backbone: 4096 features after the ReLU, without fc8.

Source: A. Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014. Modules carry the names
and shapes of torchvision's `alexnet`, so that its published weights load by name. No weights come with this package;
`deepbinaries download alexnet` fetches them.
"""

from pathlib import Path

import torch
from torch import Tensor, nn

from deepbinaries.errors import UsageError
from deepbinaries.vision.backbones import WeightsCard
from deepbinaries.vision.backbones.published import PUBLISHED, kept_at
from deepbinaries.vision.backbones.torch_backbone import TorchBackbone
from deepbinaries.vision.backbones.weights import Weights, load_into, read_weights

WIDTH = 4096
CROP_SIDE = 224
MEAN = (0.485, 0.456, 0.406)  # of ImageNet's training pictures, from 0 to 1
STD = (0.229, 0.224, 0.225)
UNSTATED = "as stated by whoever made the file"


def load(*, weights: str | Path | None = None, device: str = "cpu") -> TorchBackbone:
    """The backbone with the weights that `download` has kept, or with those of a file. It knows crops only."""
    network = AlexNet()
    found = _downloaded() if weights is None else read_weights(weights)
    load_into(network, found, leave_out="classifier.6.")
    card = WeightsCard(
        sha256=found.sha256,
        licence=PUBLISHED["alexnet"].licence if found.sha256 == PUBLISHED["alexnet"].sha256 else UNSTATED,
        source=found.source,
        preprocessing=f"RGB, (x / 255 - mean) / std, mean {MEAN}, std {STD}",
    )
    return TorchBackbone(
        "alexnet", network, to_maps=None, width=WIDTH, stride=0, crop_side=CROP_SIDE, card=card, device=device
    )


def _downloaded() -> Weights:
    path = kept_at("alexnet")
    if not path.exists():
        raise UsageError(
            "alexnet comes without weights",
            next_step="run `deepbinaries download alexnet` (244 MB), or give FILE.pth#sha256=DIGEST",
        )
    return read_weights(f"{path}#sha256={PUBLISHED['alexnet'].sha256}")


class AlexNet(nn.Module):
    """The network without fc8, starting from random weights."""

    mean: Tensor
    std: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(6)
        self.classifier = nn.Sequential(
            nn.Dropout(),
            nn.Linear(256 * 6 * 6, WIDTH),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(WIDTH, WIDTH),
            nn.ReLU(),
        )
        self.register_buffer("mean", torch.tensor(MEAN).view(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(STD).view(3, 1, 1), persistent=False)

    def forward(self, pixels: Tensor) -> Tensor:
        """fc7 after its ReLU, (n, 4096), of pixels (n, 3, h, w) from 0 to 255, bytes or floats."""
        x = (pixels.float() / 255 - self.mean) / self.std
        vectors: Tensor = self.classifier(self.avgpool(self.features(x)).flatten(1))
        return vectors
