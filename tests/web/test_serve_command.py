"""`deepbinaries serve` refuses what cannot be served, before anybody asks."""

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from deepbinaries.cli import main


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main(["serve", *map(str, arguments)])
    return left.value.code


def test_another_bind_without_a_token_is_wrong_use(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("DEEPBINARIES_TOKEN", raising=False)
    assert run("--index", tmp_path, "--bind", "0.0.0.0") == 2  # noqa: S104
    assert "no token is given" in capsys.readouterr().err


def test_a_token_file_without_a_token_is_wrong_use(tmp_path, capsys):
    (tmp_path / "token").write_text("\n")
    assert run("--index", tmp_path, "--token-file", tmp_path / "token") == 2
    assert "holds no token" in capsys.readouterr().err


def test_a_folder_without_an_index_is_told(tmp_path, capsys):
    assert run("--index", tmp_path) == 3
    assert "there is no index of photographs" in capsys.readouterr().err


def test_a_folder_needs_a_model_to_be_indexed_by(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("DEEPBINARIES_MODEL", raising=False)
    monkeypatch.setattr("deepbinaries.pretrained.SHELF", tmp_path / "without models")
    assert run(tmp_path) == 2
    assert "no model was given" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(still_library, process, capsys):
    assert run("--index", still_library.root, "--port", process.port) == 3
    assert "nobody can listen on 127.0.0.1" in capsys.readouterr().err


def test_ctrl_c_ends_it_without_a_complaint(still_library):
    command = [sys.executable, "-m", "deepbinaries", "serve", "--index", str(still_library.root), "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    address = re.search(r"http://\S+", server.stderr.readline())[0]
    with urllib.request.urlopen(f"{address}healthz") as answer:  # noqa: S310 - our own
        assert answer.status == 200
    server.send_signal(signal.SIGINT)
    _, said = server.communicate(timeout=30)
    assert (server.returncode, said) == (0, "")
