"""Learnt arrays as files: what is damaged, of another kind or of another shape is refused."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from deepbinaries.errors import DataError, UsageError
from deepbinaries.hashers.saving import load_learnt, save_learnt

SHAPES = {"mean": ("d",), "W": ("d", "bits")}


@dataclass(frozen=True)
class Settings:
    bits: int = 2


@pytest.fixture
def folder(tmp_path):
    save_learnt(tmp_path, "example", Settings(), {"mean": np.zeros(3), "W": np.arange(6.0).reshape(2, 3).T})
    return tmp_path


def test_what_is_saved_is_read_back(folder):
    settings, arrays = load_learnt(folder, "example", Settings, SHAPES)
    assert settings == Settings()
    assert arrays["W"].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


def test_nothing_learnt_is_not_saved(tmp_path):
    with pytest.raises(UsageError, match="has learnt nothing yet"):
        save_learnt(tmp_path, "example", Settings(), {})


def test_a_flipped_byte_is_refused(folder):
    path = folder / "hasher.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + bytes([path.read_bytes()[-1] ^ 1]))
    with pytest.raises(DataError, match="no whole EXAMPLE"):
        load_learnt(folder, "example", Settings, SHAPES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 9}, "version 9 is not"),
        ({"format": "deepbinaries-tvdb"}, "deepbinaries-tvdb version 1 is not"),
        ({"settings": {"bits": 3}}, "W has the shape"),
        ({"settings": {"bit": 2}}, "unexpected keyword"),
        ({"settings": []}, "W|no whole"),
    ],
)
def test_other_facts_are_refused(folder, change, message):
    facts = json.loads((folder / "hasher.json").read_text())
    (folder / "hasher.json").write_text(json.dumps(facts | change))
    with pytest.raises(DataError, match=message):
        load_learnt(folder, "example", Settings, SHAPES)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"mean": np.zeros(3)}, "'W'"),
        ({"mean": np.zeros(4), "W": np.zeros((3, 2))}, "W has the shape"),
        ({"mean": np.zeros((3, 1)), "W": np.zeros((3, 2))}, "mean has the shape"),
        ({"mean": np.full(3, np.nan), "W": np.zeros((3, 2))}, "mean is not made of finite"),
        ({"mean": np.zeros(3, dtype=np.int64), "W": np.zeros((3, 2))}, "mean is not made of finite"),
    ],
)
def test_arrays_that_do_not_go_together_are_refused(tmp_path, arrays, message):
    save_learnt(tmp_path, "example", Settings(), arrays)
    with pytest.raises(DataError, match=message):
        load_learnt(tmp_path, "example", Settings, SHAPES)
