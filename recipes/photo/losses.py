"""What the networks are asked for: find the pair, know what the sentence means, keep to the labels."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from deepbinaries.hashers.similarity import SetSimilarity
from deepbinaries.hashers.updates import CodeBatch, Spectral, sign
from recipes.photo.networks import HIDDEN, SHORT_BITS

ETA = 0.3  # how far the networks' own opinion counts in the codes that labels ask for


@dataclass(frozen=True)
class LossSettings:
    """Weights of the parts, and temperatures."""

    tau: float = 0.05  # of the choice of the pair
    soft: float = 0.3  # share of the other pairs of the batch in what is to be chosen, by their sentences' meaning
    soft_tau: float = 0.1
    short: float = 0.5  # the first 64 bits by themselves
    meaning: float = 4.0
    wordings: float = 4.0  # what sentences without photographs mean
    labels: float = 0.2


class Meaning(nn.Module):
    """What both hidden layers say about the sentence's vector; needed in training only."""

    def __init__(self, components: int):
        super().__init__()
        self.of_picture = nn.Linear(HIDDEN, components)
        self.of_sentence = nn.Linear(HIDDEN, components)

    def forward(self, picture: Tensor, sentence: Tensor, vectors: Tensor) -> Tensor:
        """1 - cosine to the teacher's vectors, the sum of both sides."""
        return _apart(self.of_picture(picture), vectors) + self.alone(sentence, vectors)

    def alone(self, sentence: Tensor, vectors: Tensor) -> Tensor:
        """The same of sentences without photographs."""
        return _apart(self.of_sentence(sentence), vectors)


def _apart(said: Tensor, vectors: Tensor) -> Tensor:
    return 1 - functional.cosine_similarity(said, vectors).mean()


def pair_loss(F: Tensor, G: Tensor, vectors: Tensor, settings: LossSettings) -> Tensor:
    """Each picture chooses its sentence among those of the batch, and each sentence its picture, at both lengths.

    F and G are (n, M) between -1 and 1, `vectors` the teacher's of the sentences, of length 1.
    """
    similar = torch.softmax(vectors @ vectors.T / settings.soft_tau, dim=1)
    wished = settings.soft * similar + (1 - settings.soft) * torch.eye(len(F), device=F.device)
    long, short = (_choice(F[:, :bits], G[:, :bits], wished, settings.tau) for bits in (F.shape[1], SHORT_BITS))
    return long + settings.short * short


def _choice(F: Tensor, G: Tensor, wished: Tensor, tau: float) -> Tensor:
    scores = F @ G.T / (F.shape[1] * tau)
    return (functional.cross_entropy(scores, wished) + functional.cross_entropy(scores.T, wished)) / 2


def label_loss(F: Tensor, G: Tensor, S: SetSimilarity, P: Tensor) -> Tensor:
    """How far the values are from the codes that the labels ask for, by the update `spectral`."""
    fixed_F, fixed_G = F.detach(), G.detach()
    B, H = Spectral()(CodeBatch(sign(fixed_F), sign(fixed_G), fixed_F, fixed_G, S, ETA, P))
    return (F - B).square().mean() + (G - H).square().mean()
