"""Our own region proposals: a small network that reads a backbone's map, taught by a detector.

A region proposal network after Ren and others (2015): at each cell of the map some boxes of fixed sizes, the anchors;
for each of them how likely it is a thing, and how to move and stretch it to fit. One head belongs to one set of
backbone weights. Those that come with the package lie beside this file; `recipes/rpn` makes others.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.files import read_bytes
from deepbinaries.vision.backbones import Backbone
from deepbinaries.vision.regions import Proposals
from deepbinaries.vision.transfers import fetched, sent

FORMAT = "deepbinaries-rpn"
VERSION = 1
MAX_FILE_BYTES = 64 * 2**20
MAX_ANCHORS = 64
FACTS = ("backbone", "backbone_sha256", "teacher", "data", "licence")  # texts that every file states
PROPOSED = 200  # boxes a picture, the most confident; near-duplicates among them are still to go
FARTHEST = 4.0  # of what is said about a size, a logarithm: 55 times an anchor is more than any picture
HOME = Path(__file__).parent

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Head:
    """The weights of the network, for maps of d features: a 1 x 1, a 3 x 3 and a 1 x 1 convolution."""

    narrow: Floats  # (c, d)
    narrow_bias: Floats  # (c, 1)
    around: Floats  # (3, 3, c, c): rows and columns of the neighbours first
    around_bias: Floats  # (c, 1)
    answer: Floats  # (5 a, c): for each anchor whether, then where: x, y, width, height
    answer_bias: Floats  # (5 a, 1)
    anchors: Floats  # (a, 2): width and height in shares of the picture


class Rpn:
    """The boxes of a head's anchors, each as the map asks for, with their objectness."""

    name = "rpn"

    def __init__(self, content: bytes, source: str | Path):
        self.digest = hashlib.sha256(content).hexdigest()
        self.head, self.facts = parse(content, source)

    def propose_on(self, maps: Any) -> list[Proposals]:
        """Boxes with confidences for each picture of maps (n, d, h, w), an array, or a tensor that stays where it is.

        Only the head's answers leave a GPU, a fiftieth of the map.
        """
        answers = answer(self.head, maps)
        return [_most_confident(*decode(of_picture, self.head.anchors)) for of_picture in answers]


def load(path: Path | None = None, *, backbone: Backbone) -> Rpn:
    """The proposer for a backbone: with the head in a file, or with one of those that come with the package."""
    if not backbone.stride:
        raise UsageError(
            f"the proposer 'rpn' reads maps, and {backbone.name} has only vectors", next_step="use the proposer grid"
        )
    if path is not None:
        proposer = Rpn(read_bytes(path, limit=MAX_FILE_BYTES), path)
        if not _fits(proposer, backbone):
            raise DataError(
                f"{path} reads maps of {proposer.facts['backbone']} with the weights "
                f"{proposer.facts['backbone_sha256'][:12]}..., not of {backbone.name} ({backbone.card.sha256[:12]}...)",
                next_step="give the head that was made for these weights, or use the proposer grid",
            )
        return proposer
    found = find_shipped(backbone)
    if found is None:
        raise UsageError(
            f"the package has no head of the proposer 'rpn' for {backbone.name} with the weights "
            f"{backbone.card.sha256[:12]}...",
            next_step="give the path of one, or use the proposer grid",
        )
    return found


def find_shipped(backbone: Backbone) -> Rpn | None:
    """The proposer of the package that was made for these very weights, if there is one."""
    return next((proposer for proposer in _shipped(HOME) if _fits(proposer, backbone)), None)


@cache
def _shipped(home: Path) -> tuple[Rpn, ...]:
    return tuple(Rpn(read_bytes(path), path) for path in sorted(home.glob("rpn-*.safetensors")))


def _fits(proposer: Rpn, backbone: Backbone) -> bool:
    """Whether a head was made for the weights of a backbone, or for those that its file was exported from."""
    card = backbone.card
    return (
        backbone.stride > 0
        and proposer.head.narrow.shape[1] == backbone.width
        and proposer.facts["backbone_sha256"] in (card.sha256, card.made_of)
    )


def answer(head: Head, maps: Any) -> Floats:
    """What the head says of maps (n, d, h, w): (n, h, w, a, 5), an array whatever the maps are.

    The steps are the same for arrays and for tensors. The 3 x 3 convolution is nine products, since a GPU's library
    would find out anew in every thread how it is done best.
    """
    n, d, h, w = maps.shape
    weights = vars(head) if isinstance(maps, np.ndarray) else _tensors(head, maps.device, maps.dtype)
    x = weights["narrow"] @ maps.reshape(n, d, h * w) + weights["narrow_bias"]  # from here on of 32 bits
    padded = _surrounded(x.clip(0).reshape(n, -1, h, w))
    x = weights["around_bias"]
    for row in range(3):
        for column in range(3):
            moved = padded[:, :, row : row + h, column : column + w].reshape(n, -1, h * w)
            x = x + weights["around"][row, column] @ moved
    y = weights["answer"] @ x.clip(0) + weights["answer_bias"]
    answers: Floats = y if isinstance(y, np.ndarray) else fetched(y)
    return answers.reshape(n, len(head.anchors), 5, h, w).transpose(0, 3, 4, 1, 2)


