"""A tiny model, trained once on generated scenes: what it encodes, how it is kept, and what it refuses."""

import io
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import ExifTags, Image

from deepbinaries import model as model_module
from deepbinaries.datasets import load
from deepbinaries.datasets.splits import by_fraction
from deepbinaries.errors import DataError, Error, PictureError, UsageError
from deepbinaries.features import prepare
from deepbinaries.hashers.tvdb import PRESETS, TVDB
from deepbinaries.language import TokenSettings, Vocabulary
from deepbinaries.model import Model, make_encoder
from deepbinaries.model_folder import config_digest
from deepbinaries.registry import METHODS
from deepbinaries.vision.encoder import VisionSettings

BITS = 16


@pytest.fixture(scope="module")
def scenes():
    return load("scenes", items=40)


@pytest.fixture(scope="module")
def model(scenes, tmp_path_factory) -> Model:
    parts = by_fraction(scenes, 0.1).parts(scenes)
    encoder = make_encoder(VisionSettings(side=64, keep=4), device="cpu")
    prepared = prepare(scenes, parts, encoder, tmp_path_factory.mktemp("features"), minimum_count=1, progress=False)
    hasher = TVDB.preset("tvdb-lstm", bits=BITS, hidden=16, fc=16, embed=8, maps=8, epochs=2, batch=8, device="cpu")
    hasher.fit(prepared.pairs(parts.train))
    return Model(encoder, prepared.vocabulary, hasher, method="tvdb-lstm", trained_on={"dataset": "scenes"})


@pytest.fixture
def folder(model, tmp_path):
    model.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(scope="module")
def pictures(scenes) -> list[bytes]:
    return [scenes.picture(row) for row in range(5)]


def change_config(folder, change) -> None:
    """Change config.json as somebody would who also knows how its digest is made."""
    config = json.loads((folder / "config.json").read_text())
    del config["sha256"]
    change(config)
    (folder / "config.json").write_text(json.dumps(config | {"sha256": config_digest(config)}))


def test_what_is_saved_and_loaded_encodes_alike(model, folder, pictures):
    loaded = Model.from_pretrained(folder, device="cpu")
    assert loaded.encode_images(pictures) == model.encode_images(pictures)
    assert loaded.encode_texts(["a dog", "a red car"]) == model.encode_texts(["a dog", "a red car"])
    assert (loaded.method, loaded.bits, loaded.trained_on) == ("tvdb-lstm", BITS, {"dataset": "scenes"})


def test_one_picture_gives_one_code_whatever_it_is_given_as(model, pictures, tmp_path):
    (tmp_path / "a.jpg").write_bytes(pictures[0])
    path = tmp_path / "a.jpg"
    codes = [model.encode_images(given) for given in (pictures[0], path, str(path), Image.open(path), [path])]
    assert len(codes[0]) == 1
    assert all(code == codes[0] for code in codes)


def test_a_picture_is_turned_upright_once(model, pictures):
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    lying = io.BytesIO()
    Image.open(io.BytesIO(pictures[0])).save(lying, "PNG", exif=exif)
    values = model.encode_images(lying.getvalue(), values=True)
    assert_allclose(values, model.encode_images(model.read(lying.getvalue()), values=True))
    assert not np.allclose(values, model.encode_images(pictures[0], values=True))


def test_the_values_of_an_item_do_not_depend_on_its_batch(model, pictures):
    together = model.encode_images(pictures, values=True)
    alone = [model.encode_images(picture, values=True)[0] for picture in pictures]
    assert_allclose(together, alone, atol=1e-3)
    sentences = ["a dog", "a red car beside a tree"]
    each = [model.encode_texts(sentence, values=True)[0] for sentence in sentences]
    assert_allclose(model.encode_texts(sentences, values=True), each, atol=1e-5)


def test_large_pictures_are_encoded_a_few_at_a_time(model, pictures, monkeypatch):
    given = []
    encode = model.encoder.encode
    monkeypatch.setattr(model.encoder, "encode", lambda some: (given.append(len(some)), encode(some))[1])
    monkeypatch.setattr("deepbinaries.features.gathering.ENOUGH", 2 * np.prod(model.read(pictures[0]).size))
    values = model.encode_images(pictures, values=True)
    assert given == [2, 2, 1]
    assert len(values) == 5


