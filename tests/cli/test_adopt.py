"""`deepbinaries adopt` on the command line."""

import json

import pytest
from PIL import Image
from small_training import run

from colour_encoders import COLOURS, image_encoder, text_encoder, tokenizer_file


@pytest.fixture
def owned(tmp_path):
    """The options that name a user's files, and a folder of pictures with captions."""
    (tmp_path / "v.onnx").write_bytes(image_encoder())
    (tmp_path / "t.onnx").write_bytes(text_encoder())
    (tmp_path / "tokenizer.json").write_text(tokenizer_file())
    (tmp_path / "pictures").mkdir()
    for name, colour in COLOURS.items():
        Image.new("RGB", (8, 8), colour).save(tmp_path / "pictures" / f"{name}.png")
        (tmp_path / "pictures" / f"{name}.txt").write_text(f"a {name}\na photo of a {name}\n")
    options = ("--image", tmp_path / "v.onnx", "--text", tmp_path / "t.onnx")
    return (tmp_path / "pictures", *options, "--tokenizer", tmp_path / "tokenizer.json", "--bits", 3, "--side", 8)


def test_encoders_become_a_model_that_encodes(owned, tmp_path, capsys):
    assert run("adopt", *owned, "--out", tmp_path / "model", "--json") == 0
    assert json.loads(capsys.readouterr().out)["pictures"] == 3
    assert run("encode", tmp_path / "model", tmp_path / "pictures", "--out", tmp_path / "codes.npy") == 0


def test_every_caption_counts(owned, tmp_path, capsys):
    assert run("adopt", *owned, "--captions", "--out", tmp_path / "model", "--json") == 0
    assert json.loads(capsys.readouterr().out)["captions"] == 6


def test_a_broken_picture_is_left_out_by_name(owned, tmp_path, capsys):
    (tmp_path / "pictures" / "broken.jpg").touch()
    assert run("adopt", *owned, "--out", tmp_path / "model") == 0
    assert "broken.jpg is empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--mean", "0.5"), "'0.5' is no colour"), (("--layout", "CNHW"), "NCHW or NHWC"), (("--std", "a,b,c"), "colour")],
)
def test_nonsense_is_refused(owned, tmp_path, capsys, options, words):
    assert run("adopt", *owned, *options, "--out", tmp_path / "model") == 2
    assert words in capsys.readouterr().err
