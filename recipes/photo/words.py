"""Do words work that no training caption holds? Each of 100 is asked for beside its nearest neighbour that one holds.

    python -m recipes.photo.words DATA VALUES --checkpoint photo.safetensors --out results/photo/words.json
    python -m recipes.photo.words DATA VALUES --shipped --out results/photo/words.json

VALUES are what `encode` wrote: coco18's photographs are the gallery. Half of the words were taught without a
photograph, by what `wordings` says of them in another sentence; the other half no training has seen in any form: their
vectors were added afterwards (`known.py`; the networks in torch know none of these). All are such as photographs show:
news do not speak of them all the time, and their neighbour stands behind an article in captions. Printed are the ten
nearest photographs' overlap with those of the neighbour, and its mean beside that of words drawn at random.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deepbinaries.codes import Codes, top_k
from deepbinaries.files import write_json
from deepbinaries.language import STOP_WORDS, words
from deepbinaries.language.vocabulary import FIRST_WORD
from deepbinaries.model import Model
from deepbinaries.pretrained import place_of
from recipes.photo.checkpoint import read_networks
from recipes.photo.encode import sentence_values
from recipes.photo.known import Words, known_by, read_words
from recipes.photo.sources import captions, read_sources
from recipes.photo.wordings import TOKENS

ASKED = 50  # of each kind
TAUGHT = 41_390  # words that the training knew, in the captions or without; what is known beyond was added
ARTICLES = ("a", "an", "the")
RARE = 10_000  # GloVe's most frequent words, which are those of news, are not asked
OFTEN = 50  # times that a neighbour stands behind one of them in the training captions
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
    said = [words(text, TOKENS) for text in captions(options.data, sources)]
    if options.shipped:
        model = Model.from_pretrained(options.shipped)
        known, encode = known_by(model, place_of(options.shipped)), by_shipped(model)
    else:
        known = read_words(options.data / "teachers")
        encode = by_torch(options.checkpoint, known)
    counts, shown = Counter(chain.from_iterable(said)), things(said)
    gallery = Codes.from_values(np.load(options.values / "coco18-pictures.npy", allow_pickle=False).astype(np.float32))
    ids = sources[0].dataset.ids
    n = len(known.vocabulary.words)
    kinds = {"taught": range(RARE, min(TAUGHT, n)), "added": range(TAUGHT, n)}
    found = {
        kind: asked(neighbours(known, counts, shown, places), encode, gallery, ids)
        for kind, places in kinds.items()
        if places
    }
    if options.out:
        about = {"model": "shipped" if options.shipped else "torch", "gallery": f"coco18, {len(ids):,} photographs"}
        write_json(about | {"mode": "hamming", "k": K, "sentence": SENTENCE} | found, options.out)


def asked(
    pairs: Sequence[tuple[str, str]],
    encode: Callable[[Sequence[str]], Values],
    gallery: Codes,
    ids: Sequence[str],
) -> dict[str, Any]:
    """What words and their neighbours find, and how much of it they share."""
    unseen, seen = (answers(encode, some, gallery) for some in zip(*pairs, strict=True))
    overlaps = [shared(a, b) for a, b in zip(unseen, seen, strict=True)]
    at_random = [shared(a, b) for i, a in enumerate(unseen) for j, b in enumerate(seen) if i != j]
    figures = {"mean_overlap": float(np.mean(overlaps)), "mean_overlap_at_random": float(np.mean(at_random or 0))}
    figures["without_overlap"] = overlaps.count(0)
    found = [
        {"word": word, "neighbour": neighbour, "overlap": overlap, "answer": _ids(ids, a), "of_neighbour": _ids(ids, b)}
        for (word, neighbour), overlap, a, b in zip(pairs, overlaps, unseen, seen, strict=True)
    ]
    for entry in found:
        print(f"{entry['word']:>16} {entry['neighbour']:<16} {entry['overlap']:2} of {K}")
    print(figures)
    return figures | {"words": found}


def things(said: Iterable[Sequence[str]]) -> Counter[str]:
    """How often each word stands behind an article: things do, and what is said of them.

    >>> things([["a", "dog", "runs"], ["the", "dog"]])
    Counter({'dog': 2})
    """
    return Counter(word for sentence in said for before, word in pairwise(sentence) if before in ARTICLES)


def neighbours(known: Words, counts: Counter[str], shown: Counter[str], places: range) -> list[tuple[str, str]]:
    """Of the known words of these places, outside the captions, the nearest to a thing inside, each with that one."""
    spelt, table = known.vocabulary.words, known.vectors.numpy()[FIRST_WORD:]
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    inside = [i for i, word in enumerate(spelt) if shown[word] >= OFTEN and word not in STOP_WORDS and word.isalpha()]
    outside = [i for i in places if not counts[spelt[i]] and spelt[i].isalpha()]
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


def by_shipped(model: Model) -> Callable[[Sequence[str]], Values]:
    return lambda texts: model.encode_texts(list(texts), values=True)


def by_torch(checkpoint: Path, known: Words) -> Callable[[Sequence[str]], Values]:
    _, network = read_networks(checkpoint, known.vectors)

    def encode(texts: Sequence[str]) -> Values:
        values: Values = sentence_values(network, torch.from_numpy(known.vocabulary.encode(texts)).long()).numpy()
        return values

    return encode


def shared(a: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    return len(np.intersect1d(a, b))


def _ids(ids: Sequence[str], rows: NDArray[np.int64]) -> list[str]:
    return [ids[row] for row in rows]


if __name__ == "__main__":
    main()
