"""Do words work that no training caption holds? Each of 50 is searched for beside its nearest neighbour that one holds.

    python -m recipes.photo.words DATA VALUES --checkpoint photo.safetensors --out results/photo/words.json
    python -m recipes.photo.words DATA VALUES --shipped --out results/photo/words.json

VALUES are what `encode` wrote: coco18's photographs are the gallery. Printed are the ten nearest photographs' overlap
with those of the neighbour, and its mean beside that of words drawn at random. What `wordings` taught of these words
was said in another sentence.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from deepbinaries.codes import Codes, top_k
from deepbinaries.files import read_lines, write_json
from deepbinaries.language import STOP_WORDS, Vocabulary, words
from deepbinaries.language.vocabulary import FIRST_WORD
from deepbinaries.model import Model
from recipes.photo.checkpoint import read_networks
from recipes.photo.encode import sentence_values
from recipes.photo.sources import Source, read_sources, training_sentences
from recipes.photo.teachers import read_words
from recipes.photo.wordings import TOKENS

ASKED = 50
OFTEN = 50  # times that a neighbour stands in the training captions
SENTENCE = "there is a {} in the picture"
K = 10

Values = NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("values", type=Path)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--shipped", nargs="?", const="photo", help="the model in the package, or in this folder")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sources = read_sources(options.data)
    counts = Counter(word for text in captions(options.data, sources) for word in words(text, TOKENS))
    vocabulary, table = read_words(options.data / "teachers")
    pairs = neighbours(vocabulary, table, counts)
    encode = by_shipped(options.shipped) if options.shipped else by_torch(options.checkpoint, vocabulary, table)
    gallery = Codes.from_values(np.load(options.values / "coco18-pictures.npy", allow_pickle=False).astype(np.float32))
    unseen, seen = (answers(encode, some, gallery) for some in zip(*pairs, strict=True))
    overlaps = [shared(a, b) for a, b in zip(unseen, seen, strict=True)]
    at_random = [shared(a, b) for i, a in enumerate(unseen) for j, b in enumerate(seen) if i != j]
    ids = sources[0].dataset.ids
    found = [
        {"word": word, "neighbour": neighbour, "overlap": overlap, "answer": _ids(ids, a), "of_neighbour": _ids(ids, b)}
        for (word, neighbour), overlap, a, b in zip(pairs, overlaps, unseen, seen, strict=True)
    ]
    for entry in found:
        print(f"{entry['word']:>16} {entry['neighbour']:<16} {entry['overlap']:2} of {K}")
    figures = {"mean_overlap": float(np.mean(overlaps)), "mean_overlap_at_random": float(np.mean(at_random))}
    figures["without_overlap"] = overlaps.count(0)
    print(figures)
    if options.out:
        model = "shipped" if options.shipped else "torch"
        asked = {"gallery": f"coco18, {len(ids):,} photographs", "mode": "hamming", "k": K, "sentence": SENTENCE}
        write_json({"model": model} | figures | asked | {"words": found}, options.out, indent=1)


def captions(data: Path, sources: Sequence[Source]) -> list[str]:
    """Everything that is learnt from, also where the photographs of `extra` were not packed."""
    extra = data / "coco18" / "extra.jsonl"
    packed = any(source.name == "extra" for source in sources)
    more = read_lines(extra) if extra.exists() and not packed else []
    return training_sentences(sources) + [json.loads(line)["text"] for line in more]


def neighbours(vocabulary: Vocabulary, table: NDArray[np.float32], counts: Counter[str]) -> list[tuple[str, str]]:
    """The words outside the captions that are nearest to one inside, each with that neighbour, the nearest first."""
    spelt = vocabulary.words
    unit = table[FIRST_WORD:] / np.linalg.norm(table[FIRST_WORD:], axis=1, keepdims=True)
    inside = [i for i, word in enumerate(spelt) if counts[word] >= OFTEN and word not in STOP_WORDS and word.isalpha()]
    outside = [i for i, word in enumerate(spelt) if not counts[word] and word.isalpha()]
    cosines = unit[outside] @ unit[inside].T
    best = cosines.argmax(axis=1)
    found: dict[str, str] = {}  # a neighbour speaks for one word only, so that fifty things are asked for
    for place in np.argsort(-cosines.max(axis=1)):
        found.setdefault(spelt[inside[best[place]]], spelt[outside[place]])
    return [(word, neighbour) for neighbour, word in list(found.items())[:ASKED]]


def answers(encode: Callable[[Sequence[str]], Values], some: Sequence[str], gallery: Codes) -> list[NDArray[np.int64]]:
    """The rows of the K nearest photographs of each word."""
    values = encode([SENTENCE.format(word) for word in some])
    return list(top_k(Codes.from_values(values), gallery, K).rows)


def by_shipped(folder: str) -> Callable[[Sequence[str]], Values]:
    model = Model.from_pretrained(folder)
    return lambda texts: model.encode_texts(list(texts), values=True)


def by_torch(checkpoint: Path, vocabulary: Vocabulary, table: Values) -> Callable[[Sequence[str]], Values]:
    _, network = read_networks(checkpoint, torch.from_numpy(table))

    def encode(texts: Sequence[str]) -> Values:
        values: Values = sentence_values(network, torch.from_numpy(vocabulary.encode(texts)).long()).numpy()
        return values

    return encode


def shared(a: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    return len(np.intersect1d(a, b))


def _ids(ids: Sequence[str], rows: NDArray[np.int64]) -> list[str]:
    return [ids[row] for row in rows]


if __name__ == "__main__":
    main()
