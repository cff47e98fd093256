"""TVDB whose backbone learns too: pixels and boxes in, 64 values out; targets and loss are TVDB's own.

All draws but dropout's depend on the seed alone, so that every form of the image side learns from the same batches of
the same views, beside sentence networks that start alike.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError
from deepbinaries.hashers.image_networks import IMAGE_NETWORKS
from deepbinaries.hashers.text_networks import TEXT_NETWORKS
from deepbinaries.hashers.training import Towers, TrainingSettings, learning_rate
from deepbinaries.hashers.tvdb import CodeObjective, TVDBSettings
from deepbinaries.vision.backbones.efficientnet_lite0 import WIDTH, EfficientNetLite0
from deepbinaries.vision.backbones.weights import Weights, load_into
from deepbinaries.vision.roi_align import roi_features
from recipes.photo.augmentation import drawn, relit, seen
from recipes.photo.batches import shuffled
from recipes.photo.training import frozen, half, optimiser_of
from recipes.regions.views import moved, positions_of

SIDE = 256  # pixels of the views
BACKBONE_RATE = 3e-4  # its learning rate at the peak; that of everything else is in the settings
FROZEN = 3  # the backbone's first blocks, which stay as published, like the stem; they see the most pixels
AT_ONCE = 512  # pictures that are encoded
SHARE_OF_PEAK = TrainingSettings(schedule="one-cycle", learning_rate=1.0)


@dataclass(frozen=True, eq=False)
class Items:
    """Pictures, boxes and sentences of the same items, on the device that learns."""

    pixels: Tensor  # (n, h, w, 3), bytes
    boxes: Tensor  # (n, k, 4) in shares, the whole picture last; it alone where regions are not read
    tokens: Tensor  # (n, words)

    def __len__(self) -> int:
        return len(self.pixels)


class PictureNetwork(nn.Module):
    """Pixels (n, 3, h, w) from 0 to 255 and boxes (n, k, 4) to values (n, bits)."""

    def __init__(self, settings: TVDBSettings):
        super().__init__()
        self.backbone = EfficientNetLite0()
        self.head = IMAGE_NETWORKS[settings.image](WIDTH, settings)

    def forward(self, pixels: Tensor, boxes: Tensor) -> Tensor:
        maps = self.backbone.features(pixels)
        features = maps.mean((2, 3))[:, None]
        if boxes.shape[1] > 1:
            features = torch.cat([roi_features(maps, boxes[:, :-1]), features], 1)
        values: Tensor = self.head(torch.cat([features, positions_of(boxes)], 2))
        return values


def build(settings: TVDBSettings, n_words: int, weights: Weights, device: torch.device) -> Towers:
    """Both networks, of which only the backbone has learnt anything yet."""
    torch.manual_seed(settings.seed)
    text = TEXT_NETWORKS[settings.text](n_words, settings)  # the first to draw, so that it starts alike in every form
    image = PictureNetwork(settings)
    load_into(image.backbone, weights, leave_out="_fc.")
    image.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]  # unknown to its stubs
    return Towers(image, text.to(device))


def learn(
    towers: Towers, items: Items, labels: Labels, settings: TVDBSettings, *, tell: Callable[[str], None] = print
) -> None:
    """Train both networks in place on the items; `tell` is given a line an epoch."""
    device = items.pixels.device
    objective = CodeObjective(labels, settings, device)
    backbone: Any = towers.image.backbone
    fixed, rates = frozen(backbone, FROZEN), (BACKBONE_RATE, settings.learning_rate)
    optimiser = optimiser_of(towers, backbone, rates=rates, decay=settings.weight_decay)
    order, rng = torch.Generator().manual_seed(settings.seed), torch.Generator(device).manual_seed(settings.seed)
    epochs = [list(shuffled(len(items), settings.batch, order)) for _ in range(settings.epochs)]
    objective.before_training(rows for batches in epochs for rows in batches)
    n_steps, step = sum(map(len, epochs)), 0
    for number, batches in enumerate(epochs, 1):
        towers.train()
        fixed.eval()
        total = torch.zeros((), device=device)
        for rows in torch.split(torch.cat(batches).to(device), settings.batch):
            rate = learning_rate(SHARE_OF_PEAK, step, n_steps)
            for group in optimiser.param_groups:
                group["lr"] = group["peak"] * rate
            loss = loss_of(rows, towers, items, objective, rng)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += loss.detach()
            step += 1
        mean = float(total) / len(batches)
        if not math.isfinite(mean):
            raise DataError(f"the loss of epoch {number} is not finite", next_step="lower the learning rate")
        tell(f"epoch {number}/{settings.epochs} loss {mean:.4f}")


def loss_of(rows: Tensor, towers: Towers, items: Items, objective: CodeObjective, rng: torch.Generator) -> Tensor:
    """TVDB's loss for new views of some items."""
    at = drawn(len(rows), rows.device, rng)
    pixels = relit(seen(items.pixels[rows], at, SIDE), rng).contiguous(memory_format=torch.channels_last)
    with half(rows.device):
        F = towers.image(pixels, moved(items.boxes[rows], at))
        G = towers.text(items.tokens[rows])
    return objective.loss(F.float(), G.float(), rows)


@torch.inference_mode()
def encoded(towers: Towers, items: Items) -> dict[str, NDArray[np.float32]]:
    """The values of the whole pictures and of the sentences, (n, bits), as `image` and `text`."""
    towers.eval()
    images, texts = [], []
    with half(items.pixels.device):
        parts = (torch.split(part, AT_ONCE) for part in (items.pixels, items.boxes, items.tokens))
        for pixels, boxes, tokens in zip(*parts, strict=True):
            images.append(towers.image(pixels.permute(0, 3, 1, 2), boxes).float())
            texts.append(towers.text(tokens).float())
    return {"image": torch.cat(images).cpu().numpy(), "text": torch.cat(texts).cpu().numpy()}
