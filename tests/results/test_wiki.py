"""The table of the Wiki features: it is that of the cells, and what it has to show is there."""

import importlib.util
from pathlib import Path

import pytest
from packed import packed_cells

RESULTS = Path(__file__).parents[2] / "results"
CHANCE = 0.112


@pytest.fixture(scope="module")
def wiki():
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("wiki", RESULTS / "wiki.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def cells():
    return packed_cells(RESULTS / "wiki/cells.jsonl")


def score(cells, method, bits, direction, codes="separate"):
    here = [c for c in cells if (c["method"], c["direction"], c["codes"]) == (method, direction, codes)]
    return next((cell for cell in here if cell["bits"] == bits), here[0])["map_all"]


def test_the_table_is_that_of_the_cells(wiki, cells):
    assert (RESULTS / "wiki/table.md").read_text(encoding="utf-8") == "\n".join(wiki.table(cells))


def test_scm_seq_is_what_was_published_to_three_decimals(wiki, cells):
    for direction, published in zip(wiki.DIRECTIONS, wiki.PUBLISHED["scm-seq", "separate"], strict=True):
        for bits, value in zip(wiki.BITS, published, strict=True):
            assert score(cells, "scm-seq", bits, direction) == pytest.approx(value, abs=0.0005)


@pytest.mark.parametrize(
    ("method", "codes", "lengths"),
    [("cmfh", "unified", 4), ("seph-km", "unified", 4), ("imh", "separate", 2)],
)
def test_others_are_near_the_values_that_are_quoted(wiki, cells, method, codes, lengths):
    for direction, published in zip(wiki.DIRECTIONS, wiki.PUBLISHED[method, codes], strict=True):
        for bits, value in list(zip(wiki.BITS, published, strict=True))[:lengths]:
            assert score(cells, method, bits, direction, codes) == pytest.approx(value, abs=0.03)


def test_every_method_is_well_above_chance_in_one_direction(wiki, cells):
    for contestant in wiki.METHODS:
        assert max(score(cells, contestant.method, 32, direction) for direction in wiki.DIRECTIONS) > CHANCE + 0.02


def test_what_could_not_be_looked_up_is_marked(wiki, cells):
    rows = [line for line in wiki.table(cells) if line.startswith("| `")]
    marked = {row.split("`")[1] for row in rows if row.endswith("| unverified |")}
    assert marked == {"scm-orth", "cmfh", "seph-km", "cvh", "imh", "cmssh"}
    assert [row.split("`")[1] for row in rows if row.endswith("| confirmed |")] == ["scm-seq"]
