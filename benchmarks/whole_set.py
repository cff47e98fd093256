"""How long an update of the codes of a whole training set takes, at the size of the paper's COCO: 50,000 items.

    python benchmarks/whole_set.py

The paper updates codes batch by batch, since a round over the whole set took it 130 minutes. Ours compute between
distinct label sets; under `gram` and `printed` the same update between all pairs of items stands beside them. Labels
are drawn like COCO's, with far more label sets than the 18 labels of coco18 have.

Without a GPU everything is small: it shows that the benchmark runs, and little else.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepbinaries.experiments.paper.update_times import least, measure
from deepbinaries.hashers.code_learning import CodeBatch, by_label_set, make_update, similarity
from deepbinaries.hashers.training import choose_device
from recording import record
from training import coco_like

ITEMS, FEW = 50_000, 300
BITS, BATCH, REPEATS = 128, 128, 2
ETA = 0.3
UPDATES = ("spectral", "relaxed", "gram", "printed")
BETWEEN_PAIRS = ("gram", "printed")  # the others would want eigenvectors between so many items
OF_THE_SET = ("first", "again", "start")  # a batch is too short a work for so few repeats


def beside_all_pairs(update: str, labels: Tensor) -> dict[str, float]:
    """Seconds of the first update of the whole set between all pairs, and the share of bits that are ours too."""
    rule, rng = make_update(update), np.random.default_rng(0)
    drawn = rng.standard_normal((2, len(labels), BITS)).astype(np.float32)
    F, G = torch.from_numpy(drawn).to(labels.device).unbind()

    def updated(S: Any) -> tuple[Tensor, Tensor]:
        return rule(CodeBatch(B=F.sign(), H=G.sign(), F=F, G=G, S=S, eta=ETA))

    seconds = least(lambda: updated(similarity(labels, labels)), labels.device, REPEATS, lasting=0)
    pairs, sets = updated(similarity(labels, labels)), updated(by_label_set(labels))
    alike = [float((one == other).float().mean()) for one, other in zip(pairs, sets, strict=True)]
    return {"seconds": float(f"{seconds:.4g}"), "equal_bits": min(alike)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto", help="cpu or cuda; a GPU where there is one")
    parser.add_argument("--output", type=Path, help="where to write; benchmarks/results/whole_set.json unless given")
    chosen = parser.parse_args()
    device = choose_device(chosen.device)
    on_gpu = device.type == "cuda"
    labels = coco_like(ITEMS if on_gpu else FEW).matrix()
    there = torch.from_numpy(labels).to(device)
    ratios: dict[str, float] = {}
    found: dict[str, Any] = {}
    for update in UPDATES:
        ours = measure(update, ETA, labels, bits=BITS, batch=BATCH, repeats=REPEATS, lasting=0, device=device.type)
        found[update] = {name: ours["seconds"][name] for name in OF_THE_SET}
        label_sets = ours["label_sets"]
        if update in BETWEEN_PAIRS:
            found[update]["all pairs"] = pairs = beside_all_pairs(update, there)
            ratios[f"vs_all_pairs_{update}"] = round(pairs["seconds"] / ours["seconds"]["first"], 2)
        print(update, found[update], flush=True)
    path = record(
        "whole_set",
        ratios=ratios,
        figures={
            "device": torch.cuda.get_device_name(device) if on_gpu else "cpu",
            "torch": torch.__version__,
            "scale": "full" if on_gpu else "small: it shows that the benchmark runs, and little else",
            "items": len(labels),
            "label_sets": label_sets,
            "bits": BITS,
            "repeats": REPEATS,
            "seconds": found,
        },
        command=f"python benchmarks/whole_set.py --device {device.type}",
        output=chosen.output,
    )
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()
