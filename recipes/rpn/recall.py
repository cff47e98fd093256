"""How many of the things that the teacher is sure of lie in a picture's twenty regions: `rpn` beside `grid`.

    python -m recipes.rpn.recall --data ~/data --teacher teacher.npz --out results/rpn.json

Asks the query photographs of coco18 and iapr22, which nothing was learnt from or chosen by. A thing is a box whose
objectness times its largest class is at least .3, one box a thing; it is found by a region with an intersection over
union of at least .5. Regions are chosen by the package's own rule; the whole picture, the 21st, does not count.
The teacher's own proposals, put through the same rule, say how much of it the rule lets pass.
"""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from deepbinaries.files import write_json
from deepbinaries.vision.encoder import energy_of
from deepbinaries.vision.pixels import Picture, as_image, size_of
from deepbinaries.vision.proposers.grid import Grid
from deepbinaries.vision.proposers.rpn import Rpn, load
from deepbinaries.vision.regions import Proposals, Shares
from recipes.rpn.backbone import open_backbone
from recipes.rpn.found import FOUND, PROPOSALS, count
from recipes.rpn.teacher import SURE, Seen, Teacher, rows_of
from recipes.rpn.views import AT_ONCE, map_maker, pictures_of

DATASETS = ("coco18", "iapr22")


def proposals_of(
    pictures: Iterator[Picture], to_maps: Any, rpn: Rpn
) -> Iterator[tuple[tuple[int, int], Proposals, Proposals]]:
    """Size, proposals of `rpn` and proposals of `grid` for each picture."""
    grid = Grid()
    while some := list(islice(pictures, AT_ONCE)):
        maps = to_maps(some)
        energies = energy_of(maps)
        for picture, proposed, energy in zip(some, rpn.propose_on(maps), energies, strict=True):
            yield size_of(picture), proposed, grid.propose(as_image(picture), energy)


def cells(
    name: str, seen: list[Seen], asked: list[tuple[tuple[int, int], Proposals, Proposals]]
) -> Iterator[dict[str, Any]]:
    """The figures of each proposer on a dataset."""
    things: list[Shares] = [one.confident for one in seen]
    sizes = [size for size, _, _ in asked]
    proposed = {
        "rpn": [rpn for _, rpn, _ in asked],
        "grid": [grid for _, _, grid in asked],
        "yolox": [Proposals(one.boxes, one.objectness) for one in seen],
    }
    for proposer, of_each in proposed.items():
        yield {"dataset": name, "part": "query", "proposer": proposer} | count(of_each, things, sizes).report()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds coco18 and iapr22")
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("results/rpn.json"))
    parser.add_argument("--head", type=Path, help="default: the one of the package")
    parser.add_argument("--backbone", help="weights of EfficientNet-Lite0, or a photo model's; default: the published")
    parser.add_argument("--side", type=int, default=448)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--pictures", type=int, help="ask so many of each dataset only, to try it out")
    options = parser.parse_args()
    backbone = open_backbone(options.backbone, options.device)
    rpn, teacher = load(options.head, backbone=backbone), Teacher(options.teacher)
    to_maps = map_maker(backbone, options.side)
    found: list[dict[str, Any]] = []
    for name in DATASETS:
        dataset, rows = rows_of(options.data, name, "query")
        rows = rows[: options.pictures]
        seen = [teacher.seen(name, dataset.ids[row]) for row in rows]
        found += cells(name, seen, list(proposals_of(pictures_of(dataset, rows), to_maps, rpn)))
        for cell in found[-3:]:
            print(cell, flush=True)
    report = {
        "metric": f"share of the teacher's things found by {PROPOSALS} regions",
        "thing": f"YOLOX-Nano, objectness times class >= {SURE}, one box a thing",
        "found": f"intersection over union >= {FOUND}",
        "note": "the teacher was trained on COCO train2017; iapr22's photographs it never saw",
        "side": options.side,
        "digests": {"head": rpn.digest, "backbone": backbone.card.sha256, "teacher": teacher.about["sha256"]},
        "head": rpn.facts,
        "command": "python -m recipes.rpn.recall --data DATA --teacher teacher.npz",
        "cells": found,
    }
    write_json(report, options.out, indent=1)


if __name__ == "__main__":
    main()
