"""Sentences as vectors for methods that take no words: the paper's 384 text features.

The text-CNN of TVDB is trained to name the labels of sentences (binary cross-entropy over all labels); the maxima of
its convolutions, 3 widths x 128 maps, are the vector of a sentence. It is trained on training items alone, whose labels
it has then seen: so has every method that learns from its vectors.
"""

import dataclasses
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Texts
from deepbinaries.files import read_bytes, read_json, write_json, written_whole
from deepbinaries.hashers.heads import NetworkSettings
from deepbinaries.hashers.text_networks import TextCNN
from deepbinaries.hashers.training import ENCODE_BATCH, choose_device

FORMAT, VERSION = "deepbinaries-text-features", 1
MAX_BYTES = 2**30


@dataclass(frozen=True)
class TextFeatureSettings:
    """How the network is built and trained; its sizes are the paper's."""

    embed: int = 128  # numbers a word
    widths: tuple[int, ...] = (3, 4, 5)  # of the convolutions, in words
    maps: int = 128  # of each width
    fc: int = 1024  # units between the maxima and the labels
    dropout: float = 0.5  # after them
    epochs: int = 10
    batch: int = 128
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        self.network()
        if self.epochs < 1 or self.batch < 2 or not 0 < self.learning_rate < math.inf:
            raise UsageError(
                f"epochs={self.epochs}, batch={self.batch}, learning_rate={self.learning_rate} train nothing",
                next_step="give at least 1 epoch, 2 items a batch and a positive rate",
            )

    def network(self) -> NetworkSettings:
        """The sizes of the network, as those of hashers are given."""
        return NetworkSettings(
            embed=self.embed, widths=self.widths, maps=self.maps, fc=self.fc, dropout=self.dropout, bits=1
        )


DEFAULT = TextFeatureSettings()


class TextFeatures:
    """A trained text-CNN that gives sentences their vectors."""

    def __init__(self, network: TextCNN, settings: TextFeatureSettings, device: torch.device):
        self.network_ = network.to(device).eval()
        self.settings = settings
        self.device = device

    @classmethod
    def fit(
        cls,
        texts: Texts,
        labels: Labels,
        *,
        settings: TextFeatureSettings = DEFAULT,
        seed: int = 0,
        device: str = "auto",
        log: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> Self:
        """Learn to name the labels of the texts; `log` is told the loss of every epoch."""
        if len(texts) != len(labels) or not len(texts) or not len(labels.names):
            raise DataError(
                f"{len(texts):,} texts and {len(labels):,} sets of {len(labels.names):,} labels teach nothing",
                next_step="give the labels of the same texts",
            )
        if not texts.tokens.shape[1]:
            raise DataError("these texts have no words", next_step="use the vectors that they came with")
        found = choose_device(device)
        torch.manual_seed(seed)
        network = _build(texts.n_words, len(labels.names), settings).to(found)
        tokens = torch.from_numpy(texts.tokens).to(found)
        targets = torch.from_numpy(labels.matrix().astype(np.float32)).to(found)
        optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
        for epoch in range(settings.epochs):
            network.train()
            order = torch.from_numpy(np.random.default_rng([seed, epoch]).permutation(len(texts))).to(found)
            total = torch.zeros((), device=found)
            for rows in order.split(settings.batch):  # type: ignore[no-untyped-call]
                loss = binary_cross_entropy_with_logits(network(tokens[rows]), targets[rows])
                optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += loss.detach() * len(rows)
            mean = float(total) / len(texts)
            if not math.isfinite(mean):
                raise DataError(f"the loss of epoch {epoch + 1} is not finite", next_step="lower the learning rate")
            log({"epoch": epoch + 1, "loss": mean})
        return cls(network, settings, found)

    def of(self, texts: Texts) -> Texts:
        """The same texts with their vectors, (n, maps x widths) float32, as `features`."""
        n_words = self.network_.words.num_embeddings
        if texts.tokens.size and int(texts.tokens.max()) >= n_words:
            raise DataError(
                f"a token id is {int(texts.tokens.max())}, the network knows {n_words} words",
                next_step="encode sentences with the vocabulary that it was trained with",
            )
        vectors = np.empty((len(texts), self.settings.maps * len(self.settings.widths)), dtype=np.float32)
        with torch.inference_mode():
            for start in range(0, len(texts), ENCODE_BATCH):
                tokens = torch.from_numpy(texts.tokens[start : start + ENCODE_BATCH]).to(self.device)
                vectors[start : start + ENCODE_BATCH] = self.network_.pooled(tokens).cpu().numpy()
        return dataclasses.replace(texts, features=vectors)

    def save(self, folder: str | Path) -> None:
        """Write `text-features.safetensors`, and `text-features.json` with settings and the digest of the former."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        tensors = self.network_.state_dict()
        content = save_tensors({name: tensor.cpu().contiguous() for name, tensor in tensors.items()})
        with written_whole(folder / "text-features.safetensors") as file:
            file.write(content)
        facts = {"format": FORMAT, "version": VERSION, "settings": dataclasses.asdict(self.settings)}
        sizes = {"n_words": self.network_.words.num_embeddings, "n_labels": self.network_.head.last.out_features}
        digest = hashlib.sha256(content).hexdigest()
        write_json(facts | sizes | {"sha256": digest}, folder / "text-features.json", indent=1)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """Read what `save` wrote; anything else is refused."""
        folder = Path(folder)
        facts = read_json(folder / "text-features.json")
        content = read_bytes(folder / "text-features.safetensors", limit=MAX_BYTES)
        try:
            if (facts["format"], facts["version"]) != (FORMAT, VERSION):
                raise ValueError(f"{facts['format']} version {facts['version']} is not {FORMAT} version {VERSION}")
            if facts["sha256"] != hashlib.sha256(content).hexdigest():
                raise ValueError("the digest of text-features.safetensors is another one")
            given = facts["settings"] | {"widths": tuple(facts["settings"]["widths"])}
            settings = TextFeatureSettings(**given)
            network = _build(int(facts["n_words"]), int(facts["n_labels"]), settings)
            network.load_state_dict(load_tensors(content))
        except (KeyError, TypeError, ValueError, RuntimeError, UsageError, SafetensorError) as error:
            raise DataError(
                f"{folder} holds no whole text features ({error})", next_step="remove it: they are then learnt again"
            ) from error
        return cls(network, settings, choose_device(device))


def _build(n_words: int, n_labels: int, settings: TextFeatureSettings) -> TextCNN:
    """The text-CNN with one output a label, however many labels there are."""
    network = TextCNN(n_words, settings.network())
    network.head.last = nn.Linear(settings.fc, n_labels)
    return network
