"""The image side f: from the features of regions to M values, one class a way of reading the regions.

Every network takes (n, K + 1, d + 4): regions from dominant to minor, the whole picture last, each with its four
position numbers, and gives (n, bits). `RegionLSTM` is the paper's; the others are its ablations and what we found.
"""

import torch
from torch import Tensor, nn

from deepbinaries.features.inputs import POSITION
from deepbinaries.hashers.heads import Head, NetworkSettings


class RegionLSTM(nn.Module):
    """The paper's f: a two-level LSTM over the regions, the mean of its outputs, two fully connected layers."""

    def __init__(self, width: int, net: NetworkSettings):
        super().__init__()
        self.lstm = nn.LSTM(width + POSITION, net.hidden, num_layers=2, batch_first=True)
        for name, bias in self.lstm.named_parameters():
            if "bias_ih" in name:
                # Gates come in the order input, forget, cell, output; open forget gates let early regions through.
                nn.init.ones_(bias.data[net.hidden : 2 * net.hidden])
        self.head = Head(net.hidden, net, input_dropout=net.input_dropout)

    def forward(self, regions: Tensor) -> Tensor:
        outputs, _ = self.lstm(regions)
        values: Tensor = self.head(outputs.mean(dim=1).relu())
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


IMAGE_NETWORKS = {"lstm": RegionLSTM, "whole": WholePicture, "mean": RegionMean, "max": RegionMax, "vote": RegionVote}
