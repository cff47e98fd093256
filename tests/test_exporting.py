"""A trained model without torch: the same codes, one whole folder, refused where it does not agree."""

import json
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose

from deepbinaries import exporting
from deepbinaries.datasets import load
from deepbinaries.datasets.splits import by_fraction
from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.exporting import BOUNDS, agreement, export
from deepbinaries.features import prepare
from deepbinaries.hashers.cvh import CVH
from deepbinaries.hashers.onnx_towers import OnnxTowers
from deepbinaries.hashers.tvdb import TVDB
from deepbinaries.language import Vocabulary
from deepbinaries.model import Model, make_encoder
from deepbinaries.search import LazyModel
from deepbinaries.vision.encoder import VisionSettings
from tiny_rpn import head_file, tensors

BITS = 16
SENTENCES = ["a dog", "a red car beside a tree", "two boats on the sea"]


@pytest.fixture(scope="module")
def scenes():
    return load("scenes", items=40)


@pytest.fixture(scope="module")
def prepared(scenes, tmp_path_factory):
    encoder = make_encoder(VisionSettings(side=64, keep=4), device="cpu")
    parts = by_fraction(scenes, 0.1).parts(scenes)
    home = tmp_path_factory.mktemp("features")
    return encoder, prepare(scenes, parts, encoder, home, minimum_count=1, progress=False)


@pytest.fixture(scope="module")
def model(prepared) -> Model:
    encoder, made = prepared
    hasher = TVDB.preset("tvdb-lstm", bits=BITS, hidden=16, fc=16, embed=8, maps=8, epochs=2, batch=8, device="cpu")
    hasher.fit(made.pairs(made.parts.train))
    return Model(encoder, made.vocabulary, hasher, method="tvdb-lstm", trained_on={"dataset": "scenes"})


@pytest.fixture(scope="module")
def pictures(scenes) -> list[bytes]:
    return [scenes.picture(row) for row in range(6)]


@pytest.fixture(scope="module")
def exported(model, pictures, tmp_path_factory):
    """The folder of the exported model."""
    folder = tmp_path_factory.mktemp("exported") / "model"
    export(model, folder, pictures=pictures)
    return folder


@pytest.fixture(scope="module")
def loaded(exported) -> Model:
    return Model.from_pretrained(exported)


def test_values_are_those_of_torch(model, loaded, pictures):
    # Features are kept in half precision, and may be rounded to either side.
    assert_allclose(loaded.encode_images(pictures, values=True), model.encode_images(pictures, values=True), atol=1e-3)
    assert_allclose(loaded.encode_texts(SENTENCES, values=True), model.encode_texts(SENTENCES, values=True), atol=1e-5)


def test_the_folder_holds_every_network_and_says_what_it_is(exported, loaded):
    names = {path.name for path in exported.iterdir()}
    assert {"backbone.onnx", "backbone.onnx.json", "image.onnx", "text.onnx", "vocabulary.json"} <= names
    assert isinstance(loaded.hasher, OnnxTowers)
    assert (loaded.method, loaded.bits, loaded.trained_on) == ("tvdb-lstm", BITS, {"dataset": "scenes"})


def test_the_card_and_the_config_tell_how_far_it_agrees(exported):
    stated = json.loads((exported / "config.json").read_text())["exported"]
    assert stated["precision"] == "fp32"
    assert stated["agreement"]["pictures"]["items"] == 6
    assert stated["agreement"]["sentences"]["equal_bits"] >= BOUNDS["fp32"]
    card = (exported / "MODEL_CARD.md").read_text()
    assert "agreement with torch on 6 pictures: 100.0000%" in card
    assert "Apache-2.0" in card


def test_the_folder_names_no_place_on_this_machine(exported, tmp_path_factory):
    assert str(tmp_path_factory.getbasetemp()) not in (exported / "config.json").read_text()
    assert json.loads((exported / "config.json").read_text())["vision"]["backbone"] == "onnx:backbone.onnx"


def test_the_folder_may_be_moved(exported, loaded, tmp_path):
    moved = shutil.copytree(exported, tmp_path / "elsewhere")
    assert Model.from_pretrained(moved).encode_texts("a dog") == loaded.encode_texts("a dog")


def test_an_exported_model_is_saved_again_whole(loaded, pictures, tmp_path):
    loaded.save_pretrained(tmp_path / "again")
    assert Model.from_pretrained(tmp_path / "again").encode_images(pictures) == loaded.encode_images(pictures)


@pytest.mark.parametrize("name", ["backbone.onnx", "backbone.onnx.json", "image.onnx", "text.onnx"])
def test_a_flipped_byte_is_refused_by_the_name_of_its_file(exported, tmp_path, name):
    folder = shutil.copytree(exported, tmp_path / "model")
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=name):
        Model.from_pretrained(folder)


def test_an_index_cannot_mix_it_with_the_model_of_torch(model, exported, tmp_path):
    model.save_pretrained(tmp_path / "model")
    assert LazyModel(exported).fingerprint != LazyModel(tmp_path / "model").fingerprint


