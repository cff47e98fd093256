"""What each of two processes does for test_training_together.py: train, and tell how it went."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from small_pairs import make_pairs

from deepbinaries.hashers.dvsh import DVSH
from deepbinaries.hashers.tvdb import TVDB, TVDBSettings
from deepbinaries.hashers.world import join_world

# The last batch has one item, for two processes; all others have an odd number of them.
PAIRS = make_pairs(205, seed=1)
OTHERS = make_pairs(40, seed=2)
SMALL = TVDBSettings(
    bits=16, hidden=16, fc=16, embed=8, maps=8, widths=(1, 2), image="lstm", epochs=4, batch=51, schedule="one-cycle"
)
SETTINGS = {
    "spectral": SMALL,
    "relaxed": replace(SMALL, image="max", update="relaxed", patience=9),
    "whole set": replace(SMALL, image="whole", routine="e1"),
    "dropout": replace(SMALL, image="whole", dropout=0.5, epochs=2),
}


class Watched(TVDB):
    """TVDB that keeps its objective, so that target codes can be looked at."""

    def objective(self, pairs, towers, device):
        self.watched = super().objective(pairs, towers, device)
        return self.watched

    @property
    def codes(self) -> np.ndarray:
        return torch.cat([self.watched.B, self.watched.H], dim=1).numpy()


class PlainDVSH(DVSH):
    """A method with a third network, and steps as long as their gradients: Adam would not notice a factor."""

    def optimiser(self, towers, device):  # noqa: ARG002
        return torch.optim.SGD(towers.parameters(), lr=self.settings.learning_rate)


def make(name: str) -> Watched | PlainDVSH:
    if name == "helper":
        return PlainDVSH.preset(
            "dvsh", device="cpu", bits=8, hidden=16, fc=16, embed=8, epochs=2, batch=51, learning_rate=1.0
        )
    return Watched(SETTINGS[name], device="cpu")


def trained(name: str, checkpoints: Path | None = None, log=None) -> tuple[list[dict], np.ndarray, np.ndarray]:
    """The log of a training, values of items that were not learnt from, and target codes of those that were."""
    entries: list[dict] = []

    def note(entry: dict) -> None:
        entries.append(entry)
        if log is not None:
            log(entry)

    hasher = make(name).fit(PAIRS, validation=OTHERS, checkpoints=checkpoints, log=note)
    values = np.hstack([hasher.encode(OTHERS.images), hasher.encode(OTHERS.texts)])
    return entries, values, hasher.codes if isinstance(hasher, Watched) else np.zeros(0)


def main(folder: Path) -> None:
    world = join_world()

    def keep_halfway(entry: dict) -> None:
        if entry["epoch"] == 3:  # the last whole epoch is the second
            shutil.copytree(folder / "spectral", folder / "halfway of two")

    for name in (*SETTINGS, "helper"):
        keep = keep_halfway if name == "spectral" else None
        tell(folder, world.rank, name, *trained(name, folder / name, keep))
    tell(folder, world.rank, "resumed", *trained("spectral", folder / "halfway of one"))


def tell(folder: Path, rank: int, name: str, entries: list[dict], values: np.ndarray, codes: np.ndarray) -> None:
    content = {"entries": entries, "values": values.tolist(), "codes": codes.tolist()}
    (folder / f"{name} {rank}.json").write_text(json.dumps(content))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
