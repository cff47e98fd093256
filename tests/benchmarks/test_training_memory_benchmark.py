"""The benchmark runs at a small size and writes what it promises."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_a_small_run_says_that_it_is_small_and_what_it_took(tmp_path):
    output = tmp_path / "memory.json"
    command = [sys.executable, str(BENCHMARKS / "training_memory.py"), "--small", "--output", str(output)]
    subprocess.run(command, check=True)
    content = json.loads(output.read_text())
    figures = content["figures"]
    assert (content["command"], figures["scale"][:5]) == ("python benchmarks/training_memory.py --small", "small")
    assert content["ratios"]["of_allowed_memory"] == pytest.approx(24 / figures["peak_memory_gb"], rel=0.05)


def test_sparse_features_have_the_shape_and_take_no_room(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from training_memory import Shape, sparse_features

    features = sparse_features(tmp_path, 1100, Shape(21, 4100))
    assert features.shape == (1100, 21, 4100)
    assert not np.any(features[[0, 511, 512, 1099]])
    on_disk = sum(path.stat().st_blocks * 512 for path in tmp_path.iterdir())
    assert on_disk < features.nbytes / 100


def test_the_recorded_run_is_of_the_papers_size_and_fits():
    content = json.loads((BENCHMARKS / "results" / "training_memory.json").read_text())
    figures = content["figures"]
    assert (figures["pairs"], figures["shape_of_a_picture"], figures["scale"]) == (85_000, [21, 4100], "full")
    assert figures["peak_memory_gb"] < figures["allowed_gb"] == 24
