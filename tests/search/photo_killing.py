"""Runs of indexing that are killed at random moments, again and again, and what is left of their index.

    python photo_killing.py --kills 100 [--seed 0]

is the long version of what the tests do a few times; `--early` has runs acknowledge too early, which must be noticed.
Between two runs photographs come, change, move and go. A run acknowledges through a pipe what it has committed. What it
acknowledged must be there when it was killed, with the right code, and an answer must be what comparing everything by
hand gives.
"""

import argparse
import os
import random
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
from photo_library import BLUE, GREEN, RED, Library, ReadersInThread, draw

from deepbinaries.codes import Codes
from deepbinaries.search import indexing, taking_up
from deepbinaries.search.verifying import verify
from deepbinaries.vision.originals import content_id

LONGEST = 1.5  # seconds until a run is killed
COLOURS = (RED, GREEN, BLUE)


class Photographs:
    """Photographs that change between the runs, and all that is known of them by other means than the index."""

    def __init__(self, root: Path, rng: random.Random, *, early: bool):
        self.album, self.rng, self.early, self.drawn, self.n_acknowledged = Library(root), rng, early, 0, 0
        self.codes: dict[str, Codes] = {}  # of every content that there ever was
        self.acknowledged: dict[str, str] = {}  # the id by the path
        for _ in range(12):
            self.draw(self.new_path())

    def new_path(self) -> str:
        self.drawn += 1
        return f"{self.rng.choice('abc')}/{self.drawn}.png"

    def draw(self, path: str) -> None:
        file = draw(self.album.root / path, self.rng.choice(COLOURS), seed=5000 + self.drawn)
        self.drawn += 1
        self.codes[content_id(file.read_bytes())] = self.album.by.model.encode_images(file)
        self.acknowledged.pop(path, None)

    def change(self) -> None:
        """Let some photographs come, change, move and go, and say something beside one."""
        paths = [str(path.relative_to(self.album.root)) for path in sorted(self.album.root.glob("?/*.png"))]
        changed, moved, gone, said = self.rng.sample(paths, 4)
        for path in (changed, self.new_path(), self.new_path()):
            self.draw(path)
        (self.album.root / moved).rename(self.album.root / self.new_path())
        (self.album.root / gone).unlink()
        (self.album.root / said).with_suffix(".txt").write_text(f"a {self.rng.choice(('red', 'blue'))} field")
        for path in (moved, gone):
            self.acknowledged.pop(path, None)

    def run(self, seconds: float) -> bool:
        """Index in a process that is killed after so long, if it still runs then; whether it was."""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            _index(self.album, writing, self.early)
        os.close(writing)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        with os.fdopen(reading, encoding="utf-8") as lines:
            for line in lines:
                path, _, id_ = line.rstrip("\n").partition(" ")
                self.acknowledged[path] = id_
                self.n_acknowledged += 1
        return os.WIFSIGNALED(status)

    def check(self) -> None:
        """Compare what the index holds and answers with what is known of the photographs."""
        assert verify(self.album.root).sound
        with self.album.open() as collection:
            generation = collection._current()
            files = {file.path: file.id for file in generation.catalogue.files() if file.id}
            for path, id_ in self.acknowledged.items():
                assert files.get(path) == id_, f"{path} was acknowledged and is lost"
                assert generation.indexes["pictures"].codes_of([id_]) == self.codes[id_], f"{path} has another code"
                assert collection.thumbnail(id_)
            answer = collection.by_text("a red", k=1000, least="none", alike=None)
        values = self.album.by.model.encode_texts("a red", values=True)[0].astype(float)
        expected = sorted((*self._far(values, id_), id_) for id_ in set(files.values()))
        assert [hit.id for hit in answer.hits] == [id_ for *_, id_ in expected], "the answer is wrong"

    def _far(self, values: np.ndarray, id_: str) -> tuple[float, int]:
        differing = self.codes[id_].to_bits()[0] != (values >= 0)
        weight = np.abs(values[differing]).sum() / np.abs(values).sum()
        return round(float(weight), 12), int(differing.sum())


def _index(library: Library, writing: int, early: bool) -> None:
    """Be the process that indexes and acknowledges."""
    commit = indexing._Run._commit

    def acknowledging(self, portion):
        lines = "".join(f"{one.seen.path} {one.id}\n" for one in portion if one.id).encode()
        if early:
            os.write(writing, lines)
        known = commit(self, portion)
        if not early:
            os.write(writing, lines)
        return known

    indexing._Run._commit = acknowledging
    taking_up.Readers, taking_up.CHUNK, indexing.PORTION = ReadersInThread, 1, 2
    try:
        library.index()
    finally:
        os._exit(0)


def kill_often(root: Path, kills: int, seed: int, *, early: bool = False) -> dict[str, int]:
    """Kill runs and check what they leave, then let one come to its end; what there was to lose."""
    rng = random.Random(seed)
    photographs = Photographs(root, rng, early=early)
    n_killed = n_runs = 0
    while n_killed < kills:
        n_runs += 1
        n_killed += photographs.run(rng.random() ** 2 * LONGEST)
        if (root / ".deepbinaries/collection.json").exists() and _is_filled(root):
            photographs.check()
        else:
            assert not photographs.acknowledged
        if rng.random() < 0.5:
            photographs.change()
    taking_up.Readers = ReadersInThread
    photographs.album.index()
    photographs.check()
    resumed = photographs.album.content()
    (root / ".deepbinaries").rename(root / ".killed")
    photographs.album.index()
    assert resumed == photographs.album.content(), "a run that was never killed makes another index"
    return {"kills": n_killed, "runs": n_runs, "acknowledged": photographs.n_acknowledged, "files": len(resumed[1])}


def _is_filled(root: Path) -> bool:
    from deepbinaries.search.layout import read_layout

    return bool(read_layout(root / ".deepbinaries").generation)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--early", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = kill_often(Path(folder) / "photographs", chosen.kills, chosen.seed, early=chosen.early)
    print(f"{found['kills']} kills, {found['acknowledged']} acknowledged, none lost, no answer wrong")  # noqa: T201
