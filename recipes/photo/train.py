"""Trains the photo model: the networks of `networks.py` on coco18's and iapr22's database parts and `extra`.

    python -m recipes.photo.train FULL --thumbnails DATA --cache CACHE --out photo.safetensors

FULL holds coco18, iapr22, extra and teachers, DATA the thumbnails; it takes six minutes on an H200. Every few epochs
the networks and their averages are judged on both validation parts, which are never learnt from, in full size and as
thumbnails, and the best ones so far are saved.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from deepbinaries.vision.backbones.efficientnet_lite0 import find_weights
from deepbinaries.vision.backbones.weights import load_into
from recipes.photo.batches import first_sentences, pairs_of, pixels_of, word_ids
from recipes.photo.checkpoint import save_networks
from recipes.photo.encode import picture_values, sentence_values
from recipes.photo.losses import LossSettings
from recipes.photo.networks import BITS, SHORT_BITS
from recipes.photo.pixels import SIDE, THUMBNAILS
from recipes.photo.recall import recall_at
from recipes.photo.sources import Source, read_sources, training_sentences
from recipes.photo.teachers import Teachers, read_teachers
from recipes.photo.training import Networks, Settings, Training

OTHER_SIDES = (256, 320)  # at which the result is judged too


@dataclass(frozen=True, eq=False)
class Validation:
    """Pairs to choose by: pixels, and the word ids of first sentences."""

    name: str
    pixels: Tensor
    ids: Tensor


def main() -> None:
    began = time.monotonic()
    options = options_of_training(__doc__).parse_args()
    settings = settings_of(options)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(settings.seed)
    torch.backends.cudnn.benchmark, torch.backends.cudnn.benchmark_limit = True, 4  # all ten take a minute to try
    torch.set_float32_matmul_precision("high")
    sources = read_sources(options.data)
    teachers = read_teachers(options.data / "teachers", training_sentences(sources))
    thumbnails = read_sources(options.thumbnails) if options.thumbnails else []
    pairs = pairs_of(sources, thumbnails, teachers, options.cache, device)
    judges = [
        validation(source, folder, pixels_of(source, source.validation, options.cache / folder, device), teachers)
        for folder, of_folder in {"": sources, THUMBNAILS: thumbnails}.items()
        for source in of_folder
        if len(source.validation)
    ]
    networks = Networks(torch.from_numpy(teachers.words), pairs.vectors.shape[1], settings)
    load_into(networks.pictures.backbone, find_weights(options.weights), leave_out="_fc.")
    networks.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]  # unknown to its stubs
    training = Training(networks, pairs, settings)
    print(f"{len(pairs):,} pairs on {device} after {time.monotonic() - began:.0f} s", flush=True)
    most = 0.0
    for number in range(settings.epochs):
        losses = training.epoch(number)
        print(f"{time.monotonic() - began:4.0f} s  epoch {number + 1}/{settings.epochs} losses {losses}", flush=True)
        if (number + 1) % options.judge_every == 0 or number + 1 == settings.epochs:
            better, figures = the_better(training, judges)
            facts = {"epoch": number + 1, "settings": asdict(settings), "found": figures}
            if sum(figures.values()) > most:
                most = sum(figures.values())
                save_networks(better.pictures, better.sentences, options.out, facts)
    for side in OTHER_SIDES:
        found = judged(better, judges, partial(picture_values, better.pictures, side=side))
        print(f"recall@10 of photographs at {side}: {found}", flush=True)


def options_of_training(about: str | None) -> argparse.ArgumentParser:
    """All that can be set of a training, and where things lie."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--thumbnails", type=Path, help="the folder of coco18 and iapr22 in small")
    parser.add_argument("--cache", type=Path, required=True, help="where `pixels` decodes to")
    parser.add_argument("--weights", type=Path, help="Lite0's; otherwise those of the installed package")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=Settings.epochs)
    parser.add_argument("--judge-every", type=int, default=5, help="epochs")
    parser.add_argument("--batch", type=int, default=Settings.batch)
    parser.add_argument("--side", type=int, default=Settings.side, help="pixels of the crops")
    parser.add_argument("--lr", type=float, default=Settings.lr)
    parser.add_argument("--tau", type=float, default=LossSettings.tau)
    parser.add_argument("--meaning", type=float, default=LossSettings.meaning, help="weight of what sentences mean")
    parser.add_argument("--wordings-weight", type=float, default=LossSettings.wordings, help="of what they mean")
    parser.add_argument("--wordings", type=int, default=Settings.wordings, help="of them a step")
    parser.add_argument("--first", type=float, default=Settings.first, help="share of the draws of first sentences")
    parser.add_argument("--dropout", type=float, default=Settings.dropout)
    parser.add_argument("--frozen", type=int, default=Settings.frozen, help="first blocks of the backbone, not trained")
    parser.add_argument("--labels", type=float, default=LossSettings.labels, help="weight of coco18's labels")
    parser.add_argument("--seed", type=int, default=Settings.seed)
    return parser


def settings_of(options: argparse.Namespace) -> Settings:
    return Settings(
        epochs=options.epochs,
        batch=options.batch,
        side=options.side,
        lr=options.lr,
        backbone_lr=options.lr * Settings.backbone_lr / Settings.lr,
        frozen=options.frozen,
        wordings=options.wordings,
        first=options.first,
        dropout=options.dropout,
        loss=LossSettings(
            tau=options.tau, labels=options.labels, meaning=options.meaning, wordings=options.wordings_weight
        ),
        seed=options.seed,
    )


def validation(source: Source, size: str, pixels: Tensor, teachers: Teachers) -> Validation:
    """The validation part of a source, by what is known of its photographs in a size."""
    ids = word_ids(teachers.vocabulary, first_sentences(source, source.validation), str(pixels.device))
    return Validation(f"{source.name} {size}".strip(), pixels, ids)


def the_better(training: Training, judges: Sequence[Validation]) -> tuple[Networks, dict[str, float]]:
    """The last networks or their averages, whichever find more, and what they find."""
    found = {}
    for name, networks in {"last": training.networks.eval(), "averaged": training.averaged}.items():
        found[name] = networks, judged(networks, judges, partial(picture_values, networks.pictures, side=SIDE))
        print(f"        recall@10 {name} {found[name][1]}", flush=True)
    return max(found.values(), key=lambda one: sum(one[1].values()))


def judged(networks: Networks, judges: Sequence[Validation], see: Callable[[Tensor], Tensor]) -> dict[str, float]:
    """How often a sentence finds its picture among the first ten, at both lengths; `see` gives the pictures' values."""
    figures = {}
    for judge in judges:
        seen = see(judge.pixels)
        read = sentence_values(networks.sentences, judge.ids)
        for bits in (BITS, SHORT_BITS):
            figures[f"{judge.name} {bits}"] = round(recall_at(10, read[:, :bits], seen[:, :bits]), 4)
    return figures


if __name__ == "__main__":
    main()