def test_half_precision_agrees_and_halves_the_backbone(model, exported, pictures, tmp_path):
    found = export(model, tmp_path / "half", pictures=pictures, precision="fp16", force=True)
    assert found["sentences"]["equal_bits"] >= BOUNDS["fp16"]
    sizes = [(folder / "backbone.onnx").stat().st_size for folder in (tmp_path / "half", exported)]
    assert sizes[0] < 0.55 * sizes[1]


def test_real_photographs_get_the_codes_of_torch(real_data, model, tmp_path):
    photographs = load("coco18", real_data / "coco18")
    encoder = make_encoder(VisionSettings(side=224, keep=4), device="cpu")
    seen = Model(encoder, model.vocabulary, model.hasher, method="tvdb-lstm")
    found = export(seen, tmp_path / "model", pictures=[photographs.picture(row) for row in range(24)])
    assert found["pictures"]["equal_bits"] >= BOUNDS["fp32"]
    assert found["pictures"]["largest_difference"] < 1e-3


def test_crops_agree_as_well(model, pictures, tmp_path):
    encoder = make_encoder(VisionSettings(side=64, keep=2, mode="crop"), device="cpu")
    of_crops = Model(encoder, model.vocabulary, model.hasher, method="tvdb-lstm")
    made = exporting.without_torch(of_crops, tmp_path)
    assert_allclose(made.encoder.encode([made.read(pictures[0])]), encoder.encode([made.read(pictures[0])]), atol=0.02)


def test_a_head_on_maps_reads_the_exported_backbone_as_it_read_the_trained_one(model, pictures, tmp_path):
    head = tmp_path / "head.safetensors"
    head.write_bytes(head_file(tensors(width=1280), backbone_sha256=model.encoder.card.sha256))
    encoder = make_encoder(VisionSettings(side=64, keep=4, proposer="rpn"), device="cpu", proposer_path=head)
    on_maps = Model(encoder, model.vocabulary, model.hasher, method="tvdb-lstm")
    made = exporting.without_torch(on_maps, tmp_path, proposer_path=head)
    regions, wanted = (one.regions(made.read(pictures[0])) for one in (made.encoder, encoder))
    assert regions.proposer == "rpn"
    assert_allclose(regions.boxes, wanted.boxes, atol=0.02)


def test_a_shallow_method_keeps_its_own_files(prepared, pictures, tmp_path):
    encoder, made = prepared
    hasher = CVH.preset("cvh", bits=BITS).fit(made.pairs(made.parts.train))
    model = Model(encoder, made.vocabulary, hasher, method="cvh")
    export(model, tmp_path / "model", pictures=pictures, force=True)
    assert isinstance(Model.from_pretrained(tmp_path / "model").hasher, CVH)


def test_too_little_agreement_is_refused_and_nothing_is_written(model, pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, "measure", lambda *_: {"pictures": {"equal_bits": 0.5}})
    with pytest.raises(Error, match=r"only 50.00% of the bits are those of torch, not 99.8%"):
        export(model, tmp_path / "model", pictures=pictures)
    assert list(tmp_path.iterdir()) == []


def test_it_is_told_when_the_pictures_were_drawn(model, tmp_path, pictures):
    own, drawn = (export(model, tmp_path / name, pictures=some) for name, some in (("own", pictures), ("drawn", ())))
    assert (own["pictures"]["drawn"], drawn["pictures"]["drawn"]) == (False, True)
    assert json.loads((tmp_path / "drawn" / "config.json").read_text())["exported"]["agreement"]["pictures"]["drawn"]


def test_what_is_exported_already_is_refused(loaded, tmp_path):
    with pytest.raises(UsageError, match="exported already"):
        export(loaded, tmp_path / "model")


def test_an_unknown_precision_is_refused(model, tmp_path):
    with pytest.raises(UsageError, match="no precision is called 'fp8'"):
        export(model, tmp_path / "model", precision="fp8")


def test_something_else_than_a_model_is_never_replaced(model, tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match="thesis.tex"):
        export(model, tmp_path)


def test_a_method_without_two_networks_is_refused(model, tmp_path):
    strange = Model(model.encoder, model.vocabulary, object.__new__(object), method="mine:Own")
    with pytest.raises(UsageError, match="mine:Own has no two networks"):
        export(strange, tmp_path / "model")


def test_agreement_counts_bits_and_not_values():
    found = agreement(np.array([[1.0, -1.0], [2.0, 0.0]]), np.array([[3.0, -1.0], [2.0, -0.5]]))
    assert (found["items"], found["equal_bits"], found["largest_difference"]) == (2, 0.75, 2.0)


def test_drawn_sentences_are_of_known_words_and_not_too_long():
    vocabulary = Vocabulary(["a", "dog", "beach"])
    drawn = exporting.drawn_sentences(vocabulary)
    assert len(set(drawn)) > 10
    assert all(not vocabulary.reading(sentence).unknown for sentence in drawn)
    assert drawn == exporting.drawn_sentences(vocabulary)
