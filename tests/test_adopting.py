"""Encoders of one's own become a model: sentences find pictures, with captions and without."""

import io
import json
import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from onnx import TensorProto
from PIL import Image

from colour_encoders import COLOURS, image_encoder, text_encoder, tokenizer_file
from deepbinaries.adopting import CLIP, adopt
from deepbinaries.errors import DataError, PictureError, UsageError
from deepbinaries.features import Texts
from deepbinaries.hashers.adopted import paired_head, shared_head, turned_to_signs
from deepbinaries.language.tokenizer import Tokenizer
from deepbinaries.model import Model
from deepbinaries.search import LazyModel, index_folder

SIDE = 8
PLAIN = CLIP.__class__(side=SIDE, layout="NCHW", mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), licence="MIT")


def picture(colour: str, seed: int) -> bytes:
    """A square of about one colour."""
    noise = np.random.default_rng(seed).integers(0, 60, (SIDE, SIDE, 3))
    file = io.BytesIO()
    Image.fromarray(np.clip(np.array(COLOURS[colour]) + noise, 0, 255).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


NAMES = [colour for colour in COLOURS for _ in range(6)]
PICTURES = [picture(colour, seed) for seed, colour in enumerate(NAMES)]
# Three different ones alone would differ in two directions, too few for three bits.
CAPTIONS = [f"{'a photo of ' * (seed % 2)}a {colour}" for seed, colour in enumerate(NAMES)]


@pytest.fixture
def files(tmp_path):
    """The three files that a user owns."""
    (tmp_path / "visual.onnx").write_bytes(image_encoder())
    (tmp_path / "textual.onnx").write_bytes(text_encoder())
    (tmp_path / "tokenizer.json").write_text(tokenizer_file())
    return tmp_path / "visual.onnx", tmp_path / "textual.onnx", tmp_path / "tokenizer.json"


def adopted(files, folder, **options) -> Model:
    return adopt(*files, folder, **{"pictures": PICTURES, "bits": 3, "preparation": PLAIN, "length": 6} | options)


@pytest.mark.parametrize("captions", [(), CAPTIONS], ids=["alone", "captions"])
def test_a_sentence_is_nearest_to_the_pictures_that_it_describes(files, tmp_path, captions):
    model = adopted(files, tmp_path / "model", captions=captions)
    texts = model.encode_texts([f"a photo of a {name}" for name in COLOURS], values=True)
    images = model.encode_images(PICTURES, values=True)
    nearest = (images @ texts.T).argmax(axis=1)
    assert [list(COLOURS)[place] for place in nearest] == NAMES


def test_what_is_kept_is_a_model_that_encodes_alike(files, tmp_path):
    model = adopted(files, tmp_path / "model")
    loaded = Model.from_pretrained(tmp_path / "model")
    assert loaded.encode_images(PICTURES) == model.encode_images(PICTURES)
    assert loaded.encode_texts("a red") == model.encode_texts("a red")
    card = (tmp_path / "model" / "MODEL_CARD.md").read_text()
    assert "visual.onnx and textual.onnx" in card
    assert "fitted on pictures alone, 18 of them" in card


def test_the_card_of_adopted_encoders_states_nothing_that_is_not_so(files, tmp_path):
    adopted(files, tmp_path / "model")
    card = (tmp_path / "model" / "MODEL_CARD.md").read_text()
    assert "- sentences: the first 6 tokens are read\n" in card
    assert "no word is unknown to it" in card
    for untrue in ("448", "known words", "trained on", "not stated", "None"):
        assert untrue not in card


def test_no_word_is_unknown_and_long_sentences_are_cut(files, tmp_path):
    reading = adopted(files, tmp_path / "model").reading("a photo of a red boat and more")
    assert (reading.known, reading.unknown) == (("a", "photo", "of", "a", "red", "boat"), ())
    assert reading.cut == ("and", "more")


def test_photographs_are_indexed_by_it(files, tmp_path):
    adopted(files, tmp_path / "model")
    (tmp_path / "photographs").mkdir()
    for place, content in enumerate(PICTURES[::6]):
        (tmp_path / "photographs" / f"{place}.png").write_bytes(content)
    report = index_folder(tmp_path / "photographs", LazyModel(tmp_path / "model"), workers=1, progress=False)
    assert report.encoded == 3


@pytest.mark.parametrize("text", [text_encoder(mask=False), text_encoder(TensorProto.INT32)], ids=["no mask", "int32"])
def test_text_encoders_with_and_without_a_mask_are_taken(files, tmp_path, text):
    files[1].write_bytes(text)
    assert len(adopted(files, tmp_path / "model").encode_texts(["red", "blue"])) == 2


def test_a_text_encoder_that_wants_types_of_tokens_is_given_zeros(files, tmp_path):
    plain = adopted(files, tmp_path / "plain").encode_texts(["a red", "blue"], values=True)
    files[1].write_bytes(text_encoder(types=True))
    assert_allclose(adopted(files, tmp_path / "typed").encode_texts(["a red", "blue"], values=True), plain)


def test_a_picture_encoder_whose_vector_is_not_its_first_output_is_taken(files, tmp_path):
    plain = adopted(files, tmp_path / "plain").encode_images(PICTURES, values=True)
    files[0].write_bytes(image_encoder(places=True))
    assert_allclose(adopted(files, tmp_path / "model").encode_images(PICTURES, values=True), plain)


def test_a_tokenizer_may_leave_ids_out():
    content = json.loads(tokenizer_file())
    content["model"]["vocab"]["red"] = 40
    tokenizer = Tokenizer(content)
    assert Texts(tokenizer.encode(["red"]), len(tokenizer)).tokens[0, 0] == 41


def test_encoders_of_two_spaces_need_captions(files, tmp_path):
    files[1].write_bytes(text_encoder(width=5))
    with pytest.raises(DataError, match="gives vectors of 5 numbers, not of 3; .*captions"):
        adopted(files, tmp_path / "model")
    assert adopted(files, tmp_path / "model", captions=CAPTIONS).bits == 3


def test_more_bits_than_numbers_are_refused(files, tmp_path):
    with pytest.raises(UsageError, match="vectors of 3 numbers have no 64 bits"):
        adopted(files, tmp_path / "model", bits=64)
    assert not (tmp_path / "model").exists()


def test_what_cannot_be_read_is_told_and_left_out_with_its_captions(files, tmp_path):
    broken = b"no picture"
    pictures = [*PICTURES[:9], broken, broken, *PICTURES[9:]]
    captions = [*CAPTIONS[:9], "a photo of a red", "a photo of a blue", *CAPTIONS[9:]]
    told = []
    model = adopted(files, tmp_path / "model", pictures=pictures, captions=captions, left_out=told.append)
    without = adopted(files, tmp_path / "other", captions=CAPTIONS)
    assert [str(error).partition(";")[0] for error in told] == ["the picture is no picture this program can read"]
    assert model.exported["pictures"] == len(PICTURES)
    assert model.encode_images(PICTURES) == without.encode_images(PICTURES)


def test_what_cannot_be_read_is_an_error_where_nobody_is_told(files, tmp_path):
    with pytest.raises(PictureError, match="is no picture"):
        adopted(files, tmp_path / "model", pictures=[*PICTURES, b"no picture"])


def test_a_picture_is_read_once_and_several_at_a_time(files, tmp_path, monkeypatch):
    read, together = [], threading.Barrier(2, timeout=10)

    def counted(self, picture):
        read.append(picture)
        together.wait()
        return read_model(self, picture)

    read_model = Model.read
    monkeypatch.setattr(Model, "read", counted)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    captions = [caption for caption in CAPTIONS for _ in range(2)]
    adopted(files, tmp_path / "model", pictures=[one for one in PICTURES for _ in range(2)], captions=captions)
    assert len(read) == len(PICTURES)


def test_large_photographs_are_not_decoded_in_full(files, tmp_path):
    large = io.BytesIO()
    Image.new("RGB", (1600, 1200), "red").save(large, "JPEG")
    model = adopted(files, tmp_path / "model")
    assert model.read(large.getvalue()).size == (200, 150)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"side": 7}, "visual.onnx cannot encode 7 x 7 pixels .*; state the side that it takes"),
        ({"layout": "NHWC"}, "visual.onnx takes .* which is not NHWC in RGB; state the layout NCHW"),
        ({"mean": None, "std": None}, "visual.onnx takes .*float.*, but neither mean nor std is stated"),
    ],
)
def test_what_does_not_fit_is_said_of_the_user_s_own_file(files, tmp_path, change, words):
    files[0].write_bytes(image_encoder(side=SIDE))
    with pytest.raises(DataError, match=words) as refused:
        adopted(files, tmp_path / "model", preparation=replace(PLAIN, **change))
    assert "backbone.onnx" not in str(refused.value)


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_no_network_is_said_of_the_user_s_own_file(files, tmp_path, place):
    files[place].write_bytes(b"no network")
    with pytest.raises(DataError, match=f"^{files[place]} is no ONNX file"):
        adopted(files, tmp_path / "model")


