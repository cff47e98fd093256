"""A model that knows colours and nothing else, without networks: what a picture or a sentence means can be computed."""

from types import SimpleNamespace

import numpy as np
from PIL import Image

from deepbinaries.codes import Codes
from deepbinaries.language import Vocabulary

BITS = 64
COLOURS = {"red": (1, -1, -1), "green": (-1, 1, -1), "blue": (-1, -1, 1), "white": (1, 1, 1), "black": (-1, -1, -1)}
LITTLE = ("a", "the", "of", "on", "in", "and", "is", "there", "with", "it", "this", "that")

_rng = np.random.default_rng(7)
_MIX = _rng.standard_normal((3, BITS))
_MEANINGS = COLOURS | {word: tuple(_rng.standard_normal(3) * 0.2) for word in LITTLE}


class PlainModel:
    """Values are a fixed mix of red, green and blue; a sentence means the sum of its words."""

    bits = BITS

    def __init__(self):
        self.vocabulary = Vocabulary([*COLOURS, *LITTLE])
        self.encoder = SimpleNamespace(at_least=64, square=None)
        self.decoded = 0  # pictures that were encoded

    def encode_images(self, pictures, *, values=False):
        several = pictures if isinstance(pictures, list) else [pictures]
        self.decoded += len(several)
        means = [np.asarray(self.read(picture), dtype=float).mean(axis=(0, 1)) / 127.5 - 1 for picture in several]
        found = (np.array(means).reshape(-1, 3) @ _MIX).astype(np.float32)
        return found if values else Codes.from_values(found)

    def encode_texts(self, sentences, *, values=False):
        several = [sentences] if isinstance(sentences, str) else list(sentences)
        sums = [
            sum((np.array(_MEANINGS.get(word, (0, 0, 0))) for word in text.split()), np.zeros(3)) for text in several
        ]
        found = (np.array(sums).reshape(-1, 3) @ _MIX).astype(np.float32)
        return found if values else Codes.from_values(found)

    def reading(self, sentence):
        return self.vocabulary.reading(sentence)

    def read(self, picture):
        return picture if isinstance(picture, Image.Image) else Image.open(picture).convert("RGB")


class PlainFolder:
    """Stands for `LazyModel`: the model as if it lay in a folder."""

    def __init__(self, fingerprint="c" * 64):
        self.fingerprint, self.bits, self.folder = fingerprint, BITS, "plain"
        self.facts = {"folder": "plain", "method": "plain", "bits": BITS}
        self.model = PlainModel()

    def get(self):
        return self.model
