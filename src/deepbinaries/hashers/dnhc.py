"""DNH-C: Deep Neural-network Hashing across modalities.

Paper: Lai, Pan, Liu, Yan, "Simultaneous Feature Learning and Hash Coding with Deep Neural Networks", CVPR 2015, which
hashes pictures alone. Divide-and-encode: a layer of 50 units a bit is cut into slices, each slice gives one bit through
a sigmoid and a threshold that snaps what is nearly 0 or 1; what is wanted of the bits is said by triplets of an anchor,
an item that is similar to it and one that is not.

Assumes: pairs of pictures and texts with labels; two items are similar when they share one.

Differs from the paper in: everything that crosses modalities, which comes from comparisons in later papers that do not
describe it (confidence: divide-and-encode and the triplet loss high, the cross-modal form low). Ours has a network for
each side, pictures as anchors of texts and texts as anchors of pictures, and triplets from within a batch. The paper's
epsilon is not known and its threshold passes no gradient to what it has snapped, so it is off (`epsilon=0.5`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepbinaries.errors import UsageError, unknown_name
from deepbinaries.features.inputs import Pairs
from deepbinaries.hashers.deep import DeepHasher, DeepSettings, Inputs
from deepbinaries.hashers.epoch_figures import EpochFigures
from deepbinaries.hashers.image_networks import WholePicture
from deepbinaries.hashers.settings import check_not_negative
from deepbinaries.hashers.similarity import similarity
from deepbinaries.hashers.text_networks import TextCNN
from deepbinaries.hashers.training import Towers

MININGS = ("random", "hard")


@dataclass(frozen=True)
class DNHCSettings(DeepSettings):
    """Everything that decides what DNH-C learns; `fc` and `activation` have no part in it."""

    epochs: int = 30
    slice: int = 50  # units a bit
    epsilon: float = 0.5  # values farther than this from 0.5 are snapped to 0 or 1 while training; 0.5 snaps none
    margin: float | None = None  # between squared distances; None: 1 up to 64 bits, bits / 64 beyond
    mining: str = "random"  # negatives of each positive: "random" ones, or the "hard"est of the batch
    negatives: int = 4  # random ones for each positive

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mining not in MININGS:
            raise unknown_name("mining of DNH-C", self.mining, MININGS)
        if self.slice < 1 or self.negatives < 1 or not 0 < self.epsilon <= 0.5:
            raise UsageError(
                f"slice={self.slice}, negatives={self.negatives}, epsilon={self.epsilon} teach nothing",
                next_step="give at least 1 unit and 1 negative, and an epsilon above 0, at most 0.5",
            )
        if self.margin is not None:
            check_not_negative("margin", self.margin)


PRESETS = {"dnh-c": DNHCSettings()}


class DivideAndEncode(nn.Module):
    """Features to `slice` units a bit, ReLU, each slice to one value between 0 and 1, of which 0.5 is taken off."""

    def __init__(self, inputs: int, net: DNHCSettings, *, input_dropout: float = 0.0):
        super().__init__()
        self.epsilon = net.epsilon
        self.before = nn.Dropout(input_dropout)
        self.units = nn.Linear(inputs, net.bits * net.slice)
        self.dropout = nn.Dropout(net.dropout)
        bound = net.slice**-0.5  # as a linear layer of so many inputs starts
        self.weights = nn.Parameter(torch.empty(net.bits, net.slice).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(net.bits).uniform_(-bound, bound))

    def forward(self, features: Tensor) -> Tensor:
        units = self.dropout(self.units(self.before(features)).relu())
        slices = units.unflatten(1, self.weights.shape)
        bits = (torch.einsum("nms,ms->nm", slices, self.weights).float() + self.bias).sigmoid()
        # Snapping leaves every sign as it is, so only training does it.
        return (snap(bits, self.epsilon) if self.training else bits) - 0.5


def snap(bits: Tensor, epsilon: float) -> Tensor:
    """The piecewise threshold: 0 below 0.5 - epsilon, 1 above 0.5 + epsilon, where it has no gradient.

    >>> snap(torch.tensor([0.1, 0.45, 0.55, 0.9]), 0.2)
    tensor([0.0000, 0.4500, 0.5500, 1.0000])
    """
    return torch.where((bits - 0.5).abs() > epsilon, bits.detach().round(), bits)


class TripletRanking:
    """max(0, margin - |F_i - G_k|² + |F_i - G_j|²) where j is similar to i and k is not; then G_i as the anchor."""

    random_batches = True

    def __init__(self, labels: Tensor, settings: DNHCSettings):
        self.labels = labels
        self.settings = settings
        self.margin = max(1.0, settings.bits / 64) if settings.margin is None else settings.margin
        self.figures = EpochFigures(len(labels), settings.bits, labels.device)

    def before_training(self, batches: Iterator[Tensor]) -> None:
        """Nothing is prepared."""

    def loss(self, F: Tensor, G: Tensor, rows: Tensor) -> Tensor:
        labels = self.labels[rows]
        S, D = similarity(labels, labels), squared_distances(F, G)
        images, texts = self.ranking(D, S), self.ranking(D.T, S)
        self.figures.note(F, G, rows, images=images, texts=texts)
        return images + texts

    def ranking(self, D: Tensor, S: Tensor) -> Tensor:
        """The mean loss of the triplets whose anchors are the rows of D; anchors that have none are left out."""
        if self.settings.mining == "hard":
            nearest = D.masked_fill(S > 0, torch.inf).amin(1, keepdim=True)
            far = nearest[:, None].expand(-1, len(S), -1)
        else:
            far = D.gather(1, self.drawn(S).flatten(1)).view(*S.shape, -1)
        counts = (S > 0) & (S == 0).any(1, keepdim=True)
        # Where there is no negative, `far` is that of a positive, or infinite: neither loss nor gradient comes of it.
        losses = (self.margin - far + D[:, :, None]).relu().mean(2).where(counts, 0.0)
        return losses.sum() / counts.sum().clamp(min=1)

    def drawn(self, S: Tensor) -> Tensor:
        """Columns k with S_ik = 0 for every (i, j), (n, n, negatives); any column where a row has none."""
        n_negatives = (S == 0).sum(1)[:, None, None]
        places = torch.rand(*S.shape, self.settings.negatives, device=S.device) * n_negatives
        # Rounding up to the number itself would be one too far; a row of positives alone has no place at all.
        places = torch.minimum(places.long(), n_negatives - 1).clamp(min=0)
        negatives_first = S.argsort(dim=1, stable=True)
        return negatives_first.gather(1, places.flatten(1)).view_as(places)

    def after_epoch(self, epoch: int, outputs: Callable[[], tuple[Tensor, Tensor]]) -> dict[str, Any]:  # noqa: ARG002
        return self.figures.of_epoch()

    def state(self) -> dict[str, Tensor]:
        return {}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Nothing is kept but the networks."""


def squared_distances(F: Tensor, G: Tensor) -> Tensor:
    """|F_i - G_j|², (n, m).

    >>> squared_distances(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[25.,  1.]])
    """
    return F.square().sum(1)[:, None] + G.square().sum(1) - 2 * F @ G.T


class DNHC(DeepHasher):
    """The method; `DNHC.preset("dnh-c", bits=32)` is it with 32 bits."""

    method = "dnh-c"
    kind = DNHCSettings
    presets = PRESETS

    def build(self, inputs: Inputs) -> Towers:
        settings: DNHCSettings = self.settings
        image = WholePicture(inputs.width, settings)
        image.add_module("head", DivideAndEncode(inputs.width, settings, input_dropout=settings.input_dropout))
        if inputs.text_width:
            return Towers(image, DivideAndEncode(inputs.text_width, settings))
        text = TextCNN(inputs.n_words, settings)
        text.add_module("head", DivideAndEncode(settings.maps * len(settings.widths), settings))
        return Towers(image, text)

    def objective(self, pairs: Pairs, towers: Towers, device: torch.device) -> TripletRanking:  # noqa: ARG002
        return TripletRanking(torch.from_numpy(pairs.labels.matrix()).to(device), self.settings)
