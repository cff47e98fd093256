"""The benchmark runs and writes what it promises; how fast it is, is not a test's business."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "search.py"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    if not all(importlib.util.find_spec(peer) for peer in ("faiss", "usearch", "psycopg", "psutil")):
        pytest.skip("the benchmark's peers are not installed")
    folder = tmp_path_factory.mktemp("search")
    sizes = ["--sizes", "2000", "--rounds", "1", "--folder", str(folder), "--output", str(folder / "search.json")]
    subprocess.run([sys.executable, str(BENCHMARK), *sizes], check=True)
    assert [path.name for path in folder.iterdir()] == ["search.json"]
    return json.loads((folder / "search.json").read_text())


def test_every_kind_and_length_of_codes_is_measured(written):
    cells = [(cell["kind"], cell["bits"]) for cell in written["figures"]["cells"]]
    assert cells == [("uniform", 64), ("clustered", 64), ("uniform", 128), ("clustered", 128)]


@pytest.mark.parametrize("asked", ["batch", "single"])
def test_a_ratio_is_that_of_the_worst_cell_beside_the_better_of_two_settings(written, asked):
    def ratio(cell):
        theirs = min(cell[f"faiss {asked}, {way}, ms a query"] for way in ("counting", "heap"))
        return theirs / cell[f"index {asked}, ms a query"]

    worst = min(map(ratio, written["figures"]["cells"]))
    assert written["ratios"][f"vs_faiss_{asked}"] == pytest.approx(worst, abs=0.01)
    assert written["ratios"][f"vs_faiss_{asked}_2000"] == written["ratios"][f"vs_faiss_{asked}"]


def test_an_item_takes_its_code_its_id_and_two_words(written):
    for cell in written["figures"]["cells"]:
        ids = sum(len(f"photo-{number}.jpg") for number in range(2000)) / 2000
        assert cell["bytes an item"] > cell["bits"] / 8 + ids + 16


def test_the_command_repeats_the_run(written):
    assert written["command"] == "python benchmarks/search.py --sizes 2000 --rounds 1"
