"""What is left after processes were killed at random moments: while codes are added, removed and compacted, and while
photographs are indexed.

    python benchmarks/crashes.py              # 100 kills of each
    python benchmarks/crashes.py --kills 3    # to see that it runs

It is the long version of what `tests/index` and `tests/search` do a few times. An item that was acknowledged and is
lost, a wrong code, or an answer that differs from comparing everything by hand, ends it with an error: what is
recorded are kills after which nothing was lost. A last run of indexing, which is let to its end, must make the same
index as one that was never disturbed.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

from recording import record

TESTS = Path(__file__).resolve().parents[1] / "tests"
WRITERS = {"indexing photographs": "search/photo_killing.py", "changing codes": "index/killing.py"}


def killed(program: str, kills: int, seed: int) -> dict[str, int]:
    """How many kills there were, and how much was acknowledged before them and found after them."""
    began = time.monotonic()
    command = [sys.executable, str(TESTS / program), "--kills", str(kills), "--seed", str(seed)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = re.fullmatch(r"(\d+) kills, (\d+) acknowledged.*, none lost, no answer wrong\n", said)
    if found is None:
        raise SystemExit(f"{program} says something else: {said}")
    counts = {"kills": int(found[1]), "acknowledged": int(found[2]), "lost": 0, "wrong answers": 0}
    return counts | {"seconds": round(time.monotonic() - began)}


def main() -> None:
    """Kill, check, and write how often."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--kills", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--output", type=Path)
    given = arguments.parse_args()
    figures = {name: killed(program, given.kills, given.seed) for name, program in WRITERS.items()}
    command = f"python benchmarks/crashes.py --kills {given.kills} --seed {given.seed}"
    print(figures, record("crashes", ratios={}, figures=figures, command=command, output=given.output))


if __name__ == "__main__":
    main()
