"""Ask the detector where it sees things, once, and keep its answers in one small file for `train.py` and `recall.py`.

    python recipes/rpn/teacher.py --data ~/data --yolox yolox_nano_416.onnx --out teacher.npz

The teacher is YOLOX-Nano, which was trained on COCO. It looks at coco18's train part, and at the query parts of coco18
and iapr22, which nothing is learnt from: they are there for `recall.py` alone.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.datasets import load
from deepbinaries.datasets.base import Dataset
from deepbinaries.files import read_json, written_whole
from deepbinaries.vision import read_picture
from deepbinaries.vision.proposers.yolox import LEAST_OBJECTNESS, Yolox, cells, decode
from deepbinaries.vision.regions import Shares, overlaps, suppress

# Parts of the datasets, and the objectness from which a box is kept: what the teacher hardly believes teaches little.
PARTS = (("coco18", "train", 0.05), ("coco18", "query", LEAST_OBJECTNESS), ("iapr22", "query", LEAST_OBJECTNESS))
SURE = 0.3  # objectness times the largest class, from which a box counts as seen
SAME_THING = 0.45  # intersection over union; the detector's own rule for its answers


@dataclass(frozen=True)
class Seen:
    """What the teacher sees in one picture."""

    boxes: Shares  # (k, 4) in shares; near-duplicates are gone
    objectness: Shares  # (k,)
    score: Shares  # (k,): objectness times the largest class

    @property
    def confident(self) -> Shares:
        """The boxes of things that it is sure of, one box a thing, (m, 4)."""
        order = np.argsort(-self.score, kind="stable")
        boxes = self.boxes[order[self.score[order] >= SURE]]
        alike = overlaps(boxes, boxes) > SAME_THING
        stays = np.ones(len(boxes), dtype=bool)
        for place in range(len(boxes)):
            if stays[place]:
                stays[place + 1 :] &= ~alike[place, place + 1 :]
        return boxes[stays]


class Teacher:
    """The answers in a file, by dataset and id."""

    def __init__(self, path: Path):
        with np.load(path, allow_pickle=False) as arrays:
            self.about = json.loads(str(arrays["about"]))
            self._rows = {str(key): row for row, key in enumerate(arrays["keys"])}
            self._offsets = arrays["offsets"]
            self._boxes = arrays["boxes"].astype(np.float32)
            self._objectness = arrays["objectness"].astype(np.float32)
            self._score = arrays["score"].astype(np.float32)

    def seen(self, dataset: str, id_: str) -> Seen:
        row = self._rows[f"{dataset}/{id_}"]
        part = slice(self._offsets[row], self._offsets[row + 1])
        return Seen(self._boxes[part], self._objectness[part], self._score[part])


def look(yolox: Yolox, places: NDArray[np.float32], picture: Image.Image, least: float) -> Seen:
    """What the detector sees in a picture, with at least so much objectness."""
    answer, scaled_size = yolox.answer(picture)
    proposals = decode(answer, places, scaled_size)
    classes = answer[answer[:, 4] >= LEAST_OBJECTNESS, 5:].max(axis=1)
    visible = np.flatnonzero((proposals.boxes[:, :2] < proposals.boxes[:, 2:]).all(axis=1))
    kept = visible[suppress(proposals.boxes[visible], proposals.confidence[visible])]
    kept = kept[proposals.confidence[kept] >= least]
    return Seen(proposals.boxes[kept], proposals.confidence[kept], proposals.confidence[kept] * classes[kept])


def rows_of(root: Path, name: str, part: str) -> tuple[Dataset, list[int]]:
    """A dataset and the rows of a part of its split, in the order of the split."""
    dataset = load(name, root=root / name)
    row_of = {id_: row for row, id_ in enumerate(dataset.ids)}
    return dataset, [row_of[id_] for id_ in read_json(root / name / "split.json")[part]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds coco18 and iapr22")
    parser.add_argument("--yolox", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("teacher.npz"))
    options = parser.parse_args()
    yolox, places = Yolox(options.yolox), cells(416)
    keys: list[str] = []
    of_each: list[Seen] = []
    began = time.monotonic()
    for name, part, least in PARTS:
        dataset, rows = rows_of(options.data, name, part)
        for row in rows:
            of_each.append(look(yolox, places, read_picture(dataset.picture(row)), least))
            keys.append(f"{name}/{dataset.ids[row]}")
            if len(keys) % 1000 == 0:
                print(f"{len(keys):,} pictures, {time.monotonic() - began:.0f} s", flush=True)
    with written_whole(options.out) as file:
        np.savez_compressed(
            file,
            keys=np.array(keys),
            offsets=np.cumsum([0, *(len(seen.boxes) for seen in of_each)]),
            boxes=np.concatenate([seen.boxes for seen in of_each]).astype(np.float16),
            objectness=np.concatenate([seen.objectness for seen in of_each]).astype(np.float16),
            score=np.concatenate([seen.score for seen in of_each]).astype(np.float16),
            about=json.dumps({"teacher": "YOLOX-Nano", "sha256": yolox.digest, "licence": "Apache-2.0"}),
        )


if __name__ == "__main__":
    main()
