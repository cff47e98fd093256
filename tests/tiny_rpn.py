"""Small heads of the proposer `rpn`, as files."""

import json

import numpy as np
import safetensors.numpy

ANCHORS = np.array([[0.5, 0.25], [0.2, 0.6]], np.float16)
FACTS = {
    "format": "deepbinaries-rpn",
    "version": 1,
    "backbone": "mean-colours",
    "backbone_sha256": "0" * 64,
    "teacher": "nobody",
    "data": "none",
    "licence": "CC0",
}


def tensors(width=3, hidden=4, seed=0):
    """Random weights, large enough that boxes leave the picture."""
    rng = np.random.default_rng(seed)
    shapes = {
        "narrow": (hidden, width),
        "narrow_bias": (hidden, 1),
        "around": (3, 3, hidden, hidden),
        "around_bias": (hidden, 1),
        "answer": (10, hidden),
        "answer_bias": (10, 1),
    }
    return {name: rng.normal(size=shape).astype(np.float16) for name, shape in shapes.items()} | {"anchors": ANCHORS}


def head_file(arrays=None, **facts):
    """The bytes of a head; facts that are None are left out."""
    stated = {name: fact for name, fact in (FACTS | facts).items() if fact is not None}
    return safetensors.numpy.save(arrays or tensors(), metadata={"rpn": json.dumps(stated)})
