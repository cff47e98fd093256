import json

import pytest

from deepbinaries import progress
from deepbinaries.errors import UsageError


def test_a_pipe_sees_nothing(capsys, monkeypatch):
    monkeypatch.delenv("DEEPBINARIES_PROGRESS", raising=False)
    assert list(progress.track([1, 2, 3], "counting")) == [1, 2, 3]
    assert capsys.readouterr().err == ""


def test_json_lines_say_what_is_done_and_what_is_left(capsys, monkeypatch):
    seconds = iter(range(0, 100, 2))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(seconds)))
    assert list(progress.track([1, 2], "counting", mode="json")) == [1, 2]
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert lines[0] == {"what": "counting", "done": 1, "total": 2, "seconds": 2.0, "seconds_left": 2.0}
    assert lines[-1]["done"] == 2


def test_the_environment_chooses_the_form(capsys, monkeypatch):
    monkeypatch.setenv("DEEPBINARIES_PROGRESS", "json")
    list(progress.track([1], "counting"))
    assert json.loads(capsys.readouterr().err)["total"] == 1


def test_a_bar_passes_every_item_on():
    assert list(progress.track(iter("abc"), "spelling", total=3, mode="bar")) == ["a", "b", "c"]


def test_an_unknown_form_is_refused():
    with pytest.raises(UsageError, match="choose one of bar, json, quiet"):
        progress.track([], "nothing", mode="loud")
