"""The benchmark of whole sets runs without a GPU, and the page shows what it found."""

import importlib
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    output = tmp_path_factory.mktemp("results") / "whole_set.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        patch.setattr(sys, "argv", ["whole_set.py", "--device", "cpu", "--output", str(output)])
        importlib.import_module("whole_set").main()
    return json.loads(output.read_text())


def test_every_update_has_its_times_and_the_ratio_is_theirs(written):
    assert set(written["figures"]["seconds"]) == {"spectral", "relaxed", "gram", "printed"}
    for update in ("gram", "printed"):
        seconds = written["figures"]["seconds"][update]
        expected = seconds["all pairs"]["seconds"] / seconds["first"]
        assert written["ratios"][f"vs_all_pairs_{update}"] == pytest.approx(expected, abs=0.006)
    assert written["figures"]["scale"].startswith("small")


def test_between_label_sets_the_codes_are_those_between_all_pairs(written):
    for update in ("gram", "printed"):
        assert written["figures"]["seconds"][update]["all pairs"]["equal_bits"] > 0.999


def test_the_page_shows_what_was_measured(written, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    shown = importlib.import_module("page").page({"whole_set": written})["README.md"]
    first = written["figures"]["seconds"]["spectral"]["first"]
    assert f"| `spectral` | {first:.2g} |" in shown
    assert "300 items with" in shown
