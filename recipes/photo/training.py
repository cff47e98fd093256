"""The training itself: one step, one epoch."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from deepbinaries.hashers.similarity import SetSimilarity, ahead
from deepbinaries.vision.backbones.efficientnet_lite0 import EfficientNetLite0
from recipes.photo.augmentation import forget_words, smaller, views
from recipes.photo.batches import Pairs, shuffled
from recipes.photo.losses import LossSettings, Meaning, label_loss, pair_loss
from recipes.photo.networks import BITS, PictureNetwork, SentenceNetwork
from recipes.photo.schedule import share_of_peak


@dataclass(frozen=True)
class Settings:
    """Everything a result depends on, beside the data."""

    epochs: int = 42
    batch: int = 512
    wordings: int = 1024  # sentences without photographs beside them
    side: int = 256  # pixels of the crops
    lr: float = 1e-3  # of the new layers, at its peak
    backbone_lr: float = 3e-4
    decay: float = 1e-4
    dropout: float = 0.3  # before both layers of a head
    skipped: float = 0.2  # share of pictures that pass by the backbone's last block
    frozen: int = 3  # the backbone's first blocks, which stay as published, like the stem; they see the most pixels
    word_dropout: float = 0.05
    first: float = 0.5  # share of the draws that take an item's first sentence; the others take any of its sentences
    average: float = 1.0  # epochs over which weights are averaged, the last ones counting most; five came too late
    loss: LossSettings = field(default_factory=LossSettings)
    seed: int = 0


class Networks(nn.Module):
    """All that is trained."""

    def __init__(self, table: Tensor, components: int, settings: Settings):
        super().__init__()
        self.pictures = PictureNetwork(settings.dropout, settings.skipped)
        self.sentences = SentenceNetwork(table, settings.dropout)
        self.meaning = Meaning(components)


def frozen(backbone: EfficientNetLite0, blocks: int) -> nn.ModuleList:
    """The backbone's stem and first blocks, which from now on learn nothing."""
    fixed = nn.ModuleList([backbone._conv_stem, backbone._bn0, *backbone._blocks[:blocks]])
    return fixed.requires_grad_(False)


def optimiser_of(
    networks: nn.Module, backbone: nn.Module, *, rates: tuple[float, float], decay: float
) -> torch.optim.Optimizer:
    """What takes the steps; peaks of the rate are those of the backbone, which has learnt already, and of all else."""
    known = {id(parameter) for parameter in backbone.parameters()}
    others = [parameter for parameter in networks.parameters() if id(parameter) not in known]
    trained = [parameter for parameter in backbone.parameters() if parameter.requires_grad]
    groups = [{"params": some, "peak": peak} for some, peak in zip((trained, others), rates, strict=True)]
    return torch.optim.AdamW(groups, weight_decay=decay, fused=others[0].device.type == "cuda")


def half(device: torch.device) -> torch.autocast:
    """Half precision, on a GPU; places in a picture are too fine for it."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")


class Training:
    """Networks that learn from pairs, and their averages over the last steps, which are what is used."""

    def __init__(self, networks: Networks, pairs: Pairs, settings: Settings):
        self.networks, self.pairs, self.settings = networks, pairs, settings
        self.device = pairs.pixels.device
        self.rng = torch.Generator().manual_seed(settings.seed)
        self.steps_of_epoch = len(pairs) // settings.batch
        backbone, rates = networks.pictures.backbone, (settings.backbone_lr, settings.lr)
        self.fixed = frozen(backbone, settings.frozen)
        self.optimiser = optimiser_of(networks, backbone, rates=rates, decay=settings.decay)
        self.averaged = copy.deepcopy(networks).eval()

    def epoch(self, number: int) -> list[float]:
        """Learn from every pair once; gives back the mean losses: pairs, meaning, labels, wordings."""
        self.networks.train()
        self.fixed.eval()
        total = torch.zeros(4, device=self.device)
        for place, (rows, S, P) in enumerate(self._batches()):
            done = (number + place / self.steps_of_epoch) / self.settings.epochs
            total += self.step(rows, S, P, rate=share_of_peak(done))
        return [round(loss, 4) for loss in (total / self.steps_of_epoch).tolist()]

    def step(self, rows: Tensor, S: SetSimilarity, P: Tensor, *, rate: float) -> Tensor:
        """Learn from some pairs; `S` says which of coco18's among them share a label, `P` is its embedding."""
        networks, pairs, weights = self.networks, self.pairs, self.settings.loss
        with_labels = rows < len(pairs.labels)
        chosen = pairs.some_sentences(rows, self.settings.first)
        wordings = torch.randint(len(pairs.wording_ids), (self.settings.wordings,), device=self.device)
        ids = forget_words(torch.cat([pairs.ids[chosen], pairs.wording_ids[wordings]]), self.settings.word_dropout)
        pooled = self.look(rows)
        with half(self.device):
            seen = networks.pictures.head.hidden(pooled)
            said = networks.sentences.head.hidden(networks.sentences.pooled(ids))
            read, others = said[: len(rows)], said[len(rows) :]
            F, G = networks.pictures.head.values(seen), networks.sentences.head.values(read)
        vectors = pairs.vectors[chosen]
        losses = [
            pair_loss(F, G, vectors, weights),
            networks.meaning(seen.float(), read.float(), vectors),
            label_loss(F[with_labels], G[with_labels], S, P),
            networks.meaning.alone(others.float(), pairs.wording_vectors[wordings]),
        ]
        for group in self.optimiser.param_groups:
            group["lr"] = group["peak"] * rate
        self.optimiser.zero_grad()
        more = weights.meaning * losses[1] + weights.labels * losses[2] + weights.wordings * losses[3]
        (losses[0] + more).backward()
        self.optimiser.step()
        self._average()
        return torch.stack(losses).detach()

    def look(self, rows: Tensor) -> Tensor:
        """What the backbone sees in random views of some photographs, (n, 1280)."""
        pixels = smaller(views(self.pairs.some_pixels(rows), self.settings.side))
        with half(self.device):
            pooled: Tensor = self.networks.pictures.pooled(pixels.contiguous(memory_format=torch.channels_last))
        return pooled

    @torch.no_grad()
    def _average(self) -> None:
        newest = 1 / (self.settings.average * self.steps_of_epoch)
        means, last = (
            [part for part in networks.state_dict().values() if part.is_floating_point()]
            for networks in (self.averaged, self.networks)
        )
        torch._foreach_lerp_(means, last, newest)

    def _batches(self) -> Iterator[tuple[Tensor, SetSimilarity, Tensor]]:
        """An epoch's rows with S between those of coco18 and its P, which other threads find meanwhile."""
        batches = list(shuffled(len(self.pairs), self.settings.batch, self.rng))
        labels = self.pairs.labels
        with_labels = (rows[rows < len(labels)] for rows in batches)
        found = ahead(labels, with_labels, self.device, bits=BITS)
        for rows, (S, P) in zip(batches, found, strict=True):
            yield rows.to(self.device, non_blocking=True), S, P