def test_the_signs_of_the_values_are_the_codes(model):
    sentences = ["a dog", "two boats on the sea"]
    values = model.encode_texts(sentences, values=True)
    assert (model.encode_texts(sentences).to_bits() == (values >= 0)).all()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused_by_their_item(model, pictures, monkeypatch, number):
    encode = model.hasher.encode

    def damaged(batch):
        values = encode(batch)
        values[1, 3] = number
        return values

    monkeypatch.setattr(model.hasher, "encode", damaged)
    with pytest.raises(DataError, match="the values of item 1 are not finite"):
        model.encode_images(pictures, values=True)
    with pytest.raises(DataError, match="the values of item 1 are not finite"):
        model.encode_texts(["a dog", "a cat"])


def test_nothing_gives_no_codes(model):
    assert (len(model.encode_images([])), len(model.encode_texts([]))) == (0, 0)


def test_unknown_words_are_told(model):
    reading = model.reading("a Weihnachtsmarkt")
    assert (reading.known, reading.unknown) == (("a",), ("Weihnachtsmarkt",))


def test_sentences_without_known_words_have_one_code_and_are_not_understood(model):
    codes = model.encode_texts(["xyzzy", "plugh"])
    assert codes[0] == codes[1]
    assert not model.reading("xyzzy").understood


def test_an_empty_picture_is_refused_by_name(model, tmp_path):
    (tmp_path / "empty.jpg").touch()
    with pytest.raises(PictureError, match="empty.jpg is empty"):
        model.encode_images(tmp_path / "empty.jpg")


def test_a_picture_that_is_not_there_is_refused_by_name(model, tmp_path):
    with pytest.raises(PictureError, match="gone.jpg"):
        model.encode_images([tmp_path / "gone.jpg"])


def test_a_damaged_open_picture_is_one_of_our_errors(model, pictures):
    with pytest.raises(PictureError, match="damaged"):
        model.encode_images(Image.open(io.BytesIO(pictures[0][:-200])))


def test_what_is_no_picture_is_refused(model):
    with pytest.raises(UsageError, match="int is no picture"):
        model.encode_images([3])


@pytest.mark.parametrize("nothing", [None, 3, 0.5])
def test_what_is_neither_a_picture_nor_a_collection_is_refused(model, nothing):
    with pytest.raises(UsageError, match=f"{type(nothing).__name__} is no picture; give a path"):
        model.encode_images(nothing)


@pytest.mark.parametrize("size", [(0, 0), (0, 5)])
def test_a_picture_without_pixels_is_refused(model, size):
    with pytest.raises(PictureError, match=f"a picture of {size[0]} x {size[1]} pixels shows nothing; give another"):
        model.encode_images(Image.new("RGB", size))


@pytest.mark.parametrize("nothing", [None, b"a dog", 3])
def test_what_is_no_text_and_no_list_of_texts_is_refused(model, nothing):
    with pytest.raises(UsageError, match=f"{type(nothing).__name__} was given where a list of sentences is wanted"):
        model.encode_texts(nothing)


@pytest.mark.parametrize(
    "name", ["config.json", "hasher.json", "hasher.safetensors", "vocabulary.json", "MODEL_CARD.md"]
)
def test_a_flipped_byte_is_refused_by_the_name_of_its_file(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=name):
        Model.from_pretrained(folder, device="cpu")


def test_a_missing_file_is_refused_by_name(folder):
    (folder / "vocabulary.json").unlink()
    with pytest.raises(DataError, match="vocabulary.json .*not there"):
        Model.from_pretrained(folder)


