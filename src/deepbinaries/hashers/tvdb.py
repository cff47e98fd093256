"""TVDB: Textual-Visual Deep Binaries.

Paper: Shen, Liu, Shao, Song, "Deep Binaries: Encoding Semantic-Rich Cues for Efficient Textual-Visual Cross
Retrieval", ICCV 2017. Regions of a picture, from dominant to minor, through an LSTM; a sentence through a text-CNN;
target codes B, H of the training items refreshed in closed form in every batch, in turn with the two networks.

Assumes: pairs of pictures and sentences with labels; two items are similar when they share one.

Differs from the paper in: the printed update collapses on data whose labels overlap, so `tvdb-lstm` has the update
`spectral` and the default `tvdb` has `relaxed` (see code_learning.py); the losses are means over entries, without eta,
which Adam hardly notices. The preset `tvdb-paper` keeps to the letter. On validation parts no way to read the regions
was better than the whole picture on every dataset, so `tvdb` looks at the whole picture; the others are a setting away.
"""

import math
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from deepbinaries.datasets import Labels
from deepbinaries.errors import UsageError, unknown_name
from deepbinaries.features.inputs import Pairs
from deepbinaries.hashers.code_health import SAMPLE, health_figures
from deepbinaries.hashers.code_learning import (
    ROUTINES,
    CodeBatch,
    by_label_set,
    make_update,
    sign,
    start_all,
    update_all,
)
from deepbinaries.hashers.deep import DeepHasher, DeepSettings, Inputs
from deepbinaries.hashers.image_networks import IMAGE_NETWORKS
from deepbinaries.hashers.similarity import LabelSimilarity, SetSimilarity, ahead, similarity
from deepbinaries.hashers.text_networks import TEXT_NETWORKS
from deepbinaries.hashers.training import Towers
from deepbinaries.hashers.updates import Relaxed, Spectral
from deepbinaries.hashers.world import join_world


@dataclass(frozen=True)
class TVDBSettings(DeepSettings):
    """Everything that decides what TVDB learns; networks and training have their own lines."""

    # How regions are read: "lstm" (the paper's), "whole" (I1), "mean" (I2), "lstm-max", "max", "attention", "vote".
    image: str = "lstm"
    text: str = "cnn"  # how sentences are read: "cnn" (the paper's), "bow" (T1), "lstm" (T2)
    update: str = "spectral"  # of the targets: "printed", "centred", "gram", "projection", "spectral", "relaxed"
    eta: float = 0.3  # weight of the networks' outputs in it, eqs. 6 and 8
    routine: str = "tvdb"  # when codes are updated: "tvdb", or the paper's variants "s", "n", "e1", "e2"
    loss: str = "mean"  # "frobenius": as printed, eta times the sum of squares

    def __post_init__(self) -> None:
        super().__post_init__()
        choices: dict[str, Collection[str]] = {"image": IMAGE_NETWORKS, "text": TEXT_NETWORKS}
        choices |= {"routine": ROUTINES, "loss": ("mean", "frobenius")}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise unknown_name(f"choice of {name}", str(getattr(self, name)), known)
        make_update(self.update)  # an unknown one is refused where it is written
        if not 0 <= self.eta < math.inf:
            raise UsageError(f"eta={self.eta} is no weight", next_step="give a number from 0 on; 0.3 is a good start")


LSTM = TVDBSettings(batch=512, schedule="one-cycle")
PRESETS = {
    "tvdb-paper": TVDBSettings(
        activation="identity", update="printed", eta=1e-4, loss="frobenius", learning_rate=1e-4, batch=128
    ),
    "tvdb-lstm": LSTM,
    "tvdb": replace(LSTM, image="whole", update="relaxed", input_dropout=0.2, embed=256, widths=(1, 2, 3, 4), maps=256),
    "tvdb-i1": replace(LSTM, image="whole"),
    "tvdb-i2": replace(LSTM, image="mean"),
    "tvdb-t1": replace(LSTM, text="bow"),
    "tvdb-t2": replace(LSTM, text="lstm"),
    "tvdb-s": replace(LSTM, routine="s"),
    "tvdb-n": replace(LSTM, routine="n"),
    "tvdb-e1": replace(LSTM, routine="e1"),
    "tvdb-e2": replace(LSTM, routine="e2"),
}


WITHOUT_ETA = ("projection", "relaxed")  # updates that do not weigh the networks' outputs
HEARS_REGIONS = ("max", "vote")  # image sides that are nothing without regions; the others read the whole picture
SILENCES_REGIONS = ("max", "attention", "vote")  # image sides in which single regions can be silent while training
HAS_A_PART = {  # where settings that are without one elsewhere do something
    "eta": "--method tvdb-lstm, or update=spectral",
    "region_dropout": f"image={', '.join(SILENCES_REGIONS[:-1])} or {SILENCES_REGIONS[-1]}",
}
# How a preset sees pictures, if not by the defaults.
VISION: dict[str, dict[str, Any]] = {"tvdb-paper": {"backbone": "alexnet", "mode": "crop"}}


