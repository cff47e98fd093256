"""`train --tensorboard` writes what the log says; without TensorBoard one line says what to install."""

import json
import sys

import pytest
from small_training import SMALL, run
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray


def curves(folder):
    """What TensorBoard would draw: by name, a value for each epoch."""
    events = EventAccumulator(str(folder)).Reload()
    return {
        name: {event.step: make_ndarray(event.tensor_proto).item() for event in events.Tensors(name)}
        for name in events.Tags()["tensors"]
    }


def test_every_number_of_the_log_becomes_a_curve(features, tmp_path):
    board, out = tmp_path / "board", tmp_path / "model"
    assert run("train", *SMALL, "--tensorboard", board, "--features", features, "--out", out) == 0
    entries = [json.loads(line) for line in (out / "training.jsonl").read_text().splitlines()]
    drawn = curves(board)
    assert set(drawn) == {name for name in entries[0] if name not in ("epoch", "warning")} | {"seconds"}
    assert drawn["loss"] == pytest.approx({entry["epoch"]: entry["loss"] for entry in entries})


def test_each_tuned_value_is_a_run_of_its_own(features, tmp_path):
    board = tmp_path / "board"
    tune = ("--tune", "embed=8,16", "--set", "epochs=1", "--tensorboard", board)
    assert run("train", *SMALL, *tune, "--features", features, "--out", tmp_path / "model") == 0
    assert {path.name for path in board.iterdir() if path.is_dir()} == {"embed=8", "embed=16"}
    assert all(list(curves(folder)["loss"]) == [1] for folder in (board, board / "embed=8", board / "embed=16"))


def test_without_tensorboard_one_line_names_the_extra_before_any_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tensorboard.summary", None)
    arguments = ("--tensorboard", tmp_path / "board", "--features", tmp_path / "features", "--out", tmp_path / "model")
    assert run("train", *SMALL, *arguments) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "tensorboard" in line
    assert "install deepbinaries[tensorboard]" in line
    assert list(tmp_path.iterdir()) == []
