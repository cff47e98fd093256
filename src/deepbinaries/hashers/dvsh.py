"""DVSH: Deep Visual-Semantic Hashing.

Paper: Cao, Long, Wang, Yang, Yu, "Deep Visual-Semantic Hashing for Cross-Modal Retrieval", KDD 2016. A fusion network
sees a picture together with its sentence and gives a joint embedding z; one hashing network for pictures and one for
sentences learn to give z from their own side alone, and only these two are kept.

    fusion: h_t = tanh(linear(LSTM(LSTM(words)_t beside v))), v = linear(picture); z = the mean of h_t over the words
    L_cos = sum_ij max(0, mu_c - s_ij cos(z_i, z_j)), s_ij = 1 where items i and j share a label, else -1
    L_bit = sum_it max(0, mu_b - |h_it|) over all values
    L_img = sum_i |z_i - u_i|², L_txt = sum_i |z_i - w_i|², where u, w are the values of the hashing networks
    J = L_cos + lambda L_bit + beta (L_img + L_txt)

Assumes: pairs of pictures and sentences with labels. A text that is a vector is a sentence of one word.

Differs from the paper in: pictures are the features that every method gets here, not an AlexNet in training. The sums
are means, over pairs (i != j) and over values, so that weights mean the same for every batch and length of code;
similar and dissimilar pairs have equal weight (`balance_pairs`). Known: the parts and that z is the target of both
networks, learnt together (high confidence). Read from descriptions: where tanh and the mean stand, and that L_bit acts
on h_t (medium). Ours: margins, weights, sizes and training (low). `text="cnn"` puts the text-CNN of the other methods
in the place of the sentences' LSTM.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from deepbinaries.errors import unknown_name
from deepbinaries.features.inputs import Pairs
from deepbinaries.hashers.deep import DeepHasher, DeepSettings, Inputs
from deepbinaries.hashers.default_towers import image_tower, text_tower
from deepbinaries.hashers.epoch_figures import EpochFigures
from deepbinaries.hashers.settings import check_not_negative
from deepbinaries.hashers.similarity import similarity
from deepbinaries.hashers.text_networks import PAD
from deepbinaries.hashers.training import Towers, text_inputs

TEXTS = ("lstm", "cnn")


@dataclass(frozen=True)
class DVSHSettings(DeepSettings):
    """Everything that decides what DVSH learns; networks and training have their own lines."""

    epochs: int = 30
    schedule: str = "one-cycle"
    hidden: int = 512  # units of every LSTM, and numbers of v
    text: str = "lstm"  # how the hashing network reads sentences: "lstm" (the paper's), "cnn"
    mu_c: float = 0.2  # margin of the cosines; many labels cannot all be far beyond a right angle from each other
    mu_b: float = 0.5  # margin of the bits
    bit_weight: float = 0.1  # lambda
    beta: float = 1.0  # weight of what the hashing networks miss of z
    balance_pairs: bool = True  # similar and dissimilar pairs weigh the same, however rare they are

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.text not in TEXTS:
            raise unknown_name("choice of text", self.text, TEXTS)
        for name in ("mu_c", "mu_b", "bit_weight", "beta"):
            check_not_negative(name, getattr(self, name))


PRESETS = {"dvsh": DVSHSettings()}


class Words(nn.Module):
    """Texts as steps of an LSTM, (n, length, embed), and which of them are there, (n, length, 1) of 0 and 1."""

    def __init__(self, inputs: Inputs, net: DVSHSettings):
        super().__init__()
        self.embed: nn.Module
        if inputs.text_width:
            self.embed = nn.Linear(inputs.text_width, net.embed)
        else:
            self.embed = nn.Embedding(inputs.n_words, net.embed, padding_idx=PAD)

    def forward(self, texts: Tensor) -> tuple[Tensor, Tensor]:
        if texts.is_floating_point():
            return self.embed(texts)[:, None], torch.ones(len(texts), 1, 1, device=texts.device)
        return self.embed(texts), (texts != PAD)[..., None].float()


class Fusion(nn.Module):
    """The joint network, needed by training alone: h_t of pictures with their sentences, and which steps are there."""

    def __init__(self, inputs: Inputs, net: DVSHSettings):
        super().__init__()
        self.see = nn.Linear(inputs.width, net.hidden)
        self.words = Words(inputs, net)
        self.first = nn.LSTM(net.embed, net.hidden, batch_first=True)
        self.second = nn.LSTM(2 * net.hidden, net.hidden, batch_first=True)
        self.last = nn.Linear(net.hidden, net.bits)

    def forward(self, pictures: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
        words, there = self.words(texts)
        states, _ = self.first(words)
        v = self.see(pictures)[:, None].expand_as(states)
        states, _ = self.second(torch.cat([states, v], dim=2))
        return self.last(states).tanh(), there


class SentenceLSTM(nn.Module):
    """The hashing network of sentences: an LSTM, values in (-1, 1) after every word, their mean."""

    def __init__(self, inputs: Inputs, net: DVSHSettings):
        super().__init__()
        self.words = Words(inputs, net)
        self.lstm = nn.LSTM(net.embed, net.hidden, batch_first=True)
        self.last = nn.Linear(net.hidden, net.bits)

    def forward(self, texts: Tensor) -> Tensor:
        words, there = self.words(texts)
        states, _ = self.lstm(words)
        return mean_over_steps(self.last(states).float().tanh(), there)


class Squashed(nn.Module):
    """A network's values brought to (-1, 1), in full precision: half of it knows nothing between .998 and 1."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, items: Tensor) -> Tensor:
        values: Tensor = self.network(items).float()
        return values.tanh()


