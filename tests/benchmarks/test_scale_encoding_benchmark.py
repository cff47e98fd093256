"""The benchmark of encoding by several workers counts every picture, and notices codes that differ."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import scale_encoding
from colour_model import draw_colours, write_colour_model


@pytest.fixture
def folder(tmp_path):
    """A model and three pictures, all of them and a few."""
    write_colour_model(tmp_path / "model")
    for name in (scale_encoding.ALL, scale_encoding.FEW):
        draw_colours(tmp_path / name)
    (tmp_path / scale_encoding.FEW / "red.png").unlink()
    return tmp_path


def test_every_picture_is_encoded_and_the_start_is_given_by_itself(folder, monkeypatch):
    seconds = iter([1.0, 7.0])
    encoded = scale_encoding.encoded
    monkeypatch.setattr(scale_encoding, "encoded", lambda *given: encoded(*given) | {"seconds": next(seconds)})
    found = scale_encoding.measured(folder, 0, folder / "model", None)
    assert found == {"pictures": 3, "pictures a second": 0.5, "seconds to start": 1.0, "seconds in all": 7.0}


def test_too_few_pictures_give_no_rate(folder):
    with pytest.raises(SystemExit, match="give more --items"):
        scale_encoding.measured(folder, 0, folder / "model", None)


def test_codes_are_equal_only_where_every_way_has_the_same(folder):
    pictures = {way: str(folder / way) for way in (scale_encoding.ALL, scale_encoding.FEW)}
    for way, path in pictures.items():
        scale_encoding.encode(path, str(folder / f"{way}-0"), 0, folder / "model", None)
    shards = [folder / f"{way}-0" for way in pictures]
    assert scale_encoding.equal_codes(shards) == "2 of 3"
    assert scale_encoding.equal_codes(shards[:1]) == "3 of 3"
