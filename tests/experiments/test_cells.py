import json

import pytest

from deepbinaries.codes import Codes
from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import Extras, evaluate
from deepbinaries.experiments.cells import append_cells, make_cell, read_cells, tell_torn

KEYS = (
    "experiment method settings bits rule gallery direction map_all map_500 optimistic pessimistic chance health "
    "seed seconds proposer command digests"
)

MEASURED = "map_all map_500 optimistic pessimistic chance health seconds command digests"


def report(**settings):
    """Two queries, each of which finds its one relevant item of three first."""
    labels = Labels.from_names([["cat"], ["dog"], ["cow"]])
    codes = Codes.from_bits([[0, 0, 0, 1], [1, 1, 1, 0], [0, 1, 0, 1]])
    first_two = {"query_labels": labels.select([0, 1]), "gallery_labels": labels}
    return evaluate(codes[[0, 1]], codes, **first_two, **({"extras": Extras(cutoffs=(50, 500))} | settings))


def cell(**changes):
    about = {"experiment": "main", "method": "tvdb", "settings": {"eta": 0.3}, "rule": "all labels", "seed": 0}
    about |= {"seconds": 12.345, "proposer": "grid", "command": "deepbinaries train ...", "digests": {"model": "abc"}}
    return make_cell(report(), **about) | changes


def test_a_cell_has_exactly_the_agreed_keys():
    assert list(cell()) == KEYS.split()


def test_a_cell_holds_the_scores_of_its_report():
    made, whole = cell(), report()
    assert (made["map_all"], made["optimistic"], made["pessimistic"]) == (1, 1, 1)
    assert made["map_500"] == {"value": 1.0, "divisor": "min", "chance": round(whole.others[1].chance, 6)}
    assert made["chance"] == round(whole.chance, 6)
    assert (made["bits"], made["gallery"], made["direction"]) == (4, "database", "image_to_text")
    assert made["health"]["gallery"]["distinct_codes"] == 3
    assert made["digests"]["model"] == "abc"
    assert made["digests"]["codes"] == whole.digests


@pytest.mark.parametrize("settings", [{"extras": Extras(cutoffs=(50,))}, {"rules": None}])
def test_a_report_without_the_two_scores_makes_no_cell(settings):
    from deepbinaries.evaluation import Rules

    settings = {name: value or Rules.named("map@50/min") for name, value in settings.items()}
    about = dict.fromkeys(("experiment", "method", "rule", "proposer", "command"), "x")
    with pytest.raises(UsageError, match="MAP@500"):
        make_cell(report(**settings), settings={}, seed=0, seconds=0, **about)


def test_cells_are_read_back_as_they_were_written(tmp_path):
    path = tmp_path / "results/kennel/cells.jsonl"
    append_cells(path, [cell()])
    append_cells(path, [cell(bits=128)])
    assert read_cells(path) == [cell(), cell(bits=128)]


@pytest.mark.parametrize("name", sorted({*KEYS.split()} - {*MEASURED.split()}))
def test_cells_that_differ_in_what_was_measured_stand_side_by_side(tmp_path, name):
    append_cells(tmp_path / "cells.jsonl", [cell(), cell(**{name: "another"})])
    assert len(read_cells(tmp_path / "cells.jsonl")) == 2


def test_a_cell_measured_again_takes_the_place_of_the_earlier_one(tmp_path):
    path = tmp_path / "cells.jsonl"
    append_cells(path, [cell(), cell(bits=128)])
    append_cells(path, [cell(map_all=0.5, seconds=99, settings={"eta": 0.3}, command="another")])
    assert [(found["bits"], found["map_all"]) for found in read_cells(path)] == [(4, 0.5), (128, 1)]


def test_tuples_among_the_settings_do_not_make_a_cell_another_one(tmp_path):
    path = tmp_path / "cells.jsonl"
    append_cells(path, [cell(settings={"widths": [3, 4]})])
    append_cells(path, [cell(settings={"widths": (3, 4)})])
    assert len(read_cells(path)) == 1


def test_a_full_disk_leaves_the_earlier_cells(tmp_path, monkeypatch):
    path = tmp_path / "cells.jsonl"
    append_cells(path, [cell()])

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.replace", full)
        with pytest.raises(Exception, match="No space left on device"):
            append_cells(path, [cell(bits=128)])
    assert read_cells(path) == [cell()]


@pytest.mark.parametrize("line", ['{"experiment": "ma', "7", json.dumps({"experiment": "main"})])
def test_a_line_that_is_no_cell_is_refused_by_its_number(tmp_path, line):
    path = tmp_path / "cells.jsonl"
    path.write_text(json.dumps(cell()) + "\n" + line + "\n")
    with pytest.raises(DataError, match="cells.jsonl, line 2, is no cell"):
        append_cells(path, [cell()])


@pytest.mark.parametrize("line", ['{"experiment": "ma', '{"settings": {"eta"', '{"experiment\0\0'])
def test_a_last_line_that_was_torn_is_not_there_and_is_told_of(tmp_path, line):
    path, told = tmp_path / "cells.jsonl", []
    path.write_text(json.dumps(cell()) + "\n" + line)
    assert read_cells(path) == [cell()]
    tell_torn([path, tmp_path / "none.jsonl"], told.append)
    assert told == [f"{path}, line 2, is torn, as by a power cut, and counts as not there"]
    append_cells(path, [cell(bits=128)])
    assert path.read_text() == "".join(json.dumps(one) + "\n" for one in (cell(), cell(bits=128)))


def test_a_last_line_that_is_whole_needs_no_end(tmp_path):
    path, told = tmp_path / "cells.jsonl", []
    path.write_text(json.dumps(cell()))
    tell_torn([path], told.append)
    assert (read_cells(path), told) == ([cell()], [])


@pytest.mark.parametrize("line", ['{"format": 1}', "some notes"])
def test_a_foreign_last_line_is_refused_though_it_has_no_end(tmp_path, line):
    path = tmp_path / "cells.jsonl"
    path.write_text(json.dumps(cell()) + "\n" + line)
    with pytest.raises(DataError, match="cells.jsonl, line 2, is no cell"):
        read_cells(path)


@pytest.mark.parametrize("change", [{"more": 1}, {"chance": None}])
def test_what_is_no_cell_is_not_written(tmp_path, change):
    wrong = {name: value for name, value in (cell() | change).items() if value is not None}
    with pytest.raises(UsageError, match="this is no cell"):
        append_cells(tmp_path / "cells.jsonl", [wrong])
    assert list(tmp_path.iterdir()) == []


def test_what_only_some_cells_have_is_kept(tmp_path):
    more = {"codes": "separate", "interval": [0.5, 1.0], "fit": {"seconds": 1.5}, "tuning": {"chosen": {"eta": 1}}}
    append_cells(tmp_path / "cells.jsonl", [cell(**more)])
    assert read_cells(tmp_path / "cells.jsonl") == [cell() | more]


def test_codes_of_one_view_and_of_both_stand_side_by_side(tmp_path):
    append_cells(tmp_path / "cells.jsonl", [cell(), cell(codes="separate"), cell(codes="unified")])
    assert len(read_cells(tmp_path / "cells.jsonl")) == 3
