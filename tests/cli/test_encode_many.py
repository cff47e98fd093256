"""`encode-many` and `import-codes`: from a folder of pictures to an index of codes."""

import json

import pytest
from small_training import run

from colour_model import draw_colours, write_colour_model


@pytest.fixture
def encoded(tmp_path, capsys):
    """The folder of shards of three pictures and of one that is damaged."""
    write_colour_model(tmp_path / "model")
    (draw_colours(tmp_path / "pictures") / "empty.png").touch()
    assert run("encode-many", tmp_path / "pictures", "--out", tmp_path / "codes", "--model", tmp_path / "model") == 0
    out, err = capsys.readouterr()
    assert out.startswith("4 pictures: 0 were done before, 3 encoded, 1 cannot be read; ")
    assert err.splitlines()[0] == "1 without a code: it is empty; copy it again from its source"
    return tmp_path / "codes"


def test_shards_become_an_index_that_can_be_searched(encoded, tmp_path, capsys):
    assert run("import-codes", encoded, "--index", tmp_path / "index", "--json") == 0
    assert json.loads(capsys.readouterr().out)["items"] == 3
    assert run("search", "id:red.png", "--index", tmp_path / "index", "-k", 1, "--json") == 0
    assert "red.png" in capsys.readouterr().out


def test_a_second_run_says_what_was_done_before(encoded, tmp_path, capsys):
    options = ("--model", tmp_path / "model", "--retry-failed", "--json")
    assert run("encode-many", tmp_path / "pictures", "--out", encoded, *options) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["before"], facts["encoded"], facts["failed"], len(facts["failures"])) == (3, 0, 1, 1)


def test_ids_belong_to_a_file_and_not_to_a_folder(encoded, tmp_path, capsys):
    assert run("import-codes", encoded, "--ids", encoded / "x.txt", "--index", tmp_path / "index") == 2
    assert run("import-codes", encoded / "x.npy", "--index", tmp_path / "index") == 2
    assert "which ids are meant" in capsys.readouterr().err


def test_the_model_of_the_environment_goes_before_that_of_the_package(tmp_path, monkeypatch):
    write_colour_model(tmp_path / "model")
    monkeypatch.setenv("DEEPBINARIES_MODEL", str(tmp_path / "model"))
    monkeypatch.setattr("deepbinaries.pretrained.default", lambda: str(tmp_path / "nowhere"))
    assert run("encode-many", draw_colours(tmp_path / "pictures"), "--out", tmp_path / "codes") == 0


def test_without_a_model_it_is_told_how_to_give_one(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("DEEPBINARIES_MODEL", raising=False)
    monkeypatch.setattr("deepbinaries.pretrained.default", lambda: None)
    assert run("encode-many", tmp_path, "--out", tmp_path / "codes") == 2
    assert "--model" in capsys.readouterr().err
