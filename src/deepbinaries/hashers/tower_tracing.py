"""The networks of a trained deep method, written as ONNX files."""

import numpy as np
import torch

from deepbinaries.errors import UsageError
from deepbinaries.features.inputs import POSITION, Texts
from deepbinaries.hashers.deep import DeepHasher
from deepbinaries.hashers.onnx_towers import OnnxTowers, TowerFacts
from deepbinaries.hashers.training import text_inputs
from deepbinaries.onnx_tracing import traced

EXAMPLES = 2  # items to trace by: a lone one would be taken for all there can ever be


def trace_towers(hasher: DeepHasher, *, regions: int, length: int, n_words: int, precision: str) -> OnnxTowers:
    """The same hasher without torch, for pictures of so many regions and sentences of so many tokens."""
    if hasher.towers_ is None:
        raise UsageError("this model has learnt nothing yet", next_step="train it first")
    towers, inputs = hasher.towers_.cpu(), hasher.inputs_
    texts = hasher.read(Texts(np.zeros((EXAMPLES, length), dtype=np.int32), n_words))
    reads = "tokens" if texts.tokens.shape[1] else "counts"
    facts = TowerFacts(hasher.bits, inputs.width, n_words, reads, one_by_one=precision == "int8")
    picture = torch.zeros(EXAMPLES, regions, inputs.width + POSITION)
    sentence = torch.from_numpy(text_inputs(texts))
    # Networks choose by the kind of their input what it is, so the example has the kind of what will be encoded.
    image, text = (
        traced(tower, example, open_axes={0: "n"}, precision=precision)
        for tower, example in ((towers.image, picture), (towers.text, sentence))
    )
    return OnnxTowers(facts, image, text)
