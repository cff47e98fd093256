"""`train --settings FILE.toml` says what options say, and options win over it."""

import json

import pytest
from small_training import DATA, METHOD, SMALL, VISION, run

from deepbinaries.cli.recipe import Read, read_recipe

NOTHING = (None,) * 7  # no option is given


@pytest.fixture
def file(tmp_path):
    """A file of settings with this content."""

    def write(content):
        path = tmp_path / "settings.toml"
        path.write_text(content)
        return path

    return write


EVERYTHING = """
[method]
name = "tvdb-lstm"
bits = 32
eta = 1
widths = [2, 3]
update = "gram"

[vision]
keep = 5
l2_normalise = true

[text]
read = "whole"
words = 64
"""


def test_everything_that_options_say_can_be_said_in_a_file(file):
    recipe = read_recipe(file(EVERYTHING), *NOTHING)
    assert (recipe.method, recipe.read, recipe.words) == ("tvdb-lstm", Read.WHOLE, 64)
    assert recipe.settings == {"bits": 32, "eta": 1.0, "widths": (2, 3), "update": "gram"}
    assert (recipe.vision.keep, recipe.vision.l2_normalise) == (5, True)


def test_an_option_wins_over_the_file(file):
    options = ("tvdb", 16, ["eta=0.5"], None, ["keep=7"], Read.FIRST, 9)
    recipe = read_recipe(file(EVERYTHING), *options)
    assert (recipe.method, recipe.vision.keep, recipe.read, recipe.words) == ("tvdb", 7, Read.FIRST, 9)
    assert recipe.settings == {"bits": 16, "eta": 0.5, "widths": (2, 3), "update": "gram"}


def test_a_tuned_setting_wins_over_the_file(file):
    recipe = read_recipe(file(EVERYTHING), None, None, None, ["eta=0.1,0.2"], None, None, None)
    assert [recipe.make("cpu", combination).settings.eta for combination in recipe.grid] == [0.1, 0.2]


def test_without_a_file_the_defaults_stand():
    recipe = read_recipe(None, *NOTHING)
    assert (recipe.method, recipe.settings, recipe.read, recipe.words) == ("tvdb", {"bits": 64}, Read.FIRST, 12)


def test_an_empty_file_changes_nothing(file):
    assert read_recipe(file(""), *NOTHING) == read_recipe(None, *NOTHING)


def test_a_training_by_file_is_the_training_by_options(trained, features, file, tmp_path):
    lines = ["[method]", "bits = 16", *METHOD, "[vision]", *VISION]
    out = tmp_path / "model"
    assert run("train", *DATA, "--settings", file("\n".join(lines)), "--features", features, "--out", out) == 0
    digests = [json.loads((folder / "config.json").read_text())["sha256"] for folder in (trained, out)]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ("[method]\nepohcs = 3", 2, ["epohcs", "settings.toml", "did you mean 'epochs'"]),
        ("[vision]\nkep = 3", 2, ["kep", "settings.toml", "did you mean 'keep'"]),
        ("[text]\nlanguage = 'en'", 2, ["language", "settings.toml", "read, words"]),
        ("[metod]\neta = 3", 2, ["metod", "settings.toml", "did you mean 'method'"]),
        ("eta = 3", 2, ["eta", "settings.toml", "method, text, vision"]),
        ("method = 'tvdb'", 2, ["method in", "settings.toml", "[method]"]),
        ("[method]\neta = 'high'", 2, ["settings.toml", "eta=high is no number"]),
        ("[method.eta]\nvalue = 3", 2, ["method.eta", "settings.toml", "dict"]),
        ("[method]\neta = 1979-05-27", 2, ["method.eta", "settings.toml", "date"]),
        ("[method]\nname = 'tvbd'", 2, ["did you mean 'tvdb'"]),
        ("[text]\nread = 'last'", 2, ["last"]),
        ("[method\n", 3, ["settings.toml", "is no TOML"]),
        ("a = " + "[" * 5000, 3, ["settings.toml", "is no TOML"]),
    ],
)
def test_what_a_file_says_wrongly_is_one_line(file, tmp_path, capsys, content, code, words):
    assert run("train", *SMALL, "--settings", file(content), "--out", tmp_path / "model") == code
    (line,) = capsys.readouterr().err.splitlines()
    for word in words:
        assert word in line


@pytest.mark.parametrize("content", [b"\xff\xfe", b""])
def test_a_file_that_is_no_text_or_not_there_is_told(tmp_path, capsys, content):
    path = tmp_path / "settings.toml"
    if content:
        path.write_bytes(content)
    assert run("train", *SMALL, "--settings", path, "--out", tmp_path / "model") == 3
    assert "settings.toml" in capsys.readouterr().err
