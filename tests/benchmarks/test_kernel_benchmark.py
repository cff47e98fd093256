"""The benchmark runs and writes what it promises; how fast it is, is not a test's business."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "kernel.py"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    if not all(importlib.util.find_spec(peer) for peer in ("faiss", "usearch")):
        pytest.skip("the benchmark's peers are not installed")
    output = tmp_path_factory.mktemp("results") / "kernel.json"
    sizes = ["--sizes", "3000", "--rounds", "1"]
    subprocess.run([sys.executable, str(BENCHMARK), *sizes, "--output", str(output)], check=True)
    return json.loads(output.read_text())


def test_every_kind_and_length_of_codes_is_measured_with_and_without_the_newest_instructions(written):
    for grid in ("all", "avx2"):
        cells = [(cell["kind"], cell["bits"]) for cell in written["figures"][grid]["cells"]]
        assert cells == [("uniform", 64), ("clustered", 64), ("uniform", 128), ("clustered", 128)]


def test_a_ratio_is_that_of_the_worst_cell_beside_the_better_of_two_settings(written):
    def ratio(cell):
        theirs = min(cell["faiss batch, counting, ms a query"], cell["faiss batch, heap, ms a query"])
        return theirs / cell["batch, ms a query"]

    for grid, suffix in (("all", ""), ("avx2", "_avx2")):
        worst = min(map(ratio, written["figures"][grid]["cells"]))
        assert written["ratios"][f"vs_faiss_batch{suffix}"] == pytest.approx(worst, abs=0.01)


def test_the_command_repeats_the_run(written):
    assert written["command"] == "python benchmarks/kernel.py --sizes 3000 --rounds 1"


def test_the_first_answer_is_timed_with_both_engines(written):
    assert written["figures"]["first_answer_seconds"] > 0
    assert written["figures"]["first_answer_seconds_numpy"] > 0


def test_one_query_to_a_whole_batch_are_timed_beside_reading(written):
    roof = written["figures"]["all"]["bandwidth"]
    assert list(roof["comparisons a second"]) == ["1", "2", "4", "8", "16", "32", "64"]
    assert roof["ratio"] == pytest.approx(roof["search GB/s"] / roof["read GB/s"])
    assert written["ratios"]["of_read_bandwidth"] == pytest.approx(roof["ratio"], abs=0.001)


def test_waiting_times_come_in_order(written):
    for cell in written["figures"]["curves"]["latency"]:
        for waits in cell["ms by threads"].values():
            assert list(waits) == ["p50", "p95", "p99"]
            assert list(waits.values()) == sorted(waits.values())
