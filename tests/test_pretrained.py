"""Models that come with the package: found by name, taken where none is named, cut to fewer bits."""

import json
from contextlib import closing

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from colour_model import BITS, SHORT, draw_colours, write_colour_model
from deepbinaries import pretrained
from deepbinaries.cli import main
from deepbinaries.errors import DataError, UsageError
from deepbinaries.model import Model
from deepbinaries.search import Collection, LazyModel, index_folder
from deepbinaries.web.photographs import Photographs

MOST_BYTES = 16_000_000


@pytest.fixture(scope="module")
def stocked(tmp_path_factory):
    """A shelf with one model, `photo`."""
    shelf = tmp_path_factory.mktemp("shelf")
    write_colour_model(shelf / "photo")
    return shelf


@pytest.fixture
def shelf(stocked, monkeypatch):
    monkeypatch.setattr(pretrained, "SHELF", stocked)
    monkeypatch.delenv("DEEPBINARIES_MODEL", raising=False)
    return stocked


@pytest.fixture
def empty_shelf(tmp_path, monkeypatch):
    monkeypatch.setattr(pretrained, "SHELF", tmp_path / "shelf")
    monkeypatch.delenv("DEEPBINARIES_MODEL", raising=False)


@pytest.fixture
def photographs(tmp_path):
    return draw_colours(tmp_path / "photographs")


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main(list(map(str, arguments)))
    return left.value.code


def test_a_name_opens_the_model_of_the_package(shelf):
    assert pretrained.names() == ["photo"]
    assert Model.from_pretrained("photo").encode_texts("red") == Model.from_pretrained(shelf / "photo").encode_texts(
        "red"
    )


@pytest.mark.usefixtures("shelf")
def test_a_folder_of_the_same_name_is_meant_by_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photo").mkdir()
    with pytest.raises(DataError, match="photo holds no model"):
        Model.from_pretrained("./photo")


@pytest.mark.usefixtures("shelf")
def test_a_name_that_nobody_knows_is_refused_with_the_nearest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no model is called 'foto', and no folder either; did you mean 'photo'"):
        Model.from_pretrained("foto")


@pytest.mark.usefixtures("empty_shelf")
def test_without_any_model_a_name_is_refused_too():
    assert pretrained.default() is None
    with pytest.raises(UsageError, match="none comes with this package"):
        Model.from_pretrained("photo")


@pytest.mark.usefixtures("shelf")
def test_fewer_bits_are_the_first_ones():
    whole, short = Model.from_pretrained("photo"), Model.from_pretrained("photo", bits=SHORT)
    assert (whole.bits, short.bits) == (BITS, SHORT)
    for sentence in ("red", "green blue"):
        assert_array_equal(short.encode_texts(sentence).to_bits(), whole.encode_texts(sentence).to_bits()[:, :SHORT])


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("bits", [1, 8, BITS + 1])
def test_lengths_that_it_was_not_trained_for_are_refused(bits):
    with pytest.raises(UsageError, match=f"no codes of {bits} bits; it has {SHORT} or {BITS}"):
        Model.from_pretrained("photo", bits=bits)


@pytest.mark.usefixtures("shelf")
def test_a_short_model_is_saved_as_one(tmp_path):
    short = Model.from_pretrained("photo", bits=SHORT)
    short.save_pretrained(tmp_path / "short")
    again = Model.from_pretrained(tmp_path / "short")
    assert again.bits == SHORT
    assert again.encode_texts("red") == short.encode_texts("red")


@pytest.mark.usefixtures("shelf")
def test_codes_of_both_lengths_cannot_be_mixed_in_one_index():
    assert LazyModel("photo", bits=SHORT).fingerprint != LazyModel("photo").fingerprint
    assert LazyModel("photo", bits=BITS).fingerprint == LazyModel("photo").fingerprint


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("bits", [SHORT, BITS])
def test_an_index_notes_the_name_and_the_length_and_not_where_the_package_is(photographs, bits):
    index_folder(photographs, LazyModel("photo", bits=bits), workers=1, progress=False)
    with Collection(photographs) as found:
        assert (found.made_by["folder"], found.status()["bits"]) == ("photo", bits)
        assert found.by_text("red", least="none").hits[0].paths == ("red.png",)


