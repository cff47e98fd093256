"""The benchmark of indexing takes up every picture once."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "indexing.py"


def test_every_picture_is_encoded_once_and_none_of_them_again(tmp_path):
    subprocess.run([sys.executable, PROGRAM, "--items", "20", "--output", tmp_path / "indexing.json"], check=True)
    figures = json.loads((tmp_path / "indexing.json").read_text())["figures"]
    assert figures["pictures"] == 20
    assert (figures["second_run"]["encoded"], figures["second_run"]["unchanged"]) == (0, 20)
    assert figures["peak_memory_mb"] > 0