def test_a_text_encoder_without_a_vector_is_refused_with_captions_too(files, tmp_path):
    files[1].write_bytes(text_encoder(pooled=False))
    for options in ({}, {"captions": CAPTIONS}):
        with pytest.raises(DataError, match=r"textual.onnx gives \(1, 6, 3\) for a sentence, and no vector; export"):
            adopted(files, tmp_path / "model", **options)


def test_an_encoder_that_tells_no_pictures_apart_is_refused(files, tmp_path):
    with pytest.raises(DataError, match="the picture encoder gives about the same vector for all of 5 pictures"):
        adopted(files, tmp_path / "model", pictures=[PICTURES[0]] * 5)
    assert not (tmp_path / "model").exists()


def test_an_encoder_that_tells_no_sentences_apart_is_refused():
    images, texts = np.random.default_rng(0).normal(size=(30, 5)), np.ones((30, 5))
    for head in (shared_head, paired_head):
        with pytest.raises(DataError, match="the text encoder gives about the same vector for all of 30 texts"):
            head(images, texts, 4)


@pytest.mark.parametrize("head", [shared_head, paired_head])
def test_more_bits_than_the_pictures_tell_apart_are_refused(head):
    images = np.random.default_rng(0).normal(size=(12, 100))
    with pytest.raises(DataError, match="these pictures differ in 11 directions, too few for 64 bits; .* at most 11"):
        head(images, images, 64)
    assert head(images, images, 11)["image_W"].shape == (100, 11)