class CodeObjective:
    """Algorithm 1's code side: targets B and H of all training items; loss_f = |B - F|², loss_g = |H - G|².

    Where several processes train, one of them solves for the codes, so that all have the same to the last bit.
    """

    def __init__(self, labels: Labels, settings: TVDBSettings, device: torch.device):
        self.settings = settings
        self.routine = ROUTINES[settings.routine]
        self.random_batches = self.routine.random_batches
        self.update = make_update(settings.update)
        self.device = device
        self.world = join_world()
        self.labels = torch.from_numpy(labels.matrix()).to(device)
        # S and P of the batches to come, where found beforehand.
        self.prepared: Iterator[tuple[SetSimilarity, Tensor]] | None = None
        # F and G of the last batches. Codes that labels decide stay well while the networks say nothing any more.
        self.seen: deque[tuple[Tensor, Tensor]] = deque(maxlen=-(-SAMPLE // settings.batch))
        rng = np.random.default_rng(settings.seed)
        if self.routine.start == "whole set" or settings.update == "projection":
            self.B, self.H = start_all(self.update, self.labels, settings.bits, rng)
        else:
            shape = (2, len(labels), settings.bits)
            self.B, self.H = torch.from_numpy(rng.choice([-1.0, 1.0], shape).astype(np.float32)).to(device)
        self.B, self.H = self.world.share(self.B), self.world.share(self.H)

    @cached_property
    def whole(self) -> SetSimilarity:
        """Who is similar to whom in all of the training set."""
        return by_label_set(self.labels).centred(getattr(self.update, "centring", "double"))

    def before_training(self, batches: Iterator[Tensor]) -> None:
        # Eigenvectors are best found on the CPU, by other threads, while the GPU is busy with earlier batches.
        update, by_threads = self.update, self.device.type == "cuda" and self.world.leads
        if by_threads and isinstance(update, Spectral | Relaxed) and self.routine.update_batches:
            S = LabelSimilarity(self.labels.cpu(), update.centring)
            self.prepared = ahead(S, batches, self.device, bits=self.settings.bits, power=update.power)

    def similar(self, rows: Tensor) -> tuple[Tensor | SetSimilarity, Tensor | None]:
        """S between the items of the next batch, and P where it is known."""
        if self.prepared is not None:
            return next(self.prepared)
        labels = self.labels[rows]
        return similarity(labels, labels), None

    def loss(self, F: Tensor, G: Tensor, rows: Tensor) -> Tensor:
        self.seen.append((F.detach(), G.detach()))
        B, H = self.B[rows], self.H[rows]
        if self.routine.update_batches:
            with torch.no_grad():
                if self.world.leads:
                    (S, P), eta = self.similar(rows), self.settings.eta
                    B, H = self.update(CodeBatch(B=B, H=H, F=F.detach(), G=G.detach(), S=S, eta=eta, P=P))
                B, H = self.world.share(B), self.world.share(H)
            self.B[rows], self.H[rows] = B, H
        squares = (B - F).square(), (H - G).square()
        if self.settings.loss == "frobenius":
            return self.settings.eta * (squares[0].sum() + squares[1].sum())
        return squares[0].mean() + squares[1].mean()

    def after_epoch(self, epoch: int, outputs: Callable[[], tuple[Tensor, Tensor]]) -> dict[str, Any]:
        every = self.routine.whole_set_every
        if every is not None and (epoch + 1) % every == 0:
            F, G = outputs()
            if self.world.leads:
                self.B, self.H = update_all(self.update, self.whole, self.B, self.H, F, G, self.settings.eta)
            self.B, self.H = self.world.share(self.B), self.world.share(self.H)
        F, G = map(torch.cat, zip(*self.seen, strict=True))
        self.seen.clear()
        return health_figures(sign(self.B), {"pictures": sign(F), "sentences": sign(G)})

    def state(self) -> dict[str, Tensor]:
        return {"B": self.B, "H": self.H}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.B, self.H = state["B"].to(self.B.device), state["H"].to(self.H.device)


class TVDB(DeepHasher):
    """The method; `TVDB.preset("tvdb-lstm", bits=32)` starts from one of the documented settings."""

    method = "tvdb"
    kind = TVDBSettings
    presets = PRESETS
    to_the_letter = ("tvdb-paper",)

    def __init__(self, settings: TVDBSettings = PRESETS["tvdb"], *, device: str = "auto"):
        super().__init__(settings, device=device)

    @classmethod
    def preset(cls, name: str, *, device: str = "auto", **settings: Any) -> Self:
        """The hasher of a preset, with some settings changed."""
        hasher = super().preset(name, device=device, **settings)
        for setting, why in cls.without_part(name, **settings).items():
            if setting in settings:
                raise UsageError(
                    f"{setting} has no part in {why}",
                    next_step=f"leave it out, or take one where it has: {HAS_A_PART[setting]}",
                )
        return hasher

    @classmethod
    def without_part(cls, name: str, **settings: Any) -> dict[str, str]:
        """The settings that decide nothing in a preset with these settings, each with what it has no part in."""
        of = ("update", "loss", "image")
        update, loss, image = (settings.get(setting, getattr(cls.presets[name], setting)) for setting in of)
        idle = {"eta": f"the update {update!r}"} if update in WITHOUT_ETA and loss == "mean" else {}
        return idle | ({} if image in SILENCES_REGIONS else {"region_dropout": f"image={image}"})

    @classmethod
    def vision(cls, name: str, **settings: Any) -> dict[str, Any]:
        """How a preset with these settings sees pictures, if not by the defaults: without regions if it reads none."""
        image = settings.get("image", cls.presets[name].image)
        return VISION.get(name, {}) | ({"keep": 0} if image == "whole" else {})

    def build(self, inputs: Inputs) -> Towers:
        text = TEXT_NETWORKS[self.settings.text](inputs.n_words, self.settings)
        return Towers(IMAGE_NETWORKS[self.settings.image](inputs.width, self.settings), text)

    def check_regions(self, n_regions: int) -> None:
        """Refuse pictures without regions, the whole one not counted, where the image side compares regions."""
        if not n_regions and self.settings.image in HEARS_REGIONS:
            raise UsageError(
                f"image={self.settings.image} listens to regions, and keep=0 leaves none",
                next_step="set image=whole, or give --vision keep=20",
            )

    def objective(self, pairs: Pairs, towers: Towers, device: torch.device) -> CodeObjective:  # noqa: ARG002
        return CodeObjective(pairs.labels, self.settings, device)
