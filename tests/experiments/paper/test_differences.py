"""Differences of an earlier drawing: taken over as they are, or not at all."""

import json

import pytest

from deepbinaries.evaluation import Difference, Interval
from deepbinaries.experiments.comparison_table import Column, Entry
from deepbinaries.experiments.paper.differences import differences_of

COLUMN = Column("clean", 64, "image_to_text")
MEANS = {("best", COLUMN): 0.5, ("one", COLUMN): 0.25, ("two", COLUMN): 0.125}
OVER = {"mean": -0.25, "interval": [-0.5, -0.1], "p": 0.0123}


def line(row, **more):
    return {"row": row, **COLUMN._asdict(), "map_all": MEANS[row, COLUMN]} | more


# Twice .0123 would be .0246; what was corrected before it was rounded is .024601.
NUMBERS = [
    line("best"),
    line("one", over_reference=OVER | {"p_holm": 0.024601}),
    line("two", over_reference=OVER | {"p": 0.5, "p_holm": 0.5}),
]
TABLE = {"format": "deepbinaries-paper", "version": 1, "reference": "best", "numbers": NUMBERS}


@pytest.fixture
def found(tmp_path):
    """What is taken over of an earlier table."""

    def of(table, means=MEANS, entries=None):
        (tmp_path / "table1.json").write_text(json.dumps(table))
        differences = differences_of(entries or {}, means, "best", tmp_path / "table1.json")
        return {row: difference.p_holm for (row, _), difference in differences.items()}

    return of


def test_a_column_that_is_as_it_was_keeps_its_p_values_to_the_last_digit(found):
    assert found(TABLE) == {"one": 0.024601, "two": 0.5}


def test_a_column_of_which_a_row_is_gone_or_new_is_corrected_for_those_that_are_there(found):
    assert found(TABLE, MEANS | {("two", COLUMN): 0.1}) == {"one": 0.0123}
    new = Entry(0.3, (0.2, 0.4), {}, 0.1, None, difference=Difference(-0.2, Interval(-0.3, -0.1, "queries"), 0.02))
    assert found(TABLE, MEANS, {("new", COLUMN): new}) == pytest.approx({"one": 0.0369, "two": 0.5, "new": 0.04})


@pytest.mark.parametrize(
    "changed",
    [
        {"version": 99},
        {"format": "another"},
        {"reference": "one"},
        {"reference": ["best"]},
        {"numbers": None},
        {"numbers": []},
        {"numbers": ["best"]},
        {"numbers": [*NUMBERS[:2], {"row": "two"}]},
        {"numbers": [*NUMBERS[:2], line("two", bits=[64])]},
        {"numbers": [*NUMBERS[:2], line("two", over_reference=None)]},
        {"numbers": [*NUMBERS[:2], line("two", over_reference=OVER)]},
        {"numbers": [*NUMBERS[:2], line("two", over_reference=OVER | {"p_holm": 1, "interval": [0.1]})]},
    ],
)
def test_a_table_of_another_shape_is_no_earlier_drawing(found, changed):
    assert found(TABLE | changed) == {}


def test_what_lacks_numbers_or_is_no_table_at_all_is_none_either(found):
    assert found({name: TABLE[name] for name in ("format", "version", "reference")}) == {}
    assert found([TABLE]) == {}
