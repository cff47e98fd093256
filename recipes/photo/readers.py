"""Ways to read a picture's regions beside the whole of it; trials ask whether they find more than the whole alone.

Each takes features (n, K + 1, 1284) of regions from dominant to minor with their positions, the whole picture last.
"""

import torch
from torch import Tensor, nn

from deepbinaries.features.inputs import POSITION
from deepbinaries.vision.backbones.efficientnet_lite0 import WIDTH

UNITS = 256  # that regions get


class Whole(nn.Module):
    """The whole picture alone.

    >>> Whole()(torch.zeros(2, 1, 1284)).shape
    torch.Size([2, 1280])
    """

    width = WIDTH

    def forward(self, features: Tensor) -> Tensor:
        return features[:, -1, :WIDTH]


class Loudest(nn.Module):
    """The whole picture beside the loudest of what each region says by one layer.

    >>> Loudest()(torch.zeros(2, 13, 1284)).shape
    torch.Size([2, 1536])
    """

    width = WIDTH + UNITS

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH + POSITION, UNITS)

    def forward(self, features: Tensor) -> Tensor:
        said = self.layer(features[:, :-1]).relu().amax(1)
        return torch.cat([features[:, -1, :WIDTH], said], 1)


class Ordered(nn.Module):
    """The whole picture beside the mean of what an LSTM of two layers says, region after region: the paper's way.

    >>> Ordered()(torch.zeros(2, 13, 1284)).shape
    torch.Size([2, 1536])
    """

    width = WIDTH + UNITS

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(WIDTH + POSITION, UNITS, num_layers=2, batch_first=True)

    def forward(self, features: Tensor) -> Tensor:
        said: Tensor = self.lstm(features)[0]
        return torch.cat([features[:, -1, :WIDTH], said.mean(1)], 1)


READERS: dict[str, type[Whole | Loudest | Ordered]] = {"whole": Whole, "loudest": Loudest, "ordered": Ordered}