def test_more_bits_than_the_captions_tell_apart_are_refused():
    rng = np.random.default_rng(0)
    images, texts = rng.normal(size=(90, 70)), rng.normal(size=(3, 70))[np.arange(90) % 3]
    with pytest.raises(DataError, match="these captions differ in 2 directions, too few for 64 bits; .* at most 2"):
        paired_head(images, texts, 64)
    assert paired_head(images, texts, 2)["text_W"].shape == (70, 2)


def test_captions_go_with_pictures(files, tmp_path):
    with pytest.raises(UsageError, match="1 captions do not go with 18 pictures"):
        adopted(files, tmp_path / "model", captions=["a"])


def test_what_is_no_tokenizer_is_refused(files, tmp_path):
    files[2].write_text(json.dumps({"model": 3}))
    with pytest.raises(DataError, match="this is no tokenizer"):
        adopted(files, tmp_path / "model")


@pytest.mark.parametrize("kind", ["WordLevel", "WordPiece"])
def test_a_tokenizer_that_cannot_read_unknown_words_is_refused(files, tmp_path, kind):
    content = json.loads(files[2].read_text())
    pieces = {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100} if kind == "WordPiece" else {}
    content["model"] |= {"type": kind, "unk_token": "[UNK]", **pieces}
    files[2].write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"tokenizer.json: this tokenizer cannot read every word .*UNK.*; give one"):
        adopted(files, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_picture_encoder_is_no_text_encoder(files, tmp_path):
    files[1].write_bytes(image_encoder())
    with pytest.raises(DataError, match="textual.onnx takes x, not token ids"):
        adopted(files, tmp_path / "model")


def test_a_rotation_keeps_lengths():
    R = turned_to_signs(np.random.default_rng(0).normal(size=(50, 4)))
    assert_allclose(R @ R.T, np.eye(4), atol=1e-9)


def test_turning_brings_values_nearer_to_their_signs():
    Z = np.random.default_rng(1).normal(size=(200, 4)) * [3, 1, 1, 0.1]

    def lost(values):
        return ((values - np.sign(values)) ** 2).sum()

    assert lost(Z @ turned_to_signs(Z)) < lost(Z)


def test_the_shared_head_is_one_map_for_both_sides():
    vectors = np.random.default_rng(2).normal(size=(30, 5))
    head = shared_head(vectors, vectors + 1, 4)
    assert np.array_equal(head["image_W"], head["text_W"])
    assert not np.allclose(head["image_mean"], head["text_mean"])


def test_the_paired_head_finds_what_two_spaces_have_in_common():
    rng = np.random.default_rng(3)
    meaning = rng.normal(size=(400, 2))
    images = np.hstack([meaning, rng.normal(size=(400, 4))]) @ rng.normal(size=(6, 6))
    texts = np.hstack([rng.normal(size=(400, 3)), meaning]) @ rng.normal(size=(5, 5))
    head = paired_head(images, texts, 2)
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (images, texts)]
    bits = [(side - head[f"{n}_mean"]) @ head[f"{n}_W"] >= 0 for n, side in zip(("image", "text"), unit, strict=True)]
    assert (bits[0] == bits[1]).mean() > 0.8
