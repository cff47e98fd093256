"""The words that the photo model knows: those of its training, and more whose vectors are added afterwards.

GloVe's vectors were never trained, so a row that is added to their table is read as any other is. Words that were there
keep their places, and what they mean.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deepbinaries.files import read_bytes, read_json, read_lines
from deepbinaries.hashers.onnx_towers import TEXT
from deepbinaries.language import LITTLE_WORDS, Vocabulary, words
from deepbinaries.model import Model
from deepbinaries.onnx_files import MAX_BYTES
from recipes.photo.networks import WORD_SIZE

LENGTH = 10.0  # of a word's vector: rare words have short ones in GloVe, and shall speak as loudly as their neighbours
MORE = 30_000
SPOKEN = 5  # times that captions use a word which others are measured by
NEAREST = 5  # of these words, whose cosines are averaged
TABLE, STEP = "words_bytes", "words_scale"  # the names that vectors and scale have in the file of the sentence network

Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Words:
    """The words that are known, and their vectors in bytes, (ids, 100), of which one step is `scale`."""

    vocabulary: Vocabulary
    table: NDArray[np.int8]
    scale: float

    @property
    def vectors(self) -> Tensor:
        return torch.from_numpy(self.table.astype(np.float32) * np.float32(self.scale))


def read_words(folder: Path) -> Words:
    """What `teachers` wrote of the words."""
    table = np.load(folder / "words.npy", allow_pickle=False)
    return Words(
        Vocabulary.load(folder / "vocabulary.json"), table, float(read_json(folder / "teachers.json")["scale"])
    )


def known_by(model: Model, folder: Path) -> Words:
    """The words of a model that `ship` wrote into a folder."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load_from_string(read_bytes(folder / TEXT, limit=MAX_BYTES)).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer if one.name in (TABLE, STEP)}
    return Words(model.vocabulary, stored[TABLE], float(stored[STEP]))


def with_words(content: bytes, words: Words) -> bytes:
    """The file of a sentence network with the vectors of other words."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load_from_string(content)
    (place,) = (at for at, one in enumerate(model.graph.initializer) if one.name == TABLE)
    model.graph.initializer[place].CopyFrom(numpy_helper.from_array(words.table, TABLE))
    changed: bytes = model.SerializeToString()
    return changed


def vectors_of(glove: Mapping[str, Any], some: Sequence[str]) -> Vectors:
    """GloVe's vectors of words, all of one length."""
    vectors = np.array([glove["vectors"][word][:WORD_SIZE] for word in some], dtype=np.float32)
    vectors *= LENGTH / np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def with_more(known: Words, glove: Mapping[str, Any], listed: Path, sentences: Iterable[str], n: int = MORE) -> Words:
    """The words and `n` more of those in a list of English words, the nearest to what captions speak of.

    So names of people and firms, of which news are full and photographs are not, make room for things. The vocabulary
    then also says which words the captions used, and how often.
    """
    vocabulary = known.vocabulary
    english = {word for word in read_lines(listed) if word.isascii() and word.isalpha() and word.islower()}
    new = [word for word in glove["words"] if word in english and word not in vocabulary and _is_one(word, vocabulary)]
    sentences = list(sentences)
    spoken = vocabulary.spoken_in(sentences, minimum_count=SPOKEN)
    telling = [word for word in spoken if word not in LITTLE_WORDS and word in glove["vectors"]]
    order = np.argsort(-nearness(vectors_of(glove, new), vectors_of(glove, telling)), kind="stable")
    added = [new[place] for place in order[:n]]
    rows = np.rint(vectors_of(glove, added) / known.scale).clip(-127, 127).astype(np.int8)
    wider = Vocabulary([*vocabulary.words, *added], vocabulary.settings, spoken=vocabulary.spoken_in(sentences))
    return Words(wider, np.concatenate([known.table, rows]), known.scale)


def nearness(some: Vectors, others: Vectors, at_once: int = 4096) -> Vectors:
    """The mean cosine of each vector with those of `others` that are nearest to it."""
    units = others / np.linalg.norm(others, axis=1, keepdims=True)
    found = [
        np.sort(part @ units.T / LENGTH, axis=1)[:, -NEAREST:].mean(axis=1)
        for part in np.array_split(some, -(-len(some) // at_once))
    ]
    return np.concatenate(found)


def _is_one(word: str, vocabulary: Vocabulary) -> bool:
    """Whether the model reads it as one word, spelt like this."""
    return words(word, vocabulary.settings) == [word]
