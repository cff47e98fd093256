"""`encode`: codes of pictures and of sentences by a small model, and what is told where there can be none."""

import json
import resource
import shutil

import numpy as np
import pytest
from small_training import run

from deepbinaries import codes
from deepbinaries.datasets import load
from deepbinaries.model import Model


@pytest.fixture
def photographs(tmp_path):
    """Two pictures and what is none."""
    folder = tmp_path / "photographs"
    folder.mkdir()
    scenes = load("scenes", items=60)
    for row in (0, 1):
        (folder / f"{row}.jpg").write_bytes(scenes.picture(row))
    (folder / "empty.jpg").touch()
    return folder


def test_pictures_are_encoded_and_a_broken_one_is_left_out(trained, photographs, tmp_path, capsys):
    out = tmp_path / "codes.npy"
    assert run("encode", trained, photographs, "--out", out, "--device", "cpu") == 0
    paths = [str(photographs / name) for name in ("0.jpg", "1.jpg")]
    assert (tmp_path / "codes.ids.txt").read_text().splitlines() == paths
    assert codes.load(out) == Model.from_pretrained(trained, device="cpu").encode_images(paths)
    told = capsys.readouterr()
    assert "empty.jpg is empty" in told.err
    assert "items: 2\n" in told.out
    assert "left out: 1\n" in told.out


def test_how_many_pictures_were_left_out_is_a_number_of_the_json(trained, photographs, tmp_path, capsys):
    assert run("encode", trained, photographs, "--out", tmp_path / "codes.npy", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["items"], facts["left_out"]) == (2, 1)


def test_a_folder_that_is_called_like_a_model_is_not_taken_for_it(trained, photographs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    photographs.rename("photo")
    monkeypatch.setattr("deepbinaries.pretrained.names", lambda: ["photo"])
    assert run("encode", "photo") == 2
    assert "write --model photo for the model, ./photo for what is here" in capsys.readouterr().err
    assert run("encode", "./photo", "--model", trained) == 0
    assert run("encode", "photo", "--model", trained, "--out", "again.npy") == 0


def test_sentences_are_encoded_and_one_without_known_words_is_told(trained, tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("a dog\nxyzzy plugh\n")
    out = tmp_path / "values.npy"
    assert run("encode", trained, "--texts", tmp_path / "texts.txt", "--out", out, "--values") == 0
    expected = Model.from_pretrained(trained, device="cpu").encode_texts(["a dog", "xyzzy plugh"], values=True)
    np.testing.assert_allclose(np.load(out), expected, atol=1e-5)
    assert (tmp_path / "values.ids.txt").read_text() == "1\n2\n"
    assert "line 2: 'xyzzy', 'plugh' are unknown" in capsys.readouterr().err


@pytest.fixture
def small_disk():
    """`small_disk(n)` lets no file grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda n_bytes: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("sentences", "n_bytes", "kind", "failing"),
    [
        (300, 4096, ["--values"], "codes.npy"),  # 64 bytes each
        (300, 500, [], "codes.npy"),  # 2 bytes each, and 128
        (10, 200, [], "codes.npy.json"),
        (300, 900, [], "codes.ids.txt"),  # 4 bytes for most
    ],
)
def test_a_full_disk_leaves_no_half_of_what_is_encoded(
    trained, tmp_path, small_disk, capsys, sentences, n_bytes, kind, failing
):
    (tmp_path / "many.txt").write_text("a dog\n" * sentences)
    arguments = ("encode", trained, "--texts", tmp_path / "many.txt", "--out", tmp_path / "codes.npy", *kind)
    small_disk(n_bytes)
    assert run(*arguments) == 3
    told = capsys.readouterr().err.splitlines()[-1]
    assert f"{failing} cannot be written" in told
    assert "(None)" not in told
    assert [path.name for path in tmp_path.iterdir()] == ["many.txt"]


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        ([], 2, "give pictures, or a file of --texts"),
        (["a.jpg", "--texts", "a.txt"], 2, "give pictures, or a file of --texts"),
        (["a.jpg", "--out", "codes.bin"], 2, "end in .npy"),
        (["a.jpg"], 3, "none of 1 pictures can be read"),
        (["--texts", "a.txt"], 3, "a.txt does not exist"),
    ],
)
def test_what_cannot_be_encoded_is_told(trained, tmp_path, monkeypatch, capsys, arguments, code, word):
    monkeypatch.chdir(tmp_path)
    assert run("encode", trained, *arguments) == code
    assert word in capsys.readouterr().err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def digest_of(folder):
    """What a model says it is."""
    return json.loads((folder / "config.json").read_text())["sha256"]


@pytest.mark.parametrize("given", [(), ("--model",)])
def test_the_model_is_named_with_its_digest(trained, photographs, tmp_path, capsys, given):
    arguments = ("encode", *given, trained, photographs, "--out")
    assert run(*arguments, tmp_path / "codes.npy", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["model"], facts["model_sha256"]) == (str(trained), digest_of(trained))
    assert run(*arguments, tmp_path / "again.npy") == 0
    told = capsys.readouterr().out.splitlines()
    assert f"model: {trained}" in told
    assert f"model sha256: {digest_of(trained)}" in told


def test_a_model_of_the_package_is_named_by_its_name(trained, photographs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("deepbinaries.pretrained.SHELF", trained.parent)
    assert run("encode", trained.name, photographs, "--json") == 0
    assert json.loads(capsys.readouterr().out)["model"] == trained.name


def test_a_model_without_its_config_is_damaged_and_no_folder_of_pictures(trained, photographs, tmp_path, capsys):
    broken = shutil.copytree(trained, tmp_path / "broken")
    (broken / "config.json").unlink()
    assert run("encode", broken, photographs, "--out", tmp_path / "codes.npy") == 3
    assert f"{broken / 'config.json'} cannot be trusted: it is not there" in capsys.readouterr().err
    assert not (tmp_path / "codes.npy").exists()


@pytest.mark.parametrize("more", [(), ("pictures",), ("--texts", "a.txt")])
def test_what_stands_in_front_and_does_not_exist_is_no_reason_to_take_another_model(
    photographs, tmp_path, monkeypatch, capsys, more
):
    photographs.rename(tmp_path / "pictures")
    (tmp_path / "a.txt").write_text("a dog\n")
    monkeypatch.chdir(tmp_path)
    assert run("encode", "nope", *more) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no model and no picture is called 'nope'; check the path" in line


def test_a_place_for_codes_that_nobody_can_write_to_is_told_before_any_work(trained, photographs, monkeypatch, capsys):
    monkeypatch.setattr(Model, "from_pretrained", lambda *_, **__: pytest.fail("a model is opened"))
    assert run("encode", trained, photographs, "--out", "/proc/x.npy") == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "/proc cannot be written to" in line
