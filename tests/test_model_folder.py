"""The folder of a model is replaced by another wholly, or stays as it is."""

import errno
from pathlib import Path

import pytest

from deepbinaries.errors import Error
from deepbinaries.model_folder import VOCABULARY, read_folder, write_folder

FACTS = {
    "method": "none",
    "bits": 8,
    "words": 0,
    "trained_on": {},
    "vision": {},
    "weights": {"source": "nowhere", "licence": "none", "sha256": "0"},
    "tokens": {"length": 1},
}


def write(folder: Path, words: str) -> None:
    write_folder(folder, FACTS, lambda new: (new / VOCABULARY).write_text(words))


@pytest.fixture
def refuse(monkeypatch):
    """`refuse(name)` lets the disk fail when a folder of this name is to get another."""
    rename, names = Path.rename, set()

    def rename_unless_refused(self, target):
        if any(self.match(name) for name in names):
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", rename_unless_refused)
    return names.add


def test_a_model_that_is_replaced_leaves_nothing_behind(tmp_path):
    write(tmp_path / "model", "old")
    write(tmp_path / "model", "new")
    assert (tmp_path / "model" / VOCABULARY).read_text() == "new"
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_a_model_that_cannot_be_replaced_is_still_there(tmp_path, refuse):
    write(tmp_path / "model", "old")
    refuse("new")
    with pytest.raises(Error, match="cannot be written"):
        write(tmp_path / "model", "new")
    assert read_folder(tmp_path / "model")["bits"] == 8
    assert (tmp_path / "model" / VOCABULARY).read_text() == "old"
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_a_model_is_not_lost_though_it_cannot_be_put_back(tmp_path, refuse):
    write(tmp_path / "model", "old")
    refuse("new")
    refuse("*.old")
    with pytest.raises(Error, match="cannot be written") as refused:
        write(tmp_path / "model", "new")
    (kept,) = tmp_path.iterdir()
    assert str(kept) in str(refused.value)
    assert (kept / VOCABULARY).read_text() == "old"
