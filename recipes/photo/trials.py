"""A short training of the heads on a backbone that stays as published: half a minute on a GPU, to compare settings.

    python -m recipes.photo.trials FULL --thumbnails DATA --cache CACHE --epochs 24 --tau .05 --out tried.jsonl

Its options are those of `train`. It finds far less than the whole training does, and says which settings are worth one.
A line a trial is added to the file: the settings, and recall@10 on both validation parts, in both sizes.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deepbinaries.vision.backbones.efficientnet_lite0 import WIDTH, EfficientNetLite0, find_weights, fold
from deepbinaries.vision.backbones.weights import load_into
from recipes.photo.batches import Pairs, first_sentences, pairs_of, pixels_of, word_ids
from recipes.photo.encode import AT_ONCE, resized, sentence_values
from recipes.photo.networks import BITS, SHORT_BITS
from recipes.photo.pixels import THUMBNAILS
from recipes.photo.recall import recall_at
from recipes.photo.sources import Rows, Source, read_sources, training_sentences
from recipes.photo.teachers import read_teachers
from recipes.photo.train import Validation, read_options, settings_of
from recipes.photo.training import Networks, Settings, Training

SEEN_AT = 224  # pixels; every photograph is looked at once, whole


class Trial(Training):
    """The same training, of photographs that were looked at once: features stand where pixels do."""

    def look(self, rows: Tensor) -> Tensor:
        return self.pairs.some_pixels(rows).float()


def main() -> None:
    began = time.monotonic()
    options = read_options(__doc__)
    settings = settings_of(options)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(settings.seed)
    torch.set_float32_matmul_precision("high")
    sources, thumbnails = read_sources(options.data), read_sources(options.thumbnails) if options.thumbnails else []
    teachers = read_teachers(options.data / "teachers", training_sentences(sources))
    folders = {options.cache: sources, options.cache / THUMBNAILS: thumbnails}
    looked = {
        (folder, source.name): features_of(source, folder, options.weights, device)
        for folder, of_folder in folders.items()
        for source in of_folder
    }

    def seen(source: Source, rows: Rows, folder: Path, where: str) -> Tensor:
        return torch.from_numpy(looked[folder, source.name][rows]).to(where)

    pairs = pairs_of(sources, thumbnails, teachers, options.cache, device, look=seen)
    judges = [
        Validation(
            f"{source.name} {'' if folder == options.cache else THUMBNAILS}".strip(),
            seen(source, source.validation, folder, device),
            word_ids(teachers.vocabulary, first_sentences(source, source.validation), device),
        )
        for folder, of_folder in folders.items()
        for source in of_folder
        if len(source.validation)
    ]
    found = learn(settings, torch.from_numpy(teachers.words), pairs, judges)
    mean = round(float(np.mean(list(found.values()))), 4)
    line = {"mean": mean, "found": found, "seconds": round(time.monotonic() - began), "settings": asdict(settings)}
    print(json.dumps(line), flush=True)
    with options.out.open("a") as file:
        file.write(json.dumps(line) + "\n")


def features_of(source: Source, cache: Path, weights: Path | None, device: str) -> NDArray[np.float16]:
    """What the published backbone sees in the photographs that are learnt from or chosen by: (items, 1280), kept."""
    path = cache / f"{source.name}-seen-{SEEN_AT}.npy"
    if not path.exists():
        backbone = EfficientNetLite0()
        load_into(backbone, find_weights(weights), leave_out="_fc.")
        fold(backbone)
        backbone.eval().to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        rows = np.union1d(source.train, source.validation)
        seen = np.zeros((len(source.dataset.ids), WIDTH), dtype=np.float16)
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            with torch.inference_mode(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                pooled = backbone(resized(pixels_of(source, some, cache, device), SEEN_AT))
            seen[some] = pooled.float().cpu().numpy()
        np.save(path, seen)
    features: NDArray[np.float16] = np.load(path, mmap_mode="r", allow_pickle=False)
    return features


def learn(settings: Settings, words: Tensor, pairs: Pairs, judges: Sequence[Validation]) -> dict[str, float]:
    """What the heads find on the validation parts when they have learnt."""
    networks = Networks(words, pairs.vectors.shape[1], settings).to(pairs.pixels.device)
    networks.pictures.backbone.requires_grad_(False)
    training = Trial(networks, pairs, settings)
    for number in range(settings.epochs):
        training.epoch(number)
    figures = {}
    for judge in judges:
        with torch.inference_mode():
            seen = training.averaged.pictures.head(judge.pixels.float())
        read = sentence_values(training.averaged.sentences, judge.ids)
        for bits in (BITS, SHORT_BITS):
            figures[f"{judge.name} {bits}"] = round(recall_at(10, read[:, :bits], seen[:, :bits]), 4)
    return figures


if __name__ == "__main__":
    main()
