"""The two networks of the photo model. Both give 128 values between -1 and 1: a value's sign is the bit.

The first 64 values are trained to be a code by themselves, so that one network serves both lengths.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from deepbinaries.vision.backbones.efficientnet_lite0 import WIDTH, EfficientNetLite0

BITS = 128
SHORT_BITS = 64
HIDDEN = 1024
PAD = 0  # the id of no word, as in `deepbinaries.language`; 1 is an unknown word, 2 is not used
WORDS = 24  # words read of a sentence
WORD_SIZE = 100  # GloVe's
WIDTHS = (1, 2, 3, 4, 5)  # words that a convolution sees at once
MAPS = 256


class Dropout(nn.Module):
    """Makes some values zero while it learns, by masks that say nothing about the row they fall on.

    Torch's own, on a GPU and in half precision, uses random numbers of one call again in the next (seen with 2.11). A
    picture and its sentence then share a pattern of zeros that no other pair has, and learn to find each other by it:
    the loss falls, and nothing is learnt. So the rows of a mask are drawn in an order that no call shares with another.

    >>> Dropout(0.5).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, share: float):
        super().__init__()
        self.share = share

    def forward(self, values: Tensor) -> Tensor:
        if not self.training or not self.share:
            return values
        kept = torch.rand(values.shape, device=values.device) >= self.share
        order = torch.randperm(len(values)).to(values.device, non_blocking=True)
        return values * kept[order] / (1 - self.share)


def skip_blocks(backbone: EfficientNetLite0, share: float) -> None:
    """While it learns, let pictures pass by some of the backbone's residual blocks: by the last one with this share.

    Source: G. Huang and others, "Deep networks with stochastic depth", 2016.
    """
    blocks = [block for block in backbone._blocks if block._residual]
    for number, block in enumerate(blocks, 1):
        block.get_submodule("_bn2").register_forward_hook(partial(_skipped, share=share * number / len(blocks)))


def _skipped(norm: nn.Module, _: Any, values: Tensor, share: float) -> Tensor:
    if not norm.training:
        return values
    kept = torch.rand(len(values), 1, 1, 1, device=values.device) >= share
    return values * kept / (1 - share)


class Head(nn.Module):
    """Features to values by one hidden layer, which the teachers look at too."""

    def __init__(self, features: int, dropout: float):
        super().__init__()
        self.first = nn.Linear(features, HIDDEN)
        self.dropout = Dropout(dropout)
        self.last = nn.Linear(HIDDEN, BITS)

    def forward(self, features: Tensor) -> Tensor:
        values: Tensor = self.values(self.hidden(features))
        return values

    def hidden(self, features: Tensor) -> Tensor:
        """The hidden layer, (n, 1024)."""
        hidden: Tensor = self.dropout(self.first(self.dropout(features)).relu())
        return hidden

    def values(self, hidden: Tensor) -> Tensor:
        """The values that follow from the hidden layer, (n, 128), between -1 and 1."""
        values: Tensor = self.last(hidden).float().tanh()  # after the last product, half precision would be too coarse
        return values


class PictureNetwork(nn.Module):
    """Pixels (n, 3, h, w) from 0 to 255, sides multiples of 32, to values (n, 128).

    >>> PictureNetwork().eval()(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 128])
    """

    def __init__(self, dropout: float = 0.0, skipped: float = 0.0):
        super().__init__()
        self.backbone = EfficientNetLite0()
        skip_blocks(self.backbone, skipped)
        self.head = Head(WIDTH, dropout)

    def forward(self, pixels: Tensor) -> Tensor:
        values: Tensor = self.head(self.pooled(pixels))
        return values

    def pooled(self, pixels: Tensor) -> Tensor:
        """The mean of the backbone's map, (n, 1280)."""
        pooled: Tensor = self.backbone(pixels)
        return pooled


class SentenceNetwork(nn.Module):
    """Word ids (n, 24), padded with zeros, to values (n, 128).

    `table` (words, 100) holds GloVe's vectors by word id and is never trained, so that a word that no caption of the
    training held works as its neighbours do. It is no part of the saved weights: give a larger one to know more words.

    >>> SentenceNetwork(torch.randn(10, 100)).eval()(torch.tensor([[3, 4] + 22 * [0]])).shape
    torch.Size([1, 128])
    """

    table: Tensor

    def __init__(self, table: Tensor, dropout: float = 0.0):
        super().__init__()
        self.register_buffer("table", table, persistent=False)
        self.words = nn.Linear(WORD_SIZE, MAPS)
        self.convolutions = nn.ModuleList(nn.Conv1d(MAPS, MAPS, width) for width in WIDTHS)
        self.head = Head(MAPS * len(WIDTHS), dropout)

    def forward(self, ids: Tensor) -> Tensor:
        values: Tensor = self.head(self.pooled(ids))
        return values

    def pooled(self, ids: Tensor) -> Tensor:
        """The largest answer of every convolution to any place that begins with a word, (n, 1280)."""
        written = (ids != PAD).to(self.table.dtype).unsqueeze(1)
        words = self.words(functional.embedding(ids, self.table)).transpose(1, 2) * written
        # A window may reach past the end: a sentence of one word has to be read by all of them.
        words = functional.pad(words, (0, max(WIDTHS) - 1))
        answers = [convolution(words)[:, :, : ids.shape[1]].relu() * written for convolution in self.convolutions]
        return torch.cat([answer.amax(2) for answer in answers], dim=1)
