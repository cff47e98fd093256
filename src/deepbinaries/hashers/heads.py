"""What both sides share: the sizes of their layers, and the two layers that end them."""

from dataclasses import dataclass

from torch import Tensor, nn

from deepbinaries.errors import UsageError
from deepbinaries.hashers.settings import check_bits

ACTIVATIONS = {"identity": nn.Identity, "relu": nn.ReLU}


@dataclass(frozen=True)
class NetworkSettings:
    """Sizes of the layers; the defaults are the paper's where it states them."""

    bits: int = 64  # M
    hidden: int = 1024  # units of an LSTM, or of what each region says
    fc: int = 1024  # units of the first fully connected layer
    activation: str = "relu"  # after it; the paper's image side has "identity"
    dropout: float = 0.0  # after it
    input_dropout: float = 0.0  # before it, on the image side
    region_dropout: float = 0.0  # whole regions that are not heard while training, where the loudest counts
    embed: int = 128  # numbers a word
    widths: tuple[int, ...] = (3, 4, 5)  # of the convolutions, in words
    maps: int = 128  # of each width

    def __post_init__(self) -> None:
        check_bits(self.bits)
        if self.activation not in ACTIVATIONS:
            raise UsageError(f"activation={self.activation!r} is unknown", next_step="take relu or identity")
        if min(self.hidden, self.fc, self.embed, self.maps, *self.widths) < 1:
            raise UsageError("a layer has no units", next_step="give sizes from 1 on")
        for name in ("dropout", "input_dropout", "region_dropout"):
            share = getattr(self, name)
            if not 0 <= share < 1:
                raise UsageError(f"{name}={share} is no share below 1", next_step="give a number from 0 to 0.9")


class Head(nn.Module):
    """Two fully connected layers: features to `fc` units to bits; the last one is linear."""

    def __init__(self, inputs: int, net: NetworkSettings, *, activation: str = "", input_dropout: float = 0.0):
        super().__init__()
        self.before = nn.Dropout(input_dropout)
        self.first = nn.Linear(inputs, net.fc)
        self.activation = ACTIVATIONS[activation or net.activation]()
        self.dropout = nn.Dropout(net.dropout)
        self.last = nn.Linear(net.fc, net.bits)

    def forward(self, features: Tensor) -> Tensor:
        values: Tensor = self.last(self.dropout(self.activation(self.first(self.before(features)))))
        return values