@pytest.mark.usefixtures("shelf")
def test_a_short_index_is_searched_by_the_whole_model(photographs):
    index_folder(photographs, LazyModel("photo", bits=SHORT), workers=1, progress=False)
    with Collection(photographs, model=LazyModel("photo")) as found:
        assert found.by_text("blue", least="none").hits[0].paths == ("blue.png",)


def test_an_index_whose_model_left_the_package_says_so(shelf, photographs, monkeypatch):
    index_folder(photographs, LazyModel("photo"), workers=1, progress=False)
    monkeypatch.setattr(pretrained, "SHELF", shelf / "elsewhere")
    monkeypatch.chdir(photographs)
    with Collection(photographs) as found, pytest.raises(DataError, match="is not in photo any more"):
        found.by_text("red")


@pytest.mark.usefixtures("shelf")
def test_index_and_search_need_no_option(photographs, capsys):
    assert run("index", photographs) == 0
    capsys.readouterr()
    assert run("search", "green", "--index", photographs, "--all", "--json") == 0
    assert json.loads(capsys.readouterr().out)["hits"][0]["paths"] == ["green.png"]


@pytest.mark.usefixtures("shelf")
def test_a_run_without_options_keeps_the_length_of_the_last(photographs, capsys):
    assert run("index", photographs, "--bits", SHORT) == 0
    (photographs / "red.png").rename(photographs / "rouge.png")
    capsys.readouterr()
    assert run("index", photographs, "--json") == 0
    assert json.loads(capsys.readouterr().out)["encoded"] == 0
    with Collection(photographs) as found:
        assert found.status()["bits"] == SHORT


@pytest.mark.usefixtures("shelf")
def test_a_model_that_is_gone_is_not_replaced_by_the_one_of_the_package(photographs, tmp_path, capsys):
    own = write_colour_model(tmp_path / "own")
    own.trained_on["dataset"] = "mine"
    own.save_pretrained(tmp_path / "own")
    assert run("index", photographs, "--model", tmp_path / "own") == 0
    (tmp_path / "own").rename(tmp_path / "moved")
    assert run("index", photographs) == 3
    assert "is not in" in capsys.readouterr().err


@pytest.mark.usefixtures("shelf")
def test_pictures_are_encoded_without_naming_a_model(photographs, tmp_path):
    assert run("encode", photographs, "--out", tmp_path / "codes.npy") == 0
    assert run("encode", "photo", photographs, "--bits", SHORT, "--out", tmp_path / "short.npy") == 0
    whole, short = np.load(tmp_path / "codes.npy"), np.load(tmp_path / "short.npy")
    assert_array_equal(short, whole[:, : SHORT // 8])


@pytest.mark.usefixtures("empty_shelf")
@pytest.mark.parametrize("command", ["index", "encode"])
def test_without_any_model_one_has_to_be_given(photographs, tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    assert run(command, photographs) == 2
    assert "no model was given" in capsys.readouterr().err


@pytest.mark.usefixtures("shelf")
def test_a_model_of_the_whole_picture_has_no_regions_for_the_page_to_draw(photographs):
    index_folder(photographs, LazyModel("photo"), workers=1, progress=False)
    with closing(Photographs(photographs / ".deepbinaries")) as served:
        (id_,) = served.sample(1)
        assert [region["box"] for region in served.regions(id_)["regions"]] == [[0, 0, 1, 1]]


def test_what_comes_with_the_package_is_small_whole_and_described():
    for name in pretrained.names():
        folder = pretrained.place_of(name)
        assert sum(path.stat().st_size for path in folder.iterdir()) <= MOST_BYTES
        model = Model.from_pretrained(name)
        assert model.reading("a dog on a beach").unknown == ()
        card = (folder / "README.md").read_text()
        for ingredient in ("EfficientNet-Lite0", "GloVe", "MiniLM", "COCO", "IAPR TC-12", "bad at"):
            assert ingredient in card