def mean_over_steps(h: Tensor, there: Tensor) -> Tensor:
    """The mean of (n, length, bits) over the steps that are there, (n, bits); zero where none is.

    >>> mean_over_steps(torch.tensor([[[1.0], [0.0], [9.0]]]), torch.tensor([[[1.0], [1.0], [0.0]]]))
    tensor([[0.5000]])
    """
    return (h * there).sum(1) / there.sum(1).clamp(min=1)


def cosine_loss(z: Tensor, S: Tensor, margin: float, *, balanced: bool) -> Tensor:
    """L_cos: the mean of max(0, margin - s_ij cos(z_i, z_j)) over the pairs of different items.

    >>> z, S = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> float(cosine_loss(z, S, 0.5, balanced=True)), round(float(cosine_loss(z, S, 0.5, balanced=False)), 4)
    (0.25, 0.3333)
    """
    z = nn.functional.normalize(z, eps=1e-8)
    misses = (margin - (2 * S - 1) * (z @ z.T)).clamp(min=0)
    others = torch.ones_like(S).fill_diagonal_(0)
    if not balanced:
        return (others * misses).sum() / others.sum().clamp(min=1)
    kinds = S * others, (1 - S) * others
    near, far = ((kind * misses).sum() / kind.sum().clamp(min=1) for kind in kinds)
    return (near + far) / 2


class FusionObjective:
    """J of a batch; the fusion network sees the pairs of the batch, and nothing is held constant."""

    random_batches = True

    def __init__(self, pairs: Pairs, fusion: Fusion, settings: DVSHSettings, device: torch.device):
        self.settings = settings
        self.fusion = fusion
        self.pictures = torch.tensor(pairs.images.whole, device=device)
        self.texts = torch.tensor(text_inputs(pairs.texts), device=device)
        self.labels = torch.from_numpy(pairs.labels.matrix()).to(device)
        self.figures = EpochFigures(len(pairs), settings.bits, device)

    def before_training(self, batches: Iterator[Tensor]) -> None: ...

    def loss(self, F: Tensor, G: Tensor, rows: Tensor) -> Tensor:
        settings, labels = self.settings, self.labels[rows]
        h, there = self.fusion(self.pictures[rows], self.texts[rows])
        z = mean_over_steps(h, there)
        cosine = cosine_loss(z, similarity(labels, labels), settings.mu_c, balanced=settings.balance_pairs)
        misses = (settings.mu_b - h.abs()).clamp(min=0).mean(2, keepdim=True)
        bit = (there * misses).sum() / there.sum().clamp(min=1)
        image, text = (z - F).square().mean(), (z - G).square().mean()
        self.figures.note(F, G, rows, cosine=cosine, bit=bit, image=image, text=text)
        J: Tensor = cosine + settings.bit_weight * bit + settings.beta * (image + text)
        return J

    def after_epoch(self, epoch: int, outputs: Callable[[], tuple[Tensor, Tensor]]) -> dict[str, Any]:  # noqa: ARG002
        return self.figures.of_epoch()

    def state(self) -> dict[str, Tensor]:
        return {}

    def restore(self, state: dict[str, Tensor]) -> None: ...


class DVSH(DeepHasher):
    """The method; `DVSH.preset("dvsh", bits=32)`."""

    method = "dvsh"
    kind = DVSHSettings
    presets = PRESETS

    def build(self, inputs: Inputs) -> Towers:
        image = Squashed(image_tower(inputs, self.settings))
        if self.settings.text == "lstm" and not inputs.text_width:
            return Towers(image, SentenceLSTM(inputs, self.settings), helper=Fusion(inputs, self.settings))
        return Towers(image, Squashed(text_tower(inputs, self.settings)), helper=Fusion(inputs, self.settings))

    def objective(self, pairs: Pairs, towers: Towers, device: torch.device) -> FusionObjective:
        return FusionObjective(pairs, cast(Fusion, towers.helper), self.settings, device)
