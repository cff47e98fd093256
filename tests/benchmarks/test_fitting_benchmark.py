"""The benchmark runs at a small size and writes what it promises; how fast it is, is not a test's business."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    output = tmp_path_factory.mktemp("results") / "fitting.json"
    sizes = ["--pairs", "60", "--width", "12", "--text-width", "8", "--bits", "8"]
    command = [sys.executable, str(BENCHMARKS / "fitting.py"), "--methods", "cca,cvh", *sizes, "--output", str(output)]
    subprocess.run(command, check=True)
    command[command.index("cca,cvh")] = "cvh"  # measured again: what is known of the other stays
    subprocess.run(command, check=True)
    return output


def test_every_method_has_its_seconds_and_its_peak(written):
    figures = json.loads(written.read_text())["figures"]["methods"]
    assert list(figures) == ["cca", "cvh"]
    for of in figures.values():
        assert of["seconds"] > 0
        assert of["peak_megabytes"] >= of["before_megabytes"] > 0


def test_the_ratios_are_those_of_the_slowest_and_the_largest(written):
    content = json.loads(written.read_text())
    methods = content["figures"]["methods"].values()
    assert content["ratios"]["of_allowed_seconds"] == pytest.approx(
        180 / max(of["seconds"] for of in methods), abs=1e-3
    )
    assert content["ratios"]["of_allowed_memory"] == pytest.approx(
        4000 / max(of["peak_megabytes"] for of in methods), abs=1e-3
    )


def test_the_table_has_a_row_for_each_method(written):
    rows = [line for line in written.with_suffix(".md").read_text().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == ["cca", "cvh"]


def test_the_published_figures_keep_their_promise():
    """Under 3 minutes and 4 GB for every shallow method, at the full size."""
    content = json.loads((BENCHMARKS / "results/fitting.json").read_text())
    assert content["figures"]["sizes"] == {"pairs": 10_000, "width": 4096, "text_width": 384, "bits": 64}
    assert len(content["figures"]["methods"]) == 14
    assert min(content["ratios"].values()) > 1
