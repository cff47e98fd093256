"""The image side f: from the features of regions to M values, one class a way of reading the regions.

Every network takes (n, K + 1, d + 4): regions from dominant to minor, the whole picture last, each with its four
position numbers, and gives (n, bits). `RegionLSTM` is the paper's; the others are its ablations and what we found.
"""

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from deepbinaries.features.inputs import POSITION
from deepbinaries.hashers.heads import Head, NetworkSettings


class RegionLSTM(nn.Module):
    """The paper's f: a two-level LSTM over the regions, the mean of its outputs, two fully connected layers.

    With `by_maximum` the maximum of its outputs takes the place of their mean; the weights are as many.
    """

    def __init__(self, width: int, net: NetworkSettings, *, by_maximum: bool = False):
        super().__init__()
        self.by_maximum = by_maximum
        self.lstm = nn.LSTM(width + POSITION, net.hidden, num_layers=2, batch_first=True)
        for name, bias in self.lstm.named_parameters():
            if "bias_ih" in name:
                # Gates come in the order input, forget, cell, output; open forget gates let early regions through.
                nn.init.ones_(bias.data[net.hidden : 2 * net.hidden])
        self.head = Head(net.hidden, net, input_dropout=net.input_dropout)

    def forward(self, regions: Tensor) -> Tensor:
        outputs, _ = self.lstm(regions)
        read_out = outputs.amax(dim=1) if self.by_maximum else outputs.mean(dim=1)
        values: Tensor = self.head(read_out.relu())
        return values


class WholePicture(nn.Module):
    """Ablation I1: the whole picture alone."""

    def __init__(self, width: int, net: NetworkSettings):
        super().__init__()
        self.width = width
        self.head = Head(width, net, input_dropout=net.input_dropout)

    def forward(self, regions: Tensor) -> Tensor:
        values: Tensor = self.head(regions[:, -1, : self.width])
        return values


class RegionMean(nn.Module):
    """Ablation I2: the mean of all regions instead of the LSTM."""

    def __init__(self, width: int, net: NetworkSettings):
        super().__init__()
        self.head = Head(width + POSITION, net, input_dropout=net.input_dropout)

    def forward(self, regions: Tensor) -> Tensor:
        values: Tensor = self.head(regions.mean(dim=1).relu())
        return values


class RegionMax(nn.Module):
    """The whole picture beside the maximum over what each region says, so that every region can speak for itself.

    A mean over regions drowns a small object in its surroundings; a maximum keeps what a single region is sure of.
    """

    def __init__(self, width: int, net: NetworkSettings):
        super().__init__()
        self.width = width
        self.dropout = net.region_dropout
        self.speak = nn.Linear(width + POSITION, net.hidden)
        self.head = Head(width + net.hidden, net, input_dropout=net.input_dropout)

    def forward(self, regions: Tensor) -> Tensor:
        said = self.speak(regions[:, :-1])
        if self.training and self.dropout:
            said = said.masked_fill(silent(said, self.dropout), -torch.inf)
        loudest = said.amax(dim=1).relu()  # nobody is heard: nothing is said
        values: Tensor = self.head(torch.cat([regions[:, -1, : self.width], loudest], dim=1))
        return values


class RegionAttention(nn.Module):
    """The whole picture beside what the regions say that it attends to: the weights of `RegionMax` and one map more.

    The whole picture asks, and regions are heard by how near what they say, s, is to its question q: by
    softmax(q s / sqrt(hidden)). It attends to itself as well, so that somebody is heard where all regions are silent.
    """

    def __init__(self, width: int, net: NetworkSettings):
        super().__init__()
        self.width = width
        self.dropout = net.region_dropout
        self.ask = nn.Linear(width, net.hidden)
        self.speak = nn.Linear(width + POSITION, net.hidden)
        self.head = Head(width + net.hidden, net, input_dropout=net.input_dropout)

    def forward(self, regions: Tensor) -> Tensor:
        whole = regions[:, -1, : self.width]
        said = self.speak(regions)
        near = said @ self.ask(whole)[..., None] / said.shape[-1] ** 0.5  # (n, regions, 1)
        if self.training and self.dropout:
            unheard = silent(said, self.dropout)
            unheard[:, -1] = False
            near = near.masked_fill(unheard, -torch.inf)
        heard = (near.softmax(dim=1) * said).sum(dim=1).relu()
        values: Tensor = self.head(torch.cat([whole, heard], dim=1))
        return values


class RegionVote(nn.Module):
    """The whole picture and each region give values by the same two layers; the loudest yes and no join the whole's.

    F = a whole + b max over regions + c min over regions, with a, b, c learnt: as many weights as the whole picture
    alone has, and three.
    """

    def __init__(self, width: int, net: NetworkSettings):
        super().__init__()
        self.width = width
        self.dropout = net.region_dropout
        self.head = Head(width, net, input_dropout=net.input_dropout)
        self.weights = nn.Parameter(torch.tensor([1.0, 0.5, 0.5]))

    def forward(self, regions: Tensor) -> Tensor:
        values = self.head(regions[..., : self.width])
        whole, of_regions = values[:, -1], values[:, :-1]
        if self.training and self.dropout:
            # A silent region says what the whole picture says.
            of_regions = torch.where(silent(of_regions, self.dropout), whole[:, None], of_regions)
        a, b, c = self.weights
        voted: Tensor = a * whole + b * of_regions.amax(dim=1) + c * of_regions.amin(dim=1)
        return voted


def silent(said: Tensor, share: float) -> Tensor:
    """Which regions of (n, regions, values) are not heard this time, (n, regions, 1)."""
    return torch.rand(said.shape[:2], device=said.device)[..., None] < share


IMAGE_NETWORKS: Mapping[str, Callable[[int, NetworkSettings], nn.Module]] = {
    "lstm": RegionLSTM,
    "lstm-max": partial(RegionLSTM, by_maximum=True),
    "whole": WholePicture,
    "mean": RegionMean,
    "max": RegionMax,
    "attention": RegionAttention,
    "vote": RegionVote,
}
