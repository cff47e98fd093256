"""The benchmark of encoding measures what it says."""

import json
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import clip_shapes
import encoding
from colour_model import write_colour_model
from deepbinaries.model import Model
from deepbinaries.search import LazyModel


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoding") / "model"
    write_colour_model(folder)
    return folder


def test_the_networks_beside_ours_have_as_many_weights_as_clip():
    assert clip_shapes.n_parameters(clip_shapes.PictureTower()) == 87_849_216
    assert clip_shapes.n_parameters(clip_shapes.SentenceTower()) == 63_428_096


def test_both_towers_take_any_number_of_items(tmp_path, monkeypatch):
    monkeypatch.setattr(clip_shapes, "PIECES", 100)
    files = clip_shapes.write_towers(tmp_path, layers=1)
    tower = encoding.Clip(files["picture int8"])
    pictures = encoding.photographs(3, encoding.SMALL)
    alone, together = tower.one_by_one(pictures), tower.in_batches(pictures)
    assert [len(some[0]) for some in alone] == [1, 1, 1]
    assert together[0][0].shape == (3, clip_shapes.EMBEDDING)


def test_batches_of_clip_are_encoded_while_the_next_pictures_are_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr(clip_shapes, "PIECES", 100)
    tower = encoding.Clip(clip_shapes.write_towers(tmp_path, layers=1)["picture int8"])
    (picture,) = encoding.photographs(1, encoding.SMALL)
    encoded, prepared = threading.Event(), encoding.prepared

    class Session:
        def run(self, *_):
            encoded.set()

    def prepare(place):
        assert place < encoding.BATCH or encoded.wait(10), "no batch was encoded before all pictures were decoded"
        return prepared(picture)

    monkeypatch.setattr(encoding, "prepared", prepare)
    monkeypatch.setattr(tower, "_all", Session())
    assert len(tower.in_batches(range(encoding.BATCH + 1))) == 2


def test_proposals_change_no_value(folder):
    model = Model.from_pretrained(folder)
    pictures = encoding.photographs(2, encoding.SMALL)
    proposing = encoding.WithProposals(model)
    np.testing.assert_allclose(proposing.encode(pictures), model.encode_images(pictures, values=True), atol=2e-3)


def test_photographs_have_the_bytes_of_photographs(folder):
    model = Model.from_pretrained(folder)
    found = encoding.of_pictures(model, encoding.WithProposals(model), {}, 2, encoding.SMALL, rounds=1)
    assert found["bytes a pixel"] == pytest.approx(0.3, abs=0.06)
    assert all(rate > 0 for rate in found["photographs a second"].values())


def test_every_sentence_is_asked(folder, tmp_path):
    model = LazyModel(folder)
    found = encoding.of_queries(encoding.random_collection(tmp_path, model, 300), model, rounds=1)
    assert found["sentences"] == len(encoding.SENTENCES)
    assert 0 < found["median, ms"] <= found["slowest, ms"]


def test_every_photograph_is_indexed_though_some_show_the_same(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "photographs", lambda n, size, make=encoding.photographs: make(min(n, 2), size))
    assert encoding.of_indexing(tmp_path, LazyModel(folder), 5, encoding.SMALL, rounds=2) > 0
    assert len(list((tmp_path / "320 to index").glob("*.jpg"))) == 5
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"320 to index", "320 0", "320 1"}


def test_what_is_recorded_names_the_model_by_its_digest(folder, tmp_path, monkeypatch):
    for module in (clip_shapes, encoding):
        monkeypatch.setattr(module, "PIECES", 100)
    output = tmp_path / "encoding.json"
    monkeypatch.setattr(sys, "argv", ["encoding.py", "--quick", "--model", str(folder), "--output", str(output)])
    encoding.main()
    written = json.loads(output.read_text())
    assert written["figures"]["model"] == json.loads((folder / "config.json").read_text())["sha256"]
    assert str(tmp_path) not in output.read_text()
