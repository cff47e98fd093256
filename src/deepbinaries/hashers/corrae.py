"""CorrAE: Correspondence Autoencoder.

Paper: Feng, Wang, Li, "Cross-modal Retrieval with Correspondence Autoencoder", ACM Multimedia 2014. An autoencoder for
each side, with codes p of pictures and q of texts that shall rebuild their inputs and agree within a pair:

    J = (1 - alpha) (|x - x'|² + |y - y'|²) + alpha |p - q|²

Three forms: `corrae` rebuilds each side from its own code, `corrae-cross` from the other's, `corrae-full` from both.

Assumes: pairs of one vector a picture and one a text. Labels are not looked at.

Differs from the paper in (confidence: objective and forms high, constants low): the paper starts from restricted
Boltzmann machines over hand-made features; some epochs without the last term, `pretrain`, can take their place. Each
square is a mean over its dimensions, so that a wide side does not drown the other; the paper's alpha does not carry
over to that, and ours comes from a few small trials on validation items. Pictures, and texts that came as vectors, are
standardised; words are weighed by tf-idf and brought to unit variance as a whole. The paper's codes are real values;
here a bit says if a unit is above its median over both sides of the training pairs, one threshold for both.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from deepbinaries.errors import UsageError, unknown_name
from deepbinaries.features.inputs import Pairs, Texts
from deepbinaries.hashers.code_health import health_figures
from deepbinaries.hashers.code_learning import sign
from deepbinaries.hashers.deep import DeepHasher, DeepSettings, Inputs
from deepbinaries.hashers.training import Towers, text_inputs
from deepbinaries.hashers.views import matrix

REBUILT = {  # whose code rebuilds which side, by form
    "own": (("image", "image"), ("text", "text")),
    "cross": (("image", "text"), ("text", "image")),
    "full": (("image", "image"), ("image", "text"), ("text", "image"), ("text", "text")),
}
THRESHOLDS = ("median", "half")
TINY = 1e-6  # a column that varies by less than this share of its mean is constant


@dataclass(frozen=True)
class CorrAESettings(DeepSettings):
    """Everything that decides what CorrAE learns; of the networks' settings it has `fc`, `bits` and `input_dropout`."""

    epochs: int = 50
    form: str = "own"  # what a code rebuilds: its "own" side, "cross": the other one, "full": both
    alpha: float = 0.2  # weight of the agreement within pairs; near 1 a constant code is the best
    pretrain: int = 0  # epochs, the first ones, in which alpha is 0; patience counts them too
    threshold: str = "median"  # of a unit over the training pairs, or "half", 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in REBUILT:
            raise unknown_name("form of CorrAE", self.form, REBUILT)
        if self.threshold not in THRESHOLDS:
            raise unknown_name("threshold of CorrAE", self.threshold, THRESHOLDS)
        if not 0 <= self.alpha < 1 or self.pretrain < 0:
            raise UsageError(
                f"alpha={self.alpha}, pretrain={self.pretrain} make no sense",
                next_step="give an alpha from 0 on and below 1, and a number of epochs",
            )


PRESETS = {
    "corrae": CorrAESettings(),
    "corrae-cross": CorrAESettings(form="cross"),
    "corrae-full": CorrAESettings(form="full"),
}


class Encoder(nn.Module):
    """Vectors, standardised, to `fc` units to bits, a sigmoid after both; the threshold is taken off."""

    shift: Tensor  # (d,)
    scale: Tensor  # (d,)
    threshold: Tensor  # (bits,)

    def __init__(self, width: int, net: CorrAESettings):
        super().__init__()
        self.register_buffer("shift", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))
        self.register_buffer("threshold", torch.full((net.bits,), 0.5))
        self.before = nn.Dropout(net.input_dropout)
        self.first = nn.Linear(width, net.fc)
        self.last = nn.Linear(net.fc, net.bits)

    def standardised(self, vectors: Tensor) -> Tensor:
        """What is encoded and shall be rebuilt, (n, d)."""
        return (vectors - self.shift) * self.scale

    def forward(self, inputs: Tensor) -> Tensor:
        vectors = inputs if inputs.ndim == 2 else inputs[:, -1, : len(self.shift)]  # the whole picture of its regions
        hidden = self.first(self.before(self.standardised(vectors))).sigmoid()
        code: Tensor = self.last(hidden).float().sigmoid()
        return code - self.threshold


class Decoders(nn.Module):
    """From codes back to vectors, each an encoder mirrored, with a linear end; only training needs them."""

    def __init__(self, widths: dict[str, int], net: CorrAESettings):
        super().__init__()
        self.rebuilt = REBUILT[net.form]
        self.decoders = nn.ModuleList(
            nn.Sequential(nn.Linear(net.bits, net.fc), nn.Sigmoid(), nn.Linear(net.fc, widths[side]))
            for _, side in self.rebuilt
        )

    def forward(self, codes: dict[str, Tensor], vectors: dict[str, Tensor]) -> Tensor:
        """What is not rebuilt: a mean square for each decoder, and their sum."""
        errors = [
            (decoder(codes[code]) - vectors[side]).square().mean()
            for decoder, (code, side) in zip(self.decoders, self.rebuilt, strict=True)
        ]
        return torch.stack(errors).sum()


