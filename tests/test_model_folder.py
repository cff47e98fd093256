"""The folder of a model is replaced by another wholly, or stays as it is; and no file of it changes unnoticed."""

import errno
import json
from pathlib import Path

import pytest

from deepbinaries.errors import DataError, Error
from deepbinaries.model_folder import CONFIG, LOG, LOG_DIGEST, VOCABULARY, read_folder, write_folder

FACTS = {
    "method": "none",
    "bits": 8,
    "words": 0,
    "trained_on": {},
    "vision": {},
    "weights": {"source": "nowhere", "licence": "none", "sha256": "0"},
    "tokens": {"length": 1},
}


def write(folder: Path, words: str, log: str = "") -> None:
    def write_files(new: Path) -> None:
        (new / VOCABULARY).write_text(words)
        if log:
            (new / LOG).write_text(log)

    write_folder(folder, FACTS, write_files)


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


def test_a_flipped_byte_of_the_log_is_noticed(tmp_path):
    write(tmp_path / "model", "words", log='{"epoch": 1}')
    (tmp_path / "model" / LOG).write_text('{"epoch": 3}')
    with pytest.raises(DataError, match=r"training\.jsonl cannot be trusted: its digest is another one"):
        read_folder(tmp_path / "model")


def test_a_log_that_is_gone_is_noticed(tmp_path):
    write(tmp_path / "model", "words", log='{"epoch": 1}')
    (tmp_path / "model" / LOG).unlink()
    with pytest.raises(DataError, match=r"training\.jsonl cannot be trusted: it is not there"):
        read_folder(tmp_path / "model")


def test_another_log_makes_no_other_model(tmp_path):
    write(tmp_path / "one", "words", log='{"epoch": 1}')
    write(tmp_path / "other", "words", log='{"epoch": 2}')
    digests = {json.loads((tmp_path / name / CONFIG).read_text())["sha256"] for name in ("one", "other")}
    assert len(digests) == 1
    assert read_folder(tmp_path / "one") == read_folder(tmp_path / "other")


def test_a_folder_from_before_logs_had_a_digest_is_still_read(tmp_path):
    write(tmp_path / "model", "words", log='{"epoch": 1}')
    path = tmp_path / "model" / CONFIG
    config = json.loads(path.read_text())
    del config[LOG_DIGEST]
    path.write_text(json.dumps(config))
    assert read_folder(tmp_path / "model")["bits"] == 8