def decode(answers: Floats, anchors: Floats) -> tuple[Floats, Floats]:
    """Boxes (k, 4) in shares, inside the picture, and their objectness (k,), of answers (h, w, a, 5)."""
    h, w = answers.shape[:2]
    rows, columns = np.mgrid[:h, :w]
    middles = np.stack([(columns + 0.5) / w, (rows + 0.5) / h], axis=2)[:, :, None]
    centres = middles + answers[..., 1:3] * anchors
    sides = np.exp(np.minimum(answers[..., 3:5], FARTHEST)) * anchors
    boxes = np.concatenate([centres - sides / 2, centres + sides / 2], axis=3).reshape(-1, 4)
    objectness = 1 / (1 + np.exp(-answers[..., 0].clip(-50, 50)))
    return boxes.clip(0, 1).astype(np.float32), objectness.reshape(-1).astype(np.float32)


def _most_confident(boxes: Floats, confidence: Floats) -> Proposals:
    best = np.argsort(-confidence, kind="stable")[:PROPOSED]
    return Proposals(boxes[best], confidence[best])


def _surrounded(x: Any) -> Any:
    """Maps with a border of zeros, one cell wide."""
    n, c, h, w = x.shape
    shape = (n, c, h + 2, w + 2)
    wider = np.zeros(shape, x.dtype) if isinstance(x, np.ndarray) else x.new_zeros(shape)
    wider[:, :, 1:-1, 1:-1] = x
    return wider


@lru_cache(maxsize=8)
def _tensors(head: Head, device: Any, kind: Any) -> dict[str, Any]:
    """The weights on a device; those that meet the maps are of their kind."""
    tensors = {name: sent(array, device) for name, array in vars(head).items()}
    return tensors | {"narrow": tensors["narrow"].to(kind)}


def parse(content: bytes, source: str | Path) -> tuple[Head, dict[str, Any]]:
    """The head in a safetensors file, and what the file states about itself."""
    try:
        tensors = safetensors.numpy.load(content)
        # The header is whole JSON if the tensors could be read.
        stated = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__", {})
        facts = json.loads(stated.get("rpn", "null"))
    except (safetensors.SafetensorError, ValueError, KeyError, RecursionError) as error:
        raise _no_head(source, f"it is no whole safetensors file: {error}") from error
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise _no_head(source, f"it does not say that it is a {FORMAT}")
    if facts.get("version") != VERSION:
        raise _no_head(source, f"it is of version {facts.get('version')!r}, this release reads {VERSION}")
    for name in FACTS:
        if not isinstance(facts.get(name), str) or not facts[name]:
            raise _no_head(source, f"it does not state {name!r}")
    return _checked(tensors, source), facts


def _checked(tensors: dict[str, NDArray[Any]], source: str | Path) -> Head:
    """The tensors as a head, if they have its names, its shapes and finite numbers."""
    if tensors.keys() != Head.__annotations__.keys():
        raise _no_head(source, f"it holds {', '.join(sorted(tensors)) or 'nothing'}")
    arrays = {name: tensors[name].astype(np.float32) for name in Head.__annotations__}
    c, d = (*arrays["narrow"].shape, 0, 0)[:2]
    a = len(arrays["anchors"]) if arrays["anchors"].ndim else 0
    shapes = {
        "narrow": (c, d),
        "narrow_bias": (c, 1),
        "around": (3, 3, c, c),
        "around_bias": (c, 1),
        "answer": (5 * a, c),
        "answer_bias": (5 * a, 1),
        "anchors": (a, 2),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape or not arrays[name].size:
            raise _no_head(source, f"{name} is {arrays[name].shape}")
        if not np.isfinite(arrays[name]).all():
            raise _no_head(source, f"{name} is not finite")
    if a > MAX_ANCHORS or not ((arrays["anchors"] > 0) & (arrays["anchors"] <= 1)).all():
        raise _no_head(source, "its anchors are no sizes in shares of a picture")
    return Head(**arrays)


def _no_head(source: str | Path, reason: str) -> DataError:
    return DataError(
        f"{source} is no head of the proposer 'rpn' ({reason})",
        next_step="give a file that recipes/rpn/train.py has written, or copy it again",
    )