class Correspondence:
    """J, and the thresholds, which are found anew after every epoch, so that validation has them too."""

    random_batches = True

    def __init__(self, images: Tensor, texts: Tensor, towers: Towers, settings: CorrAESettings):
        self.images, self.texts = images, texts  # (n, d) of each, as they are
        self.f, self.g = cast(Encoder, towers.image), cast(Encoder, towers.text)
        self.decoders = cast(Decoders, towers.helper)
        self.settings = settings
        self.epoch = 0
        self.parts: list[Tensor] = []  # what is not rebuilt and what does not agree, a batch

    def before_training(self, batches: Iterator[Tensor]) -> None:
        """Nothing is prepared."""

    def loss(self, F: Tensor, G: Tensor, rows: Tensor) -> Tensor:
        p, q = F + self.f.threshold, G + self.g.threshold
        vectors = {"image": self.f.standardised(self.images[rows]), "text": self.g.standardised(self.texts[rows])}
        not_rebuilt: Tensor = self.decoders({"image": p, "text": q}, vectors)
        apart = (p - q).square().mean()
        self.parts.append(torch.stack([not_rebuilt, apart]).detach())
        alpha = self.settings.alpha if self.epoch >= self.settings.pretrain else 0.0
        return (1 - alpha) * not_rebuilt + alpha * apart

    def after_epoch(self, epoch: int, outputs: Callable[[], tuple[Tensor, Tensor]]) -> dict[str, Any]:
        self.epoch = epoch + 1
        F, G = outputs()
        p, q = F + self.f.threshold, G + self.g.threshold
        if self.settings.threshold == "median":
            threshold = median(torch.cat([p, q]))
            self.f.threshold.copy_(threshold)
            self.g.threshold.copy_(threshold)
        reconstruction, correlation = torch.stack(self.parts).mean(0).tolist()
        self.parts = []
        figures = {"reconstruction": reconstruction, "correlation": correlation}
        figures["code_variance"] = float(p.var(0, correction=0).mean())
        return figures | health_figures(sign(p - self.f.threshold), {"sentences": sign(q - self.g.threshold)})

    def state(self) -> dict[str, Tensor]:
        return {"epoch": torch.tensor(self.epoch)}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.epoch = int(state["epoch"])


def median(values: Tensor) -> Tensor:
    """The median of each column.

    >>> median(torch.tensor([[3.0], [1.0], [2.0], [9.0]]))
    tensor([2.5000])
    """
    ordered = values.sort(0).values
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def standardise(vectors: Tensor, *, counts: bool) -> tuple[Tensor, Tensor]:
    """The shift and scale, (d,) each, that give every column unit variance; those of words all together, by tf-idf.

    >>> shift, scale = standardise(torch.tensor([[1.0, 5.0], [3.0, 5.0]]), counts=False)
    >>> shift, scale
    (tensor([2., 5.]), tensor([1., 0.]))
    """
    variances, means = torch.var_mean(vectors, dim=0, correction=0)
    if counts:
        weights = (len(vectors) / (vectors > 0).sum(0).clamp(min=1)).log()
        return means, weights / (weights.square() * variances).mean().sqrt().clamp(min=TINY)
    varies = variances.sqrt() > TINY * means.abs()
    return means, torch.where(varies, variances.rsqrt(), 0.0)


class CorrAE(DeepHasher):
    """The method; `CorrAE.preset("corrae-full", bits=32)` is one of its forms with 32 bits."""

    method = "corrae"
    kind = CorrAESettings
    presets = PRESETS

    def read(self, texts: Texts) -> Texts:
        """Texts as vectors: their own, or word counts, which keep the size of their vocabulary."""
        return Texts(texts.tokens[:, :0], 0 if texts.features is not None else texts.n_words, matrix(texts))

    def build(self, inputs: Inputs) -> Towers:
        widths = {"image": inputs.width, "text": inputs.text_width}
        return Towers(
            Encoder(inputs.width, self.settings),
            Encoder(inputs.text_width, self.settings),
            helper=Decoders(widths, self.settings),
        )

    def objective(self, pairs: Pairs, towers: Towers, device: torch.device) -> Correspondence:
        images, texts = (torch.from_numpy(side).to(device) for side in (pairs.images.whole, text_inputs(pairs.texts)))
        for tower, vectors, counts in ((towers.image, images, False), (towers.text, texts, pairs.texts.n_words > 0)):
            tower.shift, tower.scale = standardise(vectors, counts=counts)
        return Correspondence(images, texts, towers, self.settings)
