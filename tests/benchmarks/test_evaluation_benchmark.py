"""The benchmark runs and writes what it promises; how fast it is, is not a test's business."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "evaluation.py"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    output = tmp_path_factory.mktemp("results") / "evaluation.json"
    sizes = ["--queries", "30", "--items", "400", "--sample", "20", "--bits", "32", "--labels", "10"]
    subprocess.run([sys.executable, str(BENCHMARK), *sizes, "--output", str(output)], check=True)
    return json.loads(output.read_text())


def test_a_result_has_its_five_parts(written):
    assert list(written) == ["name", "ratios", "figures", "command", "machine"]
    assert written["name"] == "evaluation"


def test_the_ratio_is_that_of_the_figures(written):
    figures = written["figures"]
    scaled = figures["loop_seconds_on_the_sample"] / 20 * 30
    assert figures["loop_seconds_scaled_to_all_queries"] == pytest.approx(scaled)
    assert written["ratios"]["vs_argsort_loop"] == pytest.approx(scaled / figures["ours_seconds"], abs=0.01)
    assert written["ratios"]["vs_argsort_loop_numpy"] == pytest.approx(scaled / figures["ours_seconds_numpy"], abs=0.01)


def test_the_command_repeats_the_run(written):
    assert written["command"] == (
        "python benchmarks/evaluation.py --queries 30 --items 400 --bits 32 --labels 10 --sample 20"
    )


def test_the_machine_is_described_without_naming_it(written):
    assert list(written["machine"]) == ["cpu", "cores", "instruction_sets", "system", "python", "numpy"]
    assert str(Path.home()) not in json.dumps(written)
