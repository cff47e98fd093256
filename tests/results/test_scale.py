"""The page about 10^5 to 10^10 codes: it is that of the benchmarks, and multiplies only what it says it does."""

import importlib.util
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def scale():
    """The script of the page, as a module."""
    spec = importlib.util.spec_from_file_location("scale", RESULTS / "scale.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def known(scale):
    """A thousand codes that take 2 ms, and ten thousand that take 30 ms."""
    return [scale.Measured(1000, 2.0, 1.0, 40.0), scale.Measured(10_000, 30.0, 10.0, 50.0)]


def test_the_page_is_that_of_the_benchmarks(scale):
    assert scale.page() == (RESULTS / "scale.md").read_text(encoding="utf-8"), "run python results/scale.py"


def test_what_was_measured_is_told_as_it_was(scale, known):
    assert scale.planned(1000, known, call=5.0) == (1000, 1, 40_000, 2.0, 1.0, True)


def test_on_one_machine_the_largest_that_was_measured_is_multiplied(scale, known):
    assert scale.planned(10**6, known, call=5.0) == (10**6, 1, 50 * 10**6, 3000.0, 1000.0, False)


def test_on_several_machines_each_has_its_part_and_a_call_takes_its_time(scale, known, monkeypatch):
    monkeypatch.setattr(scale, "ON_ONE", 10**6)
    monkeypatch.setattr(scale, "OF_A_MACHINE", 10**6)
    assert scale.planned(10**7, known, call=5.0) == (10**7, 10, 50 * 10**7, 3005.0, 1000.0, False)
