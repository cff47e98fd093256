"""DCMH: Deep Cross-Modal Hashing.

Paper: Jiang, Li, "Deep Cross-Modal Hashing", CVPR 2017. Over all n training pairs, with outputs F of pictures and G of
texts, codes B that both share, and Theta = F G' / 2,

    J = sum softplus(Theta) - S Theta  +  gamma (|B - F|² + |B - G|²)  +  eta (|1'F|² + |1'G|²)

The first term is the likelihood of S under a logistic model, the second makes the outputs binary, the third balances
every bit over the training set. Each batch is compared with all n items through the outputs that were last seen of
them; B = sign(F + G) after every epoch.

Assumes: pairs of one vector a picture and a sentence (or a vector) with labels; two items are similar when they share
one.

Differs from the paper in: networks are the default towers on given features, not a fine-tuned CNN-F and word counts.
Both networks take a step on the same batch, where the release trains one for an epoch and then the other; the two
losses share no parameter. An epoch visits every item once, where the release draws batches anew. The losses are as
published, with a softplus that cannot overflow: high confidence. Three choices of `dcmh` are ours, and the published
ones are those of `dcmh-paper`:

- Adam takes the steps. Plain SGD, at its published length, found hardly more than chance in a trial on 1,000 pairs.
- eta = 0.001, not 1, with which outputs stayed near zero, where the first term has no slope. That the sums are mostly
  of outputs seen many steps ago is a part of it: with fresh ones eta = 1 learns, but less than eta = 0.001 without.
- `balance_pairs` gives similar and dissimilar pairs equal mass, for data in which few pairs are similar.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from deepbinaries.datasets import Labels
from deepbinaries.errors import unknown_name
from deepbinaries.features.inputs import Pairs
from deepbinaries.hashers.code_learning import sign
from deepbinaries.hashers.deep import DeepHasher, DeepSettings, Inputs
from deepbinaries.hashers.default_towers import image_tower, text_tower
from deepbinaries.hashers.epoch_figures import EpochFigures
from deepbinaries.hashers.settings import check_not_negative
from deepbinaries.hashers.similarity import by_label_set, similarity
from deepbinaries.hashers.training import Towers

OPTIMISERS = ("adam", "sgd")
STARTS = ("normal", "zero")


@dataclass(frozen=True)
class DCMHSettings(DeepSettings):
    """Everything that decides what DCMH learns."""

    epochs: int = 100
    gamma: float = 1.0  # weight of |B - F|² and |B - G|²
    eta: float = 1e-3  # weight of |1'F|² and |1'G|²
    balance_pairs: bool = True  # whether similar and dissimilar pairs weigh the same, however many there are
    start: str = "normal"  # of F and G, before anything was seen: "normal" or "zero", as in the two releases
    optimiser: str = "adam"  # "sgd": plain, without momentum

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative("gamma", self.gamma)
        check_not_negative("eta", self.eta)
        for name, known in {"start": STARTS, "optimiser": OPTIMISERS}.items():
            if getattr(self, name) not in known:
                raise unknown_name(f"choice of {name}", str(getattr(self, name)), known)


PRESETS = {
    "dcmh": DCMHSettings(),
    "dcmh-paper": DCMHSettings(
        eta=1.0, balance_pairs=False, optimiser="sgd", learning_rate=10**-1.5, schedule="log", epochs=500
    ),
}


class BufferObjective:
    """J for the rows of a batch against all n items, over n and the rows; F, G, B (n, bits) are what was last seen."""

    random_batches = True

    def __init__(self, labels: Labels, settings: DCMHSettings, device: torch.device):
        self.settings = settings
        self.labels = torch.from_numpy(labels.matrix()).to(device)
        self.density = by_label_set(self.labels).mean()
        shape = (2, len(labels), settings.bits)
        seen = np.zeros(shape) if settings.start == "zero" else np.random.default_rng(settings.seed).normal(size=shape)
        self.F, self.G = torch.from_numpy(seen.astype(np.float32)).to(device)
        self.B = sign(self.F + self.G)
        self.figures = EpochFigures(len(labels), settings.bits, device)

    def before_training(self, batches: Iterator[Tensor]) -> None:
        """Nothing is prepared ahead."""

    def loss(self, F: Tensor, G: Tensor, rows: Tensor) -> Tensor:
        self.F[rows], self.G[rows] = F.detach(), G.detach()
        S, B = similarity(self.labels[rows], self.labels), self.B[rows]
        parts = self.parts(F, seen=self.F, others=self.G, S=S, B=B)
        parts = parts + self.parts(G, seen=self.G, others=self.F, S=S, B=B)
        self.figures.note(F, G, rows, pairs=parts[0], quantised=parts[1], balanced=parts[2])
        return parts.sum()

    def parts(self, outputs: Tensor, *, seen: Tensor, others: Tensor, S: Tensor, B: Tensor) -> Tensor:
        """The three terms of one side, (3,): `outputs` learn, all else is constant."""
        theta = outputs @ others.T / 2
        pairs = softplus(theta) - S * theta
        if self.settings.balance_pairs:
            pairs = pairs * torch.where(S > 0, 0.5 / self.density, 0.5 / (1 - self.density).clamp(min=1e-6))
        total = seen.sum(0) - outputs.detach().sum(0) + outputs.sum(0)  # `seen` holds the batch's own outputs already
        quantised, balanced = (B - outputs).square().sum(), total.square().sum()
        weighted = torch.stack([pairs.sum(), self.settings.gamma * quantised, self.settings.eta * balanced])
        return weighted / S.numel()

    def after_epoch(self, epoch: int, outputs: Callable[[], tuple[Tensor, Tensor]]) -> dict[str, Any]:  # noqa: ARG002
        self.B = sign(self.F + self.G)
        return self.figures.of_epoch()

    def state(self) -> dict[str, Tensor]:
        return {"F": self.F, "G": self.G, "B": self.B}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.F, self.G, self.B = (state[name].to(self.B.device) for name in "FGB")


class DCMH(DeepHasher):
    """The method: sgn f(picture) and sgn g(text)."""

    method = "dcmh"
    kind = DCMHSettings
    presets = PRESETS
    to_the_letter = ("dcmh-paper",)

    def build(self, inputs: Inputs) -> Towers:
        return Towers(image_tower(inputs, self.settings), text_tower(inputs, self.settings))

    def objective(self, pairs: Pairs, towers: Towers, device: torch.device) -> BufferObjective:  # noqa: ARG002
        return BufferObjective(pairs.labels, self.settings, device)

    def optimiser(self, towers: Towers, device: torch.device) -> torch.optim.Optimizer:
        if self.settings.optimiser == "adam":
            return super().optimiser(towers, device)
        settings = self.settings
        return torch.optim.SGD(towers.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
