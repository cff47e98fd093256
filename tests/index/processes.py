"""Processes that read or write an index while others do.

python processes.py read FOLDER SECONDS    compares every answer with what its version holds
python processes.py write FOLDER SEED      changes the index until it is killed, and prints each change after it
"""

import os
import random
import sys
import time
from pathlib import Path

import workload

from deepbinaries.index import EmbeddedIndex

LAST_VERSION = 400


def change(version: int) -> tuple[str, dict[str, int]]:
    """The change that leads to a version."""
    if version % 10 == 0:
        return "compact", {}
    if version % 3 == 0:
        return "remove", {f"item-{version - 4}": 0, "again": 0}
    return "replace", {f"item-{version}": version, "again": version}


def models() -> dict[int, dict[str, int]]:
    """What the index holds in each version."""
    held = {1: {}}
    for version in range(2, LAST_VERSION + 1):
        kind, items = change(version)
        kept = {id_: code for id_, code in held[version - 1].items() if id_ not in items}
        held[version] = kept if kind == "remove" else {**kept, **items}
    return held


def read(folder: Path, seconds: float) -> None:
    """Compare answers with the models of their versions; print how many versions were seen."""
    held, seen, end = models(), [1], time.monotonic() + seconds
    with EmbeddedIndex(folder) as index:
        while time.monotonic() < end:
            answer = index.search(workload.codes([0]), k=10)
            version = answer.certificate.version
            ranked = sorted((code.bit_count(), id_) for id_, code in held[version].items())[:10]
            if [(hit.distance, hit.id) for hit in answer[0]] != ranked:
                raise SystemExit(f"version {version}: {answer[0]} instead of {ranked}")
            if version < seen[-1]:
                raise SystemExit(f"version {version} after {seen[-1]}")
            seen += [version] if version != seen[-1] else []
    print(len(seen))  # noqa: T201


def write(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    with EmbeddedIndex(folder, writable=True) as index:
        while True:
            numbers = {f"item-{rng.randrange(200)}": rng.randrange(2**16) for _ in range(rng.randrange(1, 60))}
            kind = rng.choice(["replace", "replace", "remove", "compact"])
            line = f"{kind} " + " ".join(f"{id_}={code}" for id_, code in numbers.items())
            os.write(1, f"begin {line}\n".encode())
            workload.take(index, kind, numbers)
            os.write(1, f"done {line}\n".encode())


if __name__ == "__main__":
    {"read": read, "write": write}[sys.argv[1]](Path(sys.argv[2]), float(sys.argv[3]))
