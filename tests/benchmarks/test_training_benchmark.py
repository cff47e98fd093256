"""The benchmark runs without a GPU and writes what it promises; how fast it is, is not a test's business."""

import importlib
import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
UPDATES = ("printed", "centred", "gram", "projection", "relaxed")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    output = tmp_path_factory.mktemp("results") / "training.json"
    command = [sys.executable, str(BENCHMARKS / "training.py"), "--device", "cpu", "--output", str(output)]
    subprocess.run(command, check=True)
    return json.loads(output.read_text())


def test_every_part_has_its_ratio(written):
    assert written["name"] == "training"
    wanted = {"of_bare_networks", "of_bare_networks_tvdb", "of_bare_backbone"}
    assert set(written["ratios"]) == wanted | {f"of_bare_networks_{update}" for update in UPDATES}


def test_a_run_without_a_gpu_says_that_it_is_small(written):
    assert written["figures"]["device"] == "cpu"
    assert written["figures"]["scale"].startswith("small")
    assert written["figures"]["sizes"]["pairs"] < 1000
    assert "paper_size_shrunk_seconds" in written["figures"]
    assert "paper_size_seconds" not in written["figures"]


def test_the_ratio_of_the_networks_is_that_of_the_medians(written):
    speeds = written["figures"]["pairs_a_second"]
    assert set(speeds) == {"bare tvdb-lstm", "bare tvdb", "tvdb-lstm", "tvdb", *(f"tvdb-lstm, {u}" for u in UPDATES)}
    expected = statistics.median(speeds["tvdb-lstm"]) / statistics.median(speeds["bare tvdb-lstm"])
    assert written["ratios"]["of_bare_networks"] == pytest.approx(expected, abs=0.001)


def test_the_ratio_of_the_pipeline_is_that_of_the_medians(written):
    speeds = written["figures"]["pictures_a_second"]
    expected = statistics.median(speeds["pipeline"]) / statistics.median(speeds["bare backbone"])
    assert written["ratios"]["of_bare_backbone"] == pytest.approx(expected, abs=0.001)


def test_the_command_repeats_the_run(written):
    assert written["command"] == "python benchmarks/training.py networks paper-size pipeline --device cpu"


def test_the_command_names_what_was_read_and_no_folder_of_the_machine(benchmark, monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark, "measure_pipeline", lambda *_: ({}, {}))
    given = ("--lite0", str(tmp_path / "lite0.safetensors"), "--pictures", str(tmp_path / "coco18"))
    output = ("--output", str(tmp_path / "training.json"))
    monkeypatch.setattr(sys, "argv", ["training.py", "pipeline", "--device", "cpu", *given, *output])
    benchmark.main()
    command = json.loads((tmp_path / "training.json").read_text())["command"]
    expected = "pipeline --device cpu --lite0 lite0.safetensors --pictures coco18"
    assert command == f"python benchmarks/training.py {expected}"


@pytest.fixture
def benchmark(monkeypatch):
    """The benchmark as a module."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("training")


def test_generated_labels_are_like_those_of_coco(benchmark):
    found = benchmark.label_figures(benchmark.coco_like(benchmark.Sizes().pairs), 512)
    benchmark.check_labels(found)
    assert found["label_sets_in_a_batch"] > 300


@pytest.mark.parametrize("easier", [{"chance": 0.35, "label_sets": 100}, {"chance": 0.9, "label_sets": 9000}])
def test_labels_that_are_easier_are_refused(benchmark, easier):
    with pytest.raises(SystemExit, match="not like COCO's"):
        benchmark.check_labels(easier)


def test_a_part_that_does_not_exist_is_answered_with_those_that_do(benchmark, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["training.py", "network"])
    with pytest.raises(SystemExit):
        benchmark.main()
    assert "'network'; choose from networks, paper-size, pipeline" in capsys.readouterr().err
