"""What other methods make of the very features that the photo model's last layers see: CCA and DCMH on coco18.

    python -m recipes.photo.baselines DATA --checkpoint photo.safetensors --cache CACHE --out BASELINES

Features are both trained networks' vectors before their last two layers. Written are the folders BASELINES/cca,
BASELINES/dcmh-64 and BASELINES/dcmh-128, as `encode` writes values.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.registry import METHODS
from deepbinaries.vision.backbones.efficientnet_lite0 import fold
from recipes.photo.batches import first_sentences, pixels_of, word_ids
from recipes.photo.checkpoint import read_networks
from recipes.photo.encode import AT_ONCE, every_row, resized
from recipes.photo.known import read_words
from recipes.photo.networks import BITS, SHORT_BITS
from recipes.photo.pixels import SIDE
from recipes.photo.sources import Source, read_sources

EPOCHS = 30  # of DCMH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    coco18 = read_sources(options.data)[0]
    images, texts = features(coco18, options)
    pairs = Pairs(images, texts, coco18.dataset.labels).select(coco18.train)
    for name, hasher in fitted(pairs):
        (options.out / name).mkdir(parents=True, exist_ok=True)
        for side, inputs in {"pictures": images, "sentences": texts}.items():
            np.save(options.out / name / f"coco18-{side}.npy", hasher.encode(inputs).astype(np.float16))
        print(name, flush=True)


def fitted(pairs: Pairs) -> Iterator[tuple[str, Any]]:
    """The methods by the names of their folders; CCA's first 64 values are those that it would find by themselves."""
    yield "cca", METHODS.load("cca").preset("cca", bits=BITS).fit(pairs)
    for bits in (SHORT_BITS, BITS):
        yield f"dcmh-{bits}", METHODS.load("dcmh").preset("dcmh", bits=bits, epochs=EPOCHS).fit(pairs)


@torch.inference_mode()
def features(source: Source, options: argparse.Namespace) -> tuple[Images, Texts]:
    """The vectors of all photographs and first sentences, 1280 numbers each."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    known = read_words(options.data / "teachers")
    pictures, sentences = read_networks(options.checkpoint, known.vectors)
    fold(pictures.backbone)
    pictures.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]  # unknown to its stubs
    sentences.to(device)
    pixels = pixels_of(source, every_row(source), options.cache, device)
    ids = word_ids(known.vocabulary, first_sentences(source, every_row(source)), device)
    seen = _in_parts(lambda some: pictures.pooled(resized(some, SIDE)), pixels)
    return Images.from_vectors(seen), Texts.from_vectors(_in_parts(sentences.pooled, ids))


def _in_parts(network: Callable[[Tensor], Tensor], items: Tensor) -> NDArray[np.float32]:
    parts = [network(some).cpu().numpy() for some in torch.split(items, AT_ONCE)]
    return np.concatenate(parts)


if __name__ == "__main__":
    main()
