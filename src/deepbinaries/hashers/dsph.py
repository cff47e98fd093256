"""DSPH: Deep Semantic-aware Proxy Hashing, the modern peer.

Paper: Huo, Qin, Dai, Wang, Zhang, Huang, Wang, "Deep Semantic-Aware Proxy Hashing for Multi-Label Cross-Modal
Retrieval", IEEE Transactions on Circuits and Systems for Video Technology 34 (1), 2024; its loss carries the one of Xu
et al., "HyP² Loss", ACM Multimedia 2022, over to two modalities. Every label c has a proxy p_c, learnt with the
networks and shared by both. With outputs x of either modality, and means over what stands beneath them,

    J = mean_{i has c} 1 - cos(x_i, p_c)  +  mean_{i lacks c} max(0, cos(x_i, p_c) - zeta)       for pictures, for texts
        + alpha mean_{i, j share no label} max(0, cos(x_i, x_j) - zeta)                within each of them, and across

Items come to lie among the proxies of all their labels; the last term keeps those apart that lie between the same
proxies and have none in common. zeta is the cosine that as many binary codes as there are labels can keep.

Assumes: pairs of one vector a picture and a sentence (or a vector) with labels.

Differs from the paper in: networks are the default towers on given features, with tanh, not the transformers of CLIP,
which have seen millions of pairs, so that the paper's figures do not carry over. Objective, alpha, batch, epochs and
the course of the learning rate are the release's: high confidence. Its last term looks at items with several labels
alone; `dsph-all` looks at all, which is better where most items have one. Its zeta comes from a table of the
best known codes; ours from the bound of Griesmer, which agrees with such tables but for few short codes: medium. One
Adam moves networks and proxies; the release has SGD for the latter. The release keeps the epoch that is best on the
test queries; here nothing is chosen by them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from deepbinaries.errors import UsageError, unknown_name
from deepbinaries.features.inputs import Pairs
from deepbinaries.hashers.deep import DeepHasher, DeepSettings, Inputs
from deepbinaries.hashers.default_towers import image_tower, text_tower
from deepbinaries.hashers.epoch_figures import EpochFigures
from deepbinaries.hashers.settings import check_not_negative
from deepbinaries.hashers.training import Towers

IRRELEVANT = ("several", "all")


@dataclass(frozen=True)
class DSPHSettings(DeepSettings):
    """Everything that decides what DSPH learns."""

    epochs: int = 100
    schedule: str = "one-cycle"
    dropout: float = 0.2
    input_dropout: float = 0.2
    alpha: float = 0.8  # weight of pairs that share no label
    irrelevant: str = "several"  # whose pairs these are: items with "several" labels, or "all"
    zeta: float | None = None  # cosine up to which nothing is pushed away; None finds it from labels and bits

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative("alpha", self.alpha)
        if self.irrelevant not in IRRELEVANT:
            raise unknown_name("choice of irrelevant", self.irrelevant, IRRELEVANT)
        if self.zeta is not None and not -1 <= self.zeta < 1:
            raise UsageError(f"zeta={self.zeta} is no cosine to keep", next_step="give one from -1 to below 1, or None")


PRESETS = {"dsph": DSPHSettings(), "dsph-all": DSPHSettings(irrelevant="all")}


def keepable_cosine(n_labels: int, bits: int) -> float:
    """The cosine that a binary code for every label can keep to every other, by the bound of Griesmer.

    k = ceil(log2 n_labels) bits of information at distance d take a length of at least sum_{i < k} ceil(d / 2^i).

    >>> keepable_cosine(22, 64), keepable_cosine(80, 16)
    (0.0, 0.25)
    """
    k = max(1, (n_labels - 1).bit_length())
    distances = (d for d in range(bits // 2, 0, -1) if sum(-(-d // 2**i) for i in range(k)) <= bits)
    return 1 - 2 * next(distances, 0) / bits


class Proxies(nn.Module):
    """A point for every label, (labels, bits); needed while training only."""

    def __init__(self, n_labels: int, bits: int):
        super().__init__()
        self.points = nn.Parameter(torch.randn(n_labels, bits) * (2 / n_labels) ** 0.5)


class ProxyObjective:
    """J for the rows of a batch; labels that no training item carries have no proxy."""

    random_batches = True

    def __init__(self, labels: Tensor, proxies: Proxies, settings: DSPHSettings):
        self.labels = labels.float()
        self.proxies = proxies
        self.settings = settings
        self.zeta = keepable_cosine(labels.shape[1], settings.bits) if settings.zeta is None else settings.zeta
        self.figures = EpochFigures(len(labels), settings.bits, labels.device)

    def before_training(self, batches: Iterator[Tensor]) -> None:
        """Nothing is prepared ahead."""

    def loss(self, F: Tensor, G: Tensor, rows: Tensor) -> Tensor:
        L, (X, Y, P) = self.labels[rows], (normalize(values) for values in (F, G, self.proxies.points))
        to_proxies = torch.stack([X @ P.T, Y @ P.T])
        apart = (L @ L.T == 0).float()
        if self.settings.irrelevant == "several":
            several = (L.sum(1) > 1).float()
            apart = apart * several[:, None] * several
        parts = torch.stack(
            [
                _sum_of_means(1 - to_proxies, L),
                _sum_of_means((to_proxies - self.zeta).relu(), 1 - L),
                self.settings.alpha
                * _sum_of_means((torch.stack([X @ X.T, Y @ Y.T, X @ Y.T]) - self.zeta).relu(), apart),
            ]
        )
        self.figures.note(F, G, rows, proxies=parts[0], other_proxies=parts[1], irrelevant=parts[2])
        return parts.sum()

    def after_epoch(self, epoch: int, outputs: Callable[[], tuple[Tensor, Tensor]]) -> dict[str, Any]:  # noqa: ARG002
        return self.figures.of_epoch()

    def state(self) -> dict[str, Tensor]:
        return {}

    def restore(self, state: dict[str, Tensor]) -> None:
        """The proxies are a network, and kept as one."""


def _sum_of_means(values: Tensor, chosen: Tensor) -> Tensor:
    """The means over the chosen entries of every matrix in (m, a, b), summed; 0 where none is chosen."""
    return (values * chosen).sum() / chosen.sum().clamp(min=1)


class DSPH(DeepHasher):
    """The method: sgn f(picture) and sgn g(text)."""

    method = "dsph"
    kind = DSPHSettings
    presets = PRESETS

    def build(self, inputs: Inputs) -> Towers:
        towers = (tower(inputs, self.settings) for tower in (image_tower, text_tower))
        return Towers(*(nn.Sequential(tower, nn.Tanh()) for tower in towers))

    def objective(self, pairs: Pairs, towers: Towers, device: torch.device) -> ProxyObjective:
        labels = torch.from_numpy(pairs.labels.matrix()[:, pairs.labels.counts() > 0]).to(device)
        proxies = Proxies(labels.shape[1], self.settings.bits).to(device)
        towers.helper = proxies
        return ProxyObjective(labels, proxies, self.settings)
