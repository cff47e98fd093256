"""Writers that are killed at random moments, again and again, and what is left of their index.

    python killing.py --kills 100 [--seed 0]

is the long version of what the tests do a few times.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import workload
from disk import HERE

from deepbinaries.index import EmbeddedIndex


def applied(model: dict[str, int], kind: str, items: dict[str, int]) -> dict[str, int]:
    if kind == "compact":
        return model
    kept = {id_: code for id_, code in model.items() if id_ not in items}
    return kept if kind == "remove" else {**kept, **items}


def parsed(line: str) -> tuple[str, str, dict[str, int]]:
    when, kind, *pairs = line.split()
    return when, kind, {id_: int(code) for id_, _, code in (pair.partition("=") for pair in pairs)}


def killed_writer(folder: Path, seed: int, seconds: float) -> list[str]:
    """The lines that a writer printed before it was killed."""
    command = [sys.executable, HERE / "processes.py", "write", folder, str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        first = writer.stdout.readline()  # the wait begins when it writes, not while Python starts
        time.sleep(seconds)
        writer.send_signal(signal.SIGKILL)
        return [first, *writer.stdout]


def kill_often(folder: Path, kills: int, seed: int) -> int:
    """Kill writers and compare what they leave with what they acknowledged; how many changes that were."""
    rng, model, n_acknowledged = random.Random(seed), {}, 0
    EmbeddedIndex(folder, bits=workload.BITS, writable=True).close()
    for number in range(kills):
        begun = model
        for line in killed_writer(folder, number, rng.random() ** 2 * 0.5):
            when, kind, items = parsed(line)
            begun = applied(model, kind, items)
            if when == "done":
                model, n_acknowledged = begun, n_acknowledged + 1
        with EmbeddedIndex(folder, writable=True) as index:
            found = workload.items_of(index)
            assert found in (model, begun), f"kill {number}: acknowledged items were lost, or others are there"
            assert index.verify().problems == ()
            ranked = sorted(((code ^ 5).bit_count(), id_) for id_, code in found.items())[:7]
            assert [(hit.distance, hit.id) for hit in index.search(workload.codes([5]), k=7)[0]] == ranked
            model = found
    return n_acknowledged


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        changes = kill_often(Path(folder) / "index", chosen.kills, chosen.seed)
    print(f"{chosen.kills} kills, {changes} acknowledged changes, none lost, no answer wrong")  # noqa: T201
