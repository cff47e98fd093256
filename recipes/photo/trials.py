"""A short training of the heads on a backbone that stays as published: half a minute on a GPU, to compare settings.

    python -m recipes.photo.trials FULL --thumbnails DATA --cache CACHE --epochs 24 --tau .05 --out tried.jsonl
    python -m recipes.photo.trials FULL --thumbnails DATA --cache CACHE --epochs 24 --read loudest --out tried.jsonl

Its options are those of `train`, and how a picture's regions are read; `--side` and `--frozen` mean nothing here. It
finds far less than the whole training does, and says which settings are worth one. A line a trial is added to the file:
the settings, and recall@10 on the validation parts, in each size that is there.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from torch import Tensor

from deepbinaries.features.inputs import POSITION
from deepbinaries.progress import track
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings
from recipes.photo.batches import Pairs, pairs_of
from recipes.photo.networks import Head
from recipes.photo.pixels import THUMBNAILS, decoded
from recipes.photo.readers import READERS
from recipes.photo.sources import Rows, Source, read_sources, training_sentences
from recipes.photo.teachers import read_teachers
from recipes.photo.train import Validation, judged, options_of_training, settings_of, validation
from recipes.photo.training import Networks, Settings, Training, half

SEEN_AT = 288  # pixels; every photograph is looked at once, whole
KEEP = 12  # regions, where they are read
AT_ONCE = 256  # photographs


class Trial(Training):
    """The same training, of photographs that were looked at once: features stand where pixels do."""

    def look(self, rows: Tensor) -> Tensor:
        reader: Any = self.networks.pictures.reader
        with half(self.device):
            read: Tensor = reader(self.pairs.some_pixels(rows).float())
        return read


def main() -> None:
    began = time.monotonic()
    parser = options_of_training(__doc__)
    parser.add_argument("--read", choices=READERS, default="whole", help="how a picture's regions are read")
    parser.add_argument("--proposer", default="rpn", help="of the regions")
    options = parser.parse_args()
    settings = replace(settings_of(options), side=SEEN_AT)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(settings.seed)
    torch.set_float32_matmul_precision("high")
    sources, thumbnails = read_sources(options.data), read_sources(options.thumbnails) if options.thumbnails else []
    teachers = read_teachers(options.data / "teachers", training_sentences(sources))
    folders = {options.cache: sources, options.cache / THUMBNAILS: thumbnails}
    seeing = VisionSettings(proposer=options.proposer, keep=0 if options.read == "whole" else KEEP, side=SEEN_AT)
    encoder = RegionEncoder(seeing, backbone_weights=options.weights, device=device)
    looked = {
        (folder, source.name): features_of(source, folder, encoder)
        for folder, of_folder in folders.items()
        for source in of_folder
    }

    def seen(source: Source, rows: Rows, folder: Path, where: str) -> Tensor:
        return torch.from_numpy(looked[folder, source.name][rows]).to(where)

    pairs = pairs_of(sources, thumbnails, teachers, options.cache, device, look=seen)
    judges = [
        validation(source, name, seen(source, source.validation, folder, device), teachers)
        for folder, name in ((options.cache, ""), (options.cache / THUMBNAILS, THUMBNAILS))
        for source in folders[folder]
        if len(source.validation)
    ]
    found = learn(settings, options.read, torch.from_numpy(teachers.words), pairs, judges)
    mean = round(float(np.mean(list(found.values()))), 4)
    line = {"read": options.read, "proposer": options.proposer if seeing.keep else "none", "keep": seeing.keep}
    line |= {"mean": mean, "found": found, "pairs": len(pairs), "seconds": round(time.monotonic() - began)}
    line |= {"settings": asdict(settings)}
    print(json.dumps(line), flush=True)
    with options.out.open("a") as file:
        file.write(json.dumps(line) + "\n")


def features_of(source: Source, cache: Path, encoder: RegionEncoder) -> NDArray[np.float16]:
    """What is seen of the photographs that are learnt from or chosen by: (items, keep + 1, 1284), kept."""
    known = hashlib.sha256(json.dumps(encoder.fingerprint, sort_keys=True).encode()).hexdigest()
    path = cache / f"{source.name}-seen-{known[:12]}.npy"
    if not path.exists():
        pixels, rows = decoded(source.dataset, cache), np.union1d(source.train, source.validation)
        shape = len(source.dataset.ids), encoder.settings.keep + 1, encoder.width + POSITION
        unfinished = path.with_suffix(".part")
        seen = open_memmap(unfinished, "w+", np.float16, shape)
        for start in track(range(0, len(rows), AT_ONCE), f"looking at {source.name}"):
            some = rows[start : start + AT_ONCE]
            seen[some] = encoder.encode(list(pixels[some]))
        seen.flush()
        unfinished.replace(path)
    features: NDArray[np.float16] = np.load(path, mmap_mode="r", allow_pickle=False)
    return features


def learn(settings: Settings, read: str, words: Tensor, pairs: Pairs, judges: Sequence[Validation]) -> dict[str, float]:
    """What the heads find on the validation parts when they have learnt."""
    networks = Networks(words, pairs.vectors.shape[1], settings)
    reader = networks.pictures.reader = READERS[read]()
    networks.pictures.head = Head(reader.width, settings.dropout)
    networks.pictures.backbone.requires_grad_(False)
    training = Trial(networks.to(pairs.pixels.device), pairs, settings)
    for number in range(settings.epochs):
        losses = training.epoch(number)
        print(f"epoch {number + 1}/{settings.epochs} losses {losses}", flush=True)
    return judged(training.averaged, judges, partial(seen_by, training.averaged))


@torch.inference_mode()
def seen_by(networks: Networks, features: Tensor) -> Tensor:
    """The values of pictures that were looked at before, by the heads alone."""
    reader: Any = networks.pictures.reader
    values: Tensor = networks.pictures.head(reader(features.float()))
    return values


if __name__ == "__main__":
    main()
