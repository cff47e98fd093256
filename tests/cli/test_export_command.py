"""`deepbinaries export`, and every command that then works where torch cannot be imported."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from small_training import run

from deepbinaries.datasets import load

# Everything in one process, which refuses to import what a plain installation does not have.
WITHOUT_TORCH = """
import json, sys
from pathlib import Path
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "onnx", "sklearn", "scipy", "matplotlib"):
            raise ModuleNotFoundError(f"{name} is refused", name=name)
sys.meta_path.insert(0, Refuse())
from deepbinaries.cli import main
def run(*arguments):
    try:
        main(list(arguments))
    except SystemExit as left:
        return left.code
model, photographs, out = sys.argv[1:]
codes = {
    "index": run("index", photographs, "--model", model),
    "search": run("search", "a dog", "--index", photographs, "--all"),
    "encode": run("encode", model, photographs, "--out", out),
}
from starlette.testclient import TestClient
from deepbinaries.search import LazyModel
from deepbinaries.web.app import make_app
from deepbinaries.web.photographs import Photographs
from deepbinaries.web.settings import Settings
served = Photographs(Path(photographs) / ".deepbinaries", model=LazyModel(model))
with TestClient(make_app(served, Settings()), base_url="http://localhost:8765") as client:
    answer = client.get("/v1/search", params={"q": "a dog", "least": "none"})
    codes |= {"serve": answer.status_code, "hits": len(answer.json()["hits"])}
print(json.dumps(codes))
"""


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "photographs"
    folder.mkdir()
    scenes = load("scenes", items=60)
    for row in range(4):
        (folder / f"{row}.jpg").write_bytes(scenes.picture(row))
    return folder


@pytest.fixture(scope="module")
def exported(trained, photographs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "model"
    assert run("export", trained, "--out", folder, "--check", photographs) == 0
    return folder


def test_it_tells_what_it_wrote_and_how_far_it_agrees(trained, photographs, tmp_path, capsys):
    wrote = ("export", trained, "--out", tmp_path / "m", "--check", photographs, "--precision", "fp16", "--force")
    assert run(*wrote, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["precision"], told["agreement"]["pictures"]["items"]) == ("fp16", 4)
    assert told["bytes"] == sum(file.stat().st_size for file in (tmp_path / "m").iterdir())


def test_it_says_that_pictures_were_drawn_and_how_to_give_others(trained, photographs, tmp_path, capsys):
    assert run("export", trained, "--out", tmp_path / "m") == 0
    out, err = capsys.readouterr()
    assert "equal bits, 32 drawn pictures: " in out
    assert "--check FOLDER proves it on your own" in err
    assert run("export", trained, "--out", tmp_path / "n", "--check", photographs) == 0
    assert "drawn" not in "".join(capsys.readouterr())


def test_a_picture_that_cannot_be_read_is_left_out_by_name(trained, photographs, tmp_path, capsys):
    checked = shutil.copytree(photographs, tmp_path / "checked")
    (checked / "0.jpg").write_bytes(b"no picture")
    assert run("export", trained, "--out", tmp_path / "m", "--check", checked, "--json", "--force") == 0
    out, err = capsys.readouterr()
    assert err.count("left out: ") == err.count("0.jpg") == 1
    assert json.loads(out)["agreement"]["pictures"]["items"] == 3


def test_pictures_of_which_none_can_be_read_prove_nothing(trained, tmp_path, capsys):
    (tmp_path / "checked").mkdir()
    (tmp_path / "checked" / "0.jpg").touch()
    assert run("export", trained, "--out", tmp_path / "m", "--check", tmp_path / "checked") == 3
    assert "no picture in" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_a_model_of_the_package_is_known_by_its_name_and_is_exported_already(tmp_path, capsys):
    assert run("export", "photo", "--out", tmp_path / "m") == 2
    assert "this model is exported already and needs no torch; use it as it is" in capsys.readouterr().err


def test_no_folder_is_written_over(trained, exported, capsys):
    assert run("export", trained, "--out", exported) == 2
    assert "exists" in capsys.readouterr().err


def test_without_torch_it_indexes_searches_encodes_and_serves(exported, photographs, tmp_path):
    command = [sys.executable, "-c", WITHOUT_TORCH, str(exported), str(photographs), str(tmp_path / "codes.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told == {"index": 0, "search": 0, "encode": 0, "serve": 200, "hits": 4}
    assert len(np.load(tmp_path / "codes.npy")) == 4
