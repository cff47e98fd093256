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


def test_captions_of_a_metadata_file_are_read_as_index_reads_them(owned, tmp_path, capsys):
    for text in (tmp_path / "pictures").glob("*.txt"):
        text.unlink()
    lists = [f'{name}.png,"[""a {name}"", ""photo of a {name}""]"' for name in COLOURS]
    (tmp_path / "pictures" / "metadata.csv").write_text("\n".join(["file_name,captions", *lists]))
    assert run("adopt", *owned, "--captions", "--bits", 2, "--out", tmp_path / "model", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["pictures"], told["captions"]) == (3, 6)


def test_captions_beside_pictures_that_are_named_one_by_one_are_read(owned, tmp_path, capsys):
    folder, *options = owned
    pictures = sorted(folder.glob("*.png"))
    assert run("adopt", *pictures, *options, "--captions", "--out", tmp_path / "model", "--json") == 0
    assert json.loads(capsys.readouterr().out)["captions"] == 7


def test_captions_that_are_no_text_are_left_out_by_name(owned, tmp_path, capsys):
    (tmp_path / "pictures" / "grey.txt").write_bytes(b"a photo \xff\xfe")
    assert run("adopt", *owned, "--captions", "--bits", 2, "--out", tmp_path / "model", "--json") == 0
    out, err = capsys.readouterr()
    assert "captions left out, 1: its text is not valid UTF-8 (grey.png)" in err
    assert (json.loads(out)["pictures"], json.loads(out)["captions"]) == (3, 6)


def test_pictures_without_captions_are_told(owned, tmp_path, capsys):
    for text in (tmp_path / "pictures").glob("*.txt"):
        text.unlink()
    assert run("adopt", *owned, "--captions", "--out", tmp_path / "model") == 3
    assert "no picture has a caption beside it" in capsys.readouterr().err


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
