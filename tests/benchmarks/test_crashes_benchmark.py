"""The benchmark of kills counts kills after which nothing was lost."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "crashes.py"


def test_two_kills_of_each_lose_nothing(tmp_path):
    subprocess.run([sys.executable, PROGRAM, "--kills", "2", "--output", tmp_path / "crashes.json"], check=True)
    figures = json.loads((tmp_path / "crashes.json").read_text())["figures"]
    assert [of["kills"] for of in figures.values()] == [2, 2]
