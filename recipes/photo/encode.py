"""Values of every photograph and first sentence of coco18 and iapr22, by the trained networks or by the shipped model.

    python -m recipes.photo.encode DATA --checkpoint photo.safetensors --cache CACHE --out VALUES
    python -m recipes.photo.encode DATA --shipped --out VALUES

Written are `coco18-pictures.npy`, `coco18-sentences.npy` and the same for iapr22: (n, 128) float16, 22 MB in all; and
`model.json`, the digest of the model, which `score` notes with each figure.
"""

import argparse
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from deepbinaries.files import write_json
from deepbinaries.model import Model
from deepbinaries.search.models import LazyModel
from deepbinaries.vision.backbones.efficientnet_lite0 import fold
from recipes.photo.batches import first_sentences, pixels_of, word_ids
from recipes.photo.checkpoint import read_networks
from recipes.photo.known import read_words
from recipes.photo.networks import PictureNetwork, SentenceNetwork
from recipes.photo.pixels import SIDE
from recipes.photo.sources import Rows, Source, read_sources

AT_ONCE = 250
MADE_BY = "model.json"

Values = NDArray[np.floating[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--shipped", nargs="?", const="photo", help="the model in the package, or in this folder")
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--cache", type=Path, help="where `pixels` decodes to")
    parser.add_argument("--side", type=int, default=SIDE, help="of the photographs; the shipped model has its own")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    encode = by_shipped(options.shipped) if options.shipped else by_torch(options)
    for source in read_sources(options.data):
        if len(source.query):
            pictures, sentences = encode(source)
            np.save(options.out / f"{source.name}-pictures.npy", pictures.astype(np.float16))
            np.save(options.out / f"{source.name}-sentences.npy", sentences.astype(np.float16))
            print(source.name, pictures.shape, sentences.shape, flush=True)
    write_json({"sha256": digest_of_model(options)}, options.out / MADE_BY)


def digest_of_model(options: argparse.Namespace) -> str:
    """That of the shipped folder, or of the checkpoint's file."""
    if options.shipped:
        return LazyModel(options.shipped).fingerprint
    return hashlib.sha256(options.checkpoint.read_bytes()).hexdigest()


def by_shipped(folder: str) -> Callable[[Source], tuple[Values, Values]]:
    """Pictures and first sentences of a source to their values, through the package alone."""
    model = Model.from_pretrained(folder)

    def encode(source: Source) -> tuple[Values, Values]:
        rows = every_row(source)
        pictures = [model.encode_images(_files(source, some), values=True) for some in np.array_split(rows, 50)]
        return np.concatenate(pictures), model.encode_texts(first_sentences(source, rows), values=True)

    return encode


def by_torch(options: argparse.Namespace) -> Callable[[Source], tuple[Values, Values]]:
    """The same by the networks of a checkpoint."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    known = read_words(options.data / "teachers")
    pictures, sentences = read_networks(options.checkpoint, known.vectors)
    fold(pictures.backbone)
    pictures.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]  # unknown to its stubs
    sentences.to(device)

    def encode(source: Source) -> tuple[Values, Values]:
        rows = every_row(source)
        pixels = pixels_of(source, rows, options.cache, device)
        ids = word_ids(known.vocabulary, first_sentences(source, rows), device)
        seen, read = picture_values(pictures, pixels, options.side), sentence_values(sentences, ids)
        return seen.cpu().numpy(), read.cpu().numpy()

    return encode


def every_row(source: Source) -> Rows:
    return np.arange(len(source.dataset.ids))


def _files(source: Source, rows: Rows) -> Sequence[bytes]:
    return [source.dataset.picture(int(row)) for row in rows]


@torch.inference_mode()
def picture_values(network: PictureNetwork, pixels: Tensor, side: int) -> Tensor:
    """The values of pixels (n, h, w, 3) in bytes, brought to `side`: (n, 128)."""
    return torch.cat([network(resized(some, side)) for some in torch.split(pixels, AT_ONCE)])


@torch.inference_mode()
def sentence_values(network: SentenceNetwork, ids: Tensor) -> Tensor:
    """The values of word ids (n, 24): (n, 128)."""
    return torch.cat([network(some) for some in torch.split(ids, AT_ONCE)])


def resized(pixels: Tensor, side: int) -> Tensor:
    """Pixels (n, h, w, 3) as the backbone wants them, (n, 3, side, side)."""
    pictures = pixels.permute(0, 3, 1, 2)
    if pictures.shape[2] == side:
        return pictures
    return functional.interpolate(pictures.float(), (side, side), mode="bicubic", antialias=True).clamp(0, 255)


if __name__ == "__main__":
    main()
