"""CM-NN: the cross-modal neural network, which its authors call MM-NN.

Paper: Masci, Bronstein, Bronstein, Schmidhuber, "Multimodal Similarity-Preserving Hashing", arXiv 2012, TPAMI 2014.
Two coupled siamese networks: similar items shall have near values and dissimilar ones far values, across the two
views and within each of them.

    l(a, c) = 1/2 |a - c|²               similar
    l(a, c) = 1/2 max(0, m - |a - c|)²   dissimilar
    J = L(u, w) + alpha_x L(u, u) + alpha_y L(w, w), where u, w in (-1, 1) are the values of pictures and texts
    L = the mean of l over the similar pairs + its mean over the dissimilar pairs

Assumes: pairs with labels; two items are similar when they share one, and a picture and its own text always are.

Differs from the paper in: networks on hand-made features are the default towers on the features that every method gets
here; all pairs of a batch take the place of drawn pairs. The structure and the hinge are published (high confidence);
the margin, the weights alpha and the training are ours (low). The margin is a quarter of sqrt(2 M), the distance at
which random codes lie: in short trials on validation parts it found more than the whole of it.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepbinaries.datasets import Labels
from deepbinaries.errors import UsageError
from deepbinaries.features.inputs import Pairs
from deepbinaries.hashers.deep import DeepHasher, DeepSettings, Inputs
from deepbinaries.hashers.default_towers import image_tower, text_tower
from deepbinaries.hashers.epoch_figures import EpochFigures
from deepbinaries.hashers.heads import Head
from deepbinaries.hashers.settings import check_not_negative
from deepbinaries.hashers.similarity import similarity
from deepbinaries.hashers.training import Towers

SMALL = 0.01  # spread of the last layer's weights at the start: where tanh is flat, nothing is learnt


@dataclass(frozen=True)
class CMNNSettings(DeepSettings):
    """Everything that decides what CM-NN learns; networks and training have their own lines."""

    epochs: int = 30
    schedule: str = "one-cycle"
    margin: float = 0.25  # m, in units of sqrt(2 M)
    alpha_x: float = 0.5  # weight of pairs of pictures
    alpha_y: float = 0.5  # weight of pairs of texts; both 0 is the purely cross-modal form
    clip: float = 5.0  # longest gradient of a step

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("alpha_x", "alpha_y"):
            check_not_negative(name, getattr(self, name))
        if not 0 < self.margin < math.inf:
            raise UsageError(f"margin={self.margin} pushes nothing apart", next_step="give a positive number")
        if not 0 < self.clip < math.inf:
            raise UsageError(f"clip={self.clip} is no length of a gradient", next_step="give a positive number")


PRESETS = {"cm-nn": CMNNSettings()}


def pair_loss(a: Tensor, c: Tensor, S: Tensor, counted: Tensor, margin: float) -> Tensor:
    """L: the mean of l over the similar pairs that count, plus its mean over the dissimilar ones.

    Rows of a and c are items; S and `counted` are (a, c) of 0 and 1.

    >>> near, far = torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]])
    >>> one = torch.ones(1, 1)
    >>> float(pair_loss(near, far, one, one, margin=6.0)), float(pair_loss(near, far, 0 * one, one, margin=6.0))
    (12.5, 0.5)
    """
    # Distances from differences, not from products: the root's slope makes much of rounding where codes are equal,
    # and cdist gives such pairs no gradient.
    D = torch.cdist(a, c, compute_mode="donot_use_mm_for_euclid_dist")
    similar, dissimilar = S * counted, (1 - S) * counted
    near = (similar * D.square()).sum() / similar.sum().clamp(min=1)
    far = (dissimilar * (margin - D).clamp(min=0).square()).sum() / dissimilar.sum().clamp(min=1)
    return (near + far) / 2


class PairObjective:
    """J over all pairs of a batch."""

    random_batches = True

    def __init__(self, labels: Labels, settings: CMNNSettings, device: torch.device):
        self.settings = settings
        self.margin = settings.margin * math.sqrt(2 * settings.bits)
        self.labels = torch.from_numpy(labels.matrix()).to(device)
        self.figures = EpochFigures(len(labels), settings.bits, device)

    def before_training(self, batches: Iterator[Tensor]) -> None: ...

    def loss(self, F: Tensor, G: Tensor, rows: Tensor) -> Tensor:
        u, w = F.tanh(), G.tanh()  # here and not in the networks, since the signs are the same
        labels = self.labels[rows]
        S = similarity(labels, labels).fill_diagonal_(1)
        everyone = torch.ones_like(S)
        others = everyone.clone().fill_diagonal_(0)  # an item teaches nothing about its distance to itself
        cross = pair_loss(u, w, S, everyone, self.margin)
        images = pair_loss(u, u, S, others, self.margin)
        texts = pair_loss(w, w, S, others, self.margin)
        self.figures.note(F, G, rows, cross=cross, images=images, texts=texts)
        return cross + self.settings.alpha_x * images + self.settings.alpha_y * texts

    def after_epoch(self, epoch: int, outputs: Callable[[], tuple[Tensor, Tensor]]) -> dict[str, Any]:  # noqa: ARG002
        return self.figures.of_epoch()

    def state(self) -> dict[str, Tensor]:
        return {}

    def restore(self, state: dict[str, Tensor]) -> None: ...


class CMNN(DeepHasher):
    """The method; `CMNN.preset("cm-nn", bits=32)`."""

    method = "cm-nn"
    kind = CMNNSettings
    presets = PRESETS

    def build(self, inputs: Inputs) -> Towers:
        towers = Towers(image_tower(inputs, self.settings), text_tower(inputs, self.settings))
        for module in towers.modules():
            if isinstance(module, Head):
                nn.init.normal_(module.last.weight, std=SMALL)
                nn.init.zeros_(module.last.bias)
        return towers

    def objective(self, pairs: Pairs, towers: Towers, device: torch.device) -> PairObjective:  # noqa: ARG002
        return PairObjective(pairs.labels, self.settings, device)

    def optimiser(self, towers: Towers, device: torch.device) -> torch.optim.Optimizer:
        optimiser = super().optimiser(towers, device)

        def clip(*_: Any) -> None:
            nn.utils.clip_grad_norm_(towers.parameters(), self.settings.clip)

        optimiser.register_step_pre_hook(clip)
        return optimiser