@pytest.mark.parametrize("left", ["vocabulary.json", "hasher.json", "hasher.safetensors"])
def test_a_folder_that_lost_its_config_is_a_damaged_model(folder, left):
    for path in folder.iterdir():
        if path.name != left:
            path.unlink()
    with pytest.raises(DataError, match="config.json cannot be trusted: it is not there"):
        Model.from_pretrained(folder)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds no model"):
        Model.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda config: config["weights"].pop("preprocessing"), "how the pixels are prepared"),
        (lambda config: config["weights"].update(preprocessing="x / 255"), "prepares pixels by"),
        (lambda config: config["weights"].update(sha256="0" * 64), "SHA-256 5793.* trained with 0000"),
        (lambda config: config.update(proposer_sha256="f" * 64), "another digest than in training"),
        (lambda config: config.update(version=2), "version 2"),
        (lambda config: config.update(bits=32), "32 bits"),
        (lambda config: config["vision"].update(eyes=3), "describes no model"),
        (lambda config: config["vision"].update(backbone=3), "a name is no text"),
        (lambda config: config.pop("vision"), "describes no model"),
        (lambda config: config.pop("files"), "list the model's files"),
        (lambda config: config["files"].update({"../secret": "0"}), "secret cannot be trusted"),
        (lambda config: config.update(method="antigravity:fly"), "code that does not come with"),
        (lambda config: config["vision"].update(backbone="antigravity:fly"), "code that does not come with"),
        (lambda config: config.update(method="tvbd"), "did you mean 'tvdb'"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(folder, change, words):
    change_config(folder, change)
    with pytest.raises(Error, match=words):
        Model.from_pretrained(folder, device="cpu")


def test_code_of_ones_own_is_opened_where_it_is_trusted(model, folder):
    change_config(folder, lambda config: config.update(method="deepbinaries.hashers.tvdb:TVDB"))
    loaded = Model.from_pretrained(folder, device="cpu", trust_code=True)
    assert loaded.encode_texts("a dog") == model.encode_texts("a dog")


def test_an_onnx_backbone_is_named_without_its_folder_and_given_by_path(model, tmp_path, monkeypatch):
    encoder = SimpleNamespace(
        settings=VisionSettings(backbone="onnx:/home/ada/eye.onnx"),
        fingerprint={"backbone": "onnx:eye.onnx", "proposer_digest": ""},
        card=model.encoder.card,
    )
    Model(encoder, model.vocabulary, model.hasher, method="tvdb-lstm").save_pretrained(tmp_path / "model")
    assert "ada" not in (tmp_path / "model/config.json").read_text()
    asked = []
    monkeypatch.setattr(model_module, "make_encoder", lambda settings, **_: asked.append(settings.backbone) or encoder)
    Model.from_pretrained(tmp_path / "model", device="cpu", backbone_weights="mine/eye.onnx")
    assert asked == ["onnx:mine/eye.onnx"]


def test_a_model_replaces_a_model(model, folder, pictures):
    (folder / "MODEL_CARD.md").unlink()
    model.save_pretrained(folder)
    assert Model.from_pretrained(folder, device="cpu").encode_images(pictures[0]) == model.encode_images(pictures[0])
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_model_never_replaces_anything_else(model, folder):
    (folder / "thesis.tex").touch()
    with pytest.raises(UsageError, match="thesis.tex"):
        model.save_pretrained(folder)


def test_a_failing_save_leaves_no_trace(model, tmp_path, monkeypatch):
    def no_space(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(model, "_write_files", no_space)
    with pytest.raises(Error, match="No space left"):
        model.save_pretrained(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_model_may_be_moved(model, folder, tmp_path):
    moved = shutil.move(folder, tmp_path / "elsewhere")
    assert Model.from_pretrained(moved, device="cpu").encode_texts("a dog") == model.encode_texts("a dog")


def test_a_vocabulary_without_a_length_is_refused(model):
    endless = Vocabulary(["a"], TokenSettings(length=None))
    with pytest.raises(UsageError, match="neighbours"):
        Model(model.encoder, endless, model.hasher, method="tvdb")


def test_the_card_names_licence_and_data(folder):
    card = (folder / "MODEL_CARD.md").read_text()
    assert "Apache-2.0" in card
    assert "- trained on: scenes (digest " in card
    assert "known words; the first " in card
    assert "a sentence without a known word has a code that means nothing" in card


def test_every_preset_is_a_registered_method():
    assert {name for name, entry in METHODS.entries.items() if entry.target.endswith("tvdb:TVDB")} == set(PRESETS)
