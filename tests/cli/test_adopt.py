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
    Image.new("RGB", (8, 8), "grey").save(tmp_path / "pictures" / "grey.png")
    (tmp_path / "pictures" / "grey.txt").write_text("a photo\n")
    options = ("--image", tmp_path / "v.onnx", "--text", tmp_path / "t.onnx")
    return (tmp_path / "pictures", *options, "--tokenizer", tmp_path / "tokenizer.json", "--bits", 3, "--side", 8)


def test_encoders_become_a_model_that_encodes(owned, tmp_path, capsys):
    assert run("adopt", *owned, "--out", tmp_path / "model", "--json") == 0
    assert json.loads(capsys.readouterr().out)["pictures"] == 4
    assert run("encode", tmp_path / "model", tmp_path / "pictures", "--out", tmp_path / "codes.npy") == 0


def test_every_caption_counts(owned, tmp_path, capsys):
    assert run("adopt", *owned, "--captions", "--out", tmp_path / "model", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["pictures"], told["captions"]) == (4, 7)


@pytest.mark.parametrize("captions", [(), ("--captions",)])
def test_a_broken_picture_is_left_out_by_name(owned, tmp_path, capsys, captions):
    (tmp_path / "pictures" / "broken.jpg").touch()
    (tmp_path / "pictures" / "broken.txt").write_text("a red\na blue\n")
    assert run("adopt", *owned, *captions, "--out", tmp_path / "model", "--json") == 0
    out, err = capsys.readouterr()
    assert err.count("broken.jpg is empty") == 1
    assert (json.loads(out)["pictures"], json.loads(out)["captions"]) == (4, 7 if captions else 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--mean", "0.5"), "'0.5' is no colour"),
        (("--std", "a,b,c"), "colour"),
        (("--layout", "CNHW"), "--layout is 'CNHW'; give NCHW or NHWC"),
        (("--side", "0"), "--side is 0; give whole pixels, 1 to 4096"),
        (("--mean", "nan,0,0"), "--mean is nan, 0.0, 0.0; give three numbers"),
        (("--std", "inf,1,1"), "--std is inf, 1.0, 1.0; give three numbers"),
        (("--std", "1e-320,1,1"), "; give three numbers, 0.001 or more"),
        (("--mean", "none"), "--mean is none, std is not; state both, or none for both"),
    ],
)
def test_nonsense_is_refused(owned, tmp_path, capsys, options, words):
    assert run("adopt", *owned, *options, "--out", tmp_path / "model") == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
