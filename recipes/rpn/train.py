"""Train a head of the proposer `rpn` on the maps of a frozen backbone, taught by the boxes of `teacher.py`.

    python -m recipes.rpn.train --data ~/data --teacher teacher.npz --out rpn-efficientnet-lite0.safetensors

Learns from coco18's train part without its validation part, which is asked how sure the head should be and what it
finds. `--backbone FILE` makes a head for other weights of EfficientNet-Lite0, such as the
photo model's, `--side` for pictures seen at another size.
"""

import argparse
import hashlib
import json
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deepbinaries.errors import UsageError
from deepbinaries.files import read_json, written_whole
from deepbinaries.vision.backbones import Backbone
from deepbinaries.vision.encoder import energy_of
from deepbinaries.vision.pixels import Picture, as_image, size_of
from deepbinaries.vision.proposers.grid import Grid
from deepbinaries.vision.proposers.rpn import Rpn
from deepbinaries.vision.regions import Proposals, Shares
from recipes.rpn.backbone import open_backbone
from recipes.rpn.found import calibrate, count
from recipes.rpn.learning import Truth, choose_anchors, loss, stacked
from recipes.rpn.network import RpnNetwork, to_file
from recipes.rpn.teacher import Teacher, rows_of
from recipes.rpn.views import AT_ONCE, View, map_maker, pictures_of, views_of

LARGEST_FILE = 1_000_000  # bytes; it travels with the package


def learning_rows(data: Path, limit: int | None) -> tuple[Any, list[int], list[int]]:
    """The dataset, the rows to learn from and those to choose by."""
    dataset, rows = rows_of(data, "coco18", "train")
    chosen_by = set(read_json(data / "coco18" / "split.json")["validation"])
    learnt = [row for row in rows if dataset.ids[row] not in chosen_by]
    validation = [row for row in rows if dataset.ids[row] in chosen_by]
    return dataset, learnt[:limit], validation[:limit]


def make_maps(
    dataset: Any, rows: list[int], teacher: Teacher, backbone: Backbone, options: argparse.Namespace
) -> tuple[torch.Tensor, Truth]:
    """The maps of all views of the rows, in half precision where the backbone runs, and what is in them."""
    rng = np.random.default_rng(options.seed)
    cells = options.side // backbone.stride
    n_views = len(rows) * (2 + options.cuts)
    device = torch.device(options.device)
    shape = (n_views, backbone.width, cells, cells)
    maps = torch.empty(shape, dtype=torch.float16, device=device, memory_format=torch.channels_last)
    to_maps = map_maker(backbone, options.side)
    boxes: list[Shares] = []
    objectness: list[Shares] = []
    waiting: list[View] = []

    def settle() -> None:
        made = to_maps([view.picture for view in waiting])
        maps[len(boxes) : len(boxes) + len(waiting)] = made.to(torch.float16)
        boxes.extend(view.boxes for view in waiting)
        objectness.extend(view.objectness for view in waiting)
        waiting.clear()

    for row, picture in zip(rows, pictures_of(dataset, rows), strict=True):
        waiting += views_of(picture, teacher.seen("coco18", dataset.ids[row]), rng, cuts=options.cuts)
        if len(waiting) >= AT_ONCE:
            settle()
    if waiting:
        settle()
    return maps, stacked(boxes, objectness, device)


def train(maps: torch.Tensor, truth: Truth, anchors: NDArray[np.float32], options: argparse.Namespace) -> RpnNetwork:
    """The network after all epochs."""
    torch.manual_seed(options.seed)
    network = RpnNetwork(anchors, width=maps.shape[1], hidden=options.hidden).to(maps.device).train()
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    steps = max(1, len(maps) // options.batch)
    optimiser = torch.optim.AdamW(network.parameters(), lr=options.rate, weight_decay=options.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=options.rate, total_steps=options.epochs * steps, pct_start=0.1
    )
    began = time.monotonic()
    for epoch in range(options.epochs):
        order = torch.randperm(len(maps), device=maps.device)
        total = torch.zeros((), device=maps.device)
        for step in range(steps):
            places = order[step * options.batch : (step + 1) * options.batch]
            with torch.autocast(maps.device.type, dtype=torch.bfloat16, enabled=maps.is_cuda):
                of_batch = loss(network, silenced(maps[places].float(), options.dropout), truth.select(places))
            optimiser.zero_grad()
            of_batch.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), 10.0)
            optimiser.step()
            schedule.step()
            total += of_batch.detach()
        print(f"epoch {epoch + 1}: loss {total.item() / steps:.4f}, {time.monotonic() - began:.0f} s", flush=True)
    return network.eval()


