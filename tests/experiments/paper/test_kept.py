"""Lines that are made once: what holds no result is refused with its number, before anything is made of it."""

import pytest

from deepbinaries.errors import DataError
from deepbinaries.experiments.paper import epochs, timing
from deepbinaries.experiments.paper.kept import Kept
from deepbinaries.experiments.paper.shapes import fits

EPOCH = {"epoch": 1, "loss": 2.5, "image_to_text": 0.5, "text_to_image": 0.5, "seconds": 1.5}
COURSE = {"chance": 0.25, "epochs": [EPOCH], "seconds": 1.5}
MACHINE = {"processor": "one", "cores": 2, "device": "cpu", "threads": 2}
TIME = {"seconds": {"batch": 1.0, "first": 2.0, "again": 3.0, "start": 4.0}, "machine": MACHINE}


@pytest.mark.parametrize("foreign", [{"bits": 16, "epochs": []}, {"format": 1}])
def test_a_line_of_another_shape_is_refused_with_its_number_whatever_is_looked_for(tmp_path, foreign):
    path = tmp_path / "epochs.jsonl"
    Kept(path).extend([{"bits": 8} | COURSE])
    assert Kept(path, epochs.SHAPE).find({"bits": 8}) == {"bits": 8} | COURSE
    assert Kept(path, epochs.SHAPE).find({"bits": 32}) is None
    Kept(path).extend([foreign])
    with pytest.raises(DataError, match=r"epochs\.jsonl, line 2, is no result; remove the line, or the file"):
        Kept(path, epochs.SHAPE)


def test_a_last_line_that_was_torn_is_not_there_and_goes_when_another_comes(tmp_path):
    path = tmp_path / "epochs.jsonl"
    Kept(path).extend([{"bits": 8} | COURSE])
    with path.open("a") as file:
        file.write('{"bits": 16, "epo')
    kept = Kept(path, epochs.SHAPE)
    assert kept.lines == [{"bits": 8} | COURSE]
    kept.extend([{"bits": 16} | COURSE])
    assert [line["bits"] for line in Kept(path, epochs.SHAPE).lines] == [8, 16]


@pytest.mark.parametrize(
    "broken",
    [
        {"epochs": []},
        {"epochs": None},
        {"epochs": [EPOCH | {"loss": "low"}]},
        {"epochs": [{"epoch": 1}]},
        {"chance": None},
        {"seconds": float("nan")},
    ],
)
def test_a_course_has_epochs_with_all_their_numbers(broken):
    assert fits(COURSE, epochs.SHAPE)
    assert not fits(COURSE | broken, epochs.SHAPE)


@pytest.mark.parametrize(
    "broken", [{"seconds": None}, {"seconds": {"batch": 1.0}}, {"machine": "x86_64"}, {"machine": {"cores": 2}}]
)
def test_a_time_has_all_kinds_of_seconds_and_a_machine(broken):
    assert fits(TIME, timing.SHAPE)
    assert not fits(TIME | broken, timing.SHAPE)
