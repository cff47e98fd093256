"""The benchmark runs and writes what it promises; how fast it is, is not a test's business."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "multi_index.py"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    output = tmp_path_factory.mktemp("results") / "multi_index.json"
    small = ["--sizes", "3000", "--queries", "5", "--rounds", "1"]
    subprocess.run([sys.executable, str(BENCHMARK), *small, "--output", str(output)], check=True)
    return json.loads(output.read_text())


def test_both_kinds_of_codes_are_measured(written):
    assert [(cell["kind"], cell["items"]) for cell in written["figures"]["cells"]] == [
        ("uniform", 3000),
        ("clustered", 3000),
    ]


def test_a_ratio_is_that_of_the_worse_kind(written):
    cells = written["figures"]["cells"]
    worst = min(cell["scan, ms a query"]["median"] / cell["index, ms a query"]["median"] for cell in cells)
    assert written["ratios"]["vs_scan_single_3000"] == pytest.approx(worst, abs=0.01)


def test_the_command_repeats_the_run(written):
    assert written["command"] == "python benchmarks/multi_index.py --sizes 3000 --queries 5 --rounds 1"


def test_the_scan_is_timed_on_all_cores_too(written):
    assert all(f"scan on {os.cpu_count()} threads, ms a query" in cell for cell in written["figures"]["cells"])
