"""Encoders of one's own become a model: sentences find pictures, with captions and without."""

import io
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from onnx import TensorProto
from PIL import Image

from colour_encoders import COLOURS, image_encoder, text_encoder, tokenizer_file
from deepbinaries.adopting import CLIP, adopt
from deepbinaries.errors import DataError, UsageError
from deepbinaries.hashers.adopted import paired_head, shared_head, turned_to_signs
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


@pytest.fixture
def files(tmp_path):
    """The three files that a user owns."""
    (tmp_path / "visual.onnx").write_bytes(image_encoder())
    (tmp_path / "textual.onnx").write_bytes(text_encoder())
    (tmp_path / "tokenizer.json").write_text(tokenizer_file())
    return tmp_path / "visual.onnx", tmp_path / "textual.onnx", tmp_path / "tokenizer.json"


def adopted(files, folder, **options) -> Model:
    return adopt(*files, folder, **{"pictures": PICTURES, "bits": 3, "preparation": PLAIN, "length": 6} | options)


@pytest.mark.parametrize("captions", [(), [f"a photo of a {name}" for name in NAMES]], ids=["alone", "captions"])
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


def test_encoders_of_two_spaces_need_captions(files, tmp_path):
    files[1].write_bytes(text_encoder(width=5))
    with pytest.raises(DataError, match="gives vectors of 5 numbers, not of 3; .*captions"):
        adopted(files, tmp_path / "model")
    captions = [f"a photo of a {name}" for name in NAMES]
    assert adopted(files, tmp_path / "model", captions=captions).bits == 3


def test_more_bits_than_numbers_are_refused(files, tmp_path):
    with pytest.raises(UsageError, match="vectors of 3 numbers have no 64 bits"):
        adopted(files, tmp_path / "model", bits=64)
    assert not (tmp_path / "model").exists()


def test_captions_go_with_pictures(files, tmp_path):
    with pytest.raises(UsageError, match="1 captions do not go with 18 pictures"):
        adopted(files, tmp_path / "model", captions=["a"])


def test_what_is_no_tokenizer_is_refused(files, tmp_path):
    files[2].write_text(json.dumps({"model": 3}))
    with pytest.raises(DataError, match="this is no tokenizer"):
        adopted(files, tmp_path / "model")


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
