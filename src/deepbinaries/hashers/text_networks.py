"""The sentence side g: from token ids to M values.

Every network takes (n, length) token ids, 0 being padding, and gives (n, bits). `TextCNN` is the paper's, the others
are its ablations.
"""

import torch
from torch import Tensor, nn

from deepbinaries.hashers.heads import Head, NetworkSettings

PAD = 0


class TextCNN(nn.Module):
    """The paper's g (after Kim, 2014): words, convolutions of several widths, their maxima, two layers."""

    def __init__(self, n_words: int, net: NetworkSettings):
        super().__init__()
        self.words = nn.Embedding(n_words, net.embed, padding_idx=PAD)
        self.convolutions = nn.ModuleList(nn.Conv1d(net.embed, net.maps, width) for width in net.widths)
        self.shortest = max(net.widths)
        self.head = Head(net.maps * len(net.widths), net, activation="relu")

    def pooled(self, tokens: Tensor) -> Tensor:
        """The maxima over time of all convolutions, (n, maps x widths): the paper's 384-D sentence feature."""
        words = self.words(tokens).transpose(1, 2)  # (n, embed, length): convolutions run along the words
        if words.shape[2] < self.shortest:
            words = nn.functional.pad(words, (0, self.shortest - words.shape[2]))
        return torch.cat([convolution(words).amax(dim=2).relu() for convolution in self.convolutions], dim=1)

    def forward(self, tokens: Tensor) -> Tensor:
        values: Tensor = self.head(self.pooled(tokens))
        return values


class BagOfWords(nn.Module):
    """Ablation T1: how often each word occurs, two layers."""

    def __init__(self, n_words: int, net: NetworkSettings):
        super().__init__()
        self.n_words = n_words
        self.head = Head(n_words, net, activation="relu")

    def forward(self, tokens: Tensor) -> Tensor:
        # Its length as a tensor's shape, not as a number, so that a traced network takes any.
        counts = torch.zeros(tokens.shape[0], self.n_words, device=tokens.device)
        counts.scatter_add_(1, tokens.long(), (tokens != PAD).float())
        values: Tensor = self.head(counts)
        return values


class TextLSTM(nn.Module):
    """Ablation T2: a two-layer LSTM over the words, the mean of its outputs, one layer."""

    def __init__(self, n_words: int, net: NetworkSettings):
        super().__init__()
        self.words = nn.Embedding(n_words, net.embed, padding_idx=PAD)
        self.lstm = nn.LSTM(net.embed, net.hidden, num_layers=2, batch_first=True)
        self.dropout = nn.Dropout(net.dropout)
        self.last = nn.Linear(net.hidden, net.bits)

    def forward(self, tokens: Tensor) -> Tensor:
        outputs, _ = self.lstm(self.words(tokens))
        values: Tensor = self.last(self.dropout(outputs.mean(dim=1).relu()))
        return values


TEXT_NETWORKS = {"cnn": TextCNN, "bow": BagOfWords, "lstm": TextLSTM}