def silenced(maps: torch.Tensor, share: float) -> torch.Tensor:
    """Maps of which some features are left out, the same in all cells of a picture."""
    return torch.nn.functional.dropout2d(maps, share) if share else maps


class Validation:
    """The maps of the validation part, and what the teacher is sure of there."""

    def __init__(self, dataset: Any, rows: list[int], teacher: Teacher, backbone: Backbone, side: int):
        to_maps = map_maker(backbone, side)
        pictures = pictures_of(dataset, rows)
        self.things = [teacher.seen("coco18", dataset.ids[row]).confident for row in rows]
        self.sizes: list[tuple[int, int]] = []
        self.by_grid: list[Proposals] = []
        self._maps: list[torch.Tensor] = []
        while some := list[Picture](islice(pictures, AT_ONCE)):
            self.sizes += [size_of(picture) for picture in some]
            maps = to_maps(some)
            self.by_grid += [
                Grid().propose(as_image(picture), energy) for picture, energy in zip(some, energy_of(maps), strict=True)
            ]
            self._maps.append(maps)

    def proposed(self, content: bytes) -> list[Proposals]:
        """What a head proposes, by the package's own code."""
        proposer = Rpn(content, "the new head")
        return [proposals for maps in self._maps for proposals in proposer.propose_on(maps)]


def facts_of(backbone: Backbone, teacher: Teacher, options: argparse.Namespace, n_pictures: int) -> dict[str, Any]:
    """What the file says about itself."""
    with options.teacher.open("rb") as file:
        answers = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "backbone": backbone.name,
        "backbone_sha256": backbone.card.sha256,
        "side": options.side,
        "teacher": f"{teacher.about['teacher']}, SHA-256 {teacher.about['sha256']}, {teacher.about['licence']}, "
        "trained on COCO train2017",
        "data": f"{n_pictures:,} photographs of coco18's train part without its validation part (COCO)",
        "licence": "Apache-2.0",
        "answers_sha256": answers,
        "settings": {name: getattr(options, name) for name in SETTINGS},
    }


SETTINGS = ("anchors", "hidden", "epochs", "batch", "rate", "decay", "dropout", "cuts", "seed")


def main() -> None:
    options = parsed()
    began = time.monotonic()
    backbone = open_backbone(options.backbone, options.device)
    teacher = Teacher(options.teacher)
    dataset, learnt, chosen_by = learning_rows(options.data, options.pictures)
    validation = Validation(dataset, chosen_by, teacher, backbone, options.side)
    maps, truth = make_maps(dataset, learnt, teacher, backbone, options)
    print(f"{len(maps):,} maps of {len(learnt):,} pictures, {time.monotonic() - began:.0f} s", flush=True)
    seen = [teacher.seen("coco18", dataset.ids[row]) for row in learnt]
    anchors = choose_anchors(
        np.concatenate([one.boxes for one in seen]), np.concatenate([one.objectness for one in seen]), options.anchors
    )
    print("anchors:", anchors.round(2).tolist(), flush=True)
    network = train(maps, truth, anchors, options)
    facts = facts_of(backbone, teacher, options, len(learnt))
    as_learnt = validation.proposed(to_file(network, facts))
    plain = count(as_learnt, validation.things, validation.sizes).report()
    scale, shift, _ = calibrate(as_learnt, validation.things, validation.sizes)
    content = to_file(network, facts | {"scale": scale, "shift": shift}, scale=scale, shift=shift)
    if len(content) > LARGEST_FILE:
        raise UsageError(f"the head takes {len(content):,} bytes", next_step="give a smaller --hidden")
    final = count(validation.proposed(content), validation.things, validation.sizes).report()
    with written_whole(options.out) as file:
        file.write(content)
    grid = count(validation.by_grid, validation.things, validation.sizes).report()
    report = {"scale": scale, "shift": shift, "as_learnt": plain["recall"], "rpn": final, "grid": grid}
    print(json.dumps(report | {"bytes": len(content), "seconds": round(time.monotonic() - began)}), flush=True)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds coco18")
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--backbone", help="weights of EfficientNet-Lite0, or a photo model's; default: the published")
    parser.add_argument("--side", type=int, default=448)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--pictures", type=int, help="learn from so many only, to try it out")
    parser.add_argument("--anchors", type=int, default=9)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--decay", type=float, default=1e-2)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--cuts", type=int, default=2, help="cut-outs of each picture beside it and its mirror image")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
