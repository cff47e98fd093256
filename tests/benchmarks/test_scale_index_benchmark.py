"""The benchmark runs and writes what it promises; how fast it is, is not a test's business."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SIZES = "--codes 300 --bits 64 --verify 10 --engines postgres milvus"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    command = [sys.executable, BENCHMARKS / "scale_index.py", *SIZES.split(), "--output", folder / "scale_index.json"]
    subprocess.run(command, check=True)
    return folder


@pytest.fixture(scope="module")
def written(folder):
    content = json.loads((folder / "scale_index.json").read_text())
    if "postgres" not in content["figures"]["engines"]:
        pytest.skip("no PostgreSQL server can be started here")
    if "milvus" not in content["figures"]["engines"]:
        pytest.skip("no Milvus server can be started here")
    return content


def test_every_engine_gives_equal_distances(written):
    engines = written["figures"]["engines"]
    assert list(engines) == ["folder", "postgres", "milvus"]
    assert [engines[name]["equal distances"] for name in ("postgres", "milvus")] == [10, 10]


def test_a_ratio_says_how_much_longer_an_engine_takes_than_the_folder(written):
    waits = {name: of["single, median ms"] for name, of in written["figures"]["engines"].items()}
    for name in ("postgres", "milvus"):
        assert written["ratios"][f"vs_{name}"] == pytest.approx(waits[name] / waits["folder"], abs=0.01)


def test_the_command_repeats_the_run(written):
    assert written["command"] == f"python benchmarks/scale_index.py {SIZES}"


@pytest.mark.usefixtures("written")
def test_the_page_has_a_line_for_every_engine(folder):
    subprocess.run([sys.executable, BENCHMARKS / "page.py", "--folder", folder], check=True)
    page = (folder / "README.md").read_text()
    assert [f"| {name} |" in page for name in ("folder", "postgres", "milvus")] == [True] * 3
    assert page.count("| 10 of 10 |") == 2
