"""A disk that is full, broken or read-only gives a clear error, and what was there stays readable."""

import contextlib
import errno
import gc
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest
import workload
from disk import HERE, memory_folder, preload_library, run_watched

from deepbinaries.errors import Error
from deepbinaries.index import EmbeddedIndex, connecting, embedded, locking, writing
from deepbinaries.index.catalogue import Catalogue

LIMITED = """
import resource, sys
import workload
from deepbinaries.errors import Error
from deepbinaries.index import EmbeddedIndex
many = {f"item-{number}": number for number in range(5000)}
with EmbeddedIndex(sys.argv[1], bits=16, writable=True) as index:
    workload.take(index, "add", {"a": 1})
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
    for _ in range(2):
        try:
            workload.take(index, "add", many)
        except Error as error:
            print(error)
    print(workload.items_of(index), sorted(path.name for path in index.folder.glob("segments/*")))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    workload.take(index, "add", many)
    print(len(index), index.verify().sound)
"""

AS_NOBODY = """
import os, sys
import workload
from deepbinaries.errors import Error
from deepbinaries.index import EmbeddedIndex
folder = sys.argv[1]
if os.getuid() == 0:  # whom no permission stops
    os.setuid(65534)
try:
    with EmbeddedIndex(folder, writable="write" in sys.argv) as index:
        print(workload.items_of(index), index.search(workload.codes([1]), k=1).ids)
except Error as error:
    print(error)
"""

FOLLOWING_AS_NOBODY = """
import os, sys
import workload
from deepbinaries.index import EmbeddedIndex
if os.getuid() == 0:
    os.setuid(65534)
with EmbeddedIndex(sys.argv[1]) as index:
    print("opened", flush=True)
    while index.search(workload.codes([1]), k=1).certificate.version < int(sys.argv[2]):
        pass
print("no answer failed")
"""
VERSIONS = 60


def run(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.splitlines()


@pytest.mark.parametrize("error_number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_at_any_call_loses_nothing_that_was_acknowledged(error_number, tmp_path):
    with memory_folder() as root:
        calls = run_watched(preload_library(tmp_path), root, HERE / "failing_disk.py", root, error_number, 7)
    of_a_life, of_a_change = map(int, calls.split())
    assert of_a_life > 100
    assert of_a_change > 10


@pytest.mark.parametrize(
    ("owner", "step", "is_committed"),
    [
        (embedded, "sync_folder", False),
        (Catalogue, "commit", False),
        (Catalogue, "empty_log", True),
        (embedded, "write_receipt", True),
        (embedded, "open_snapshot", True),
    ],
)
def test_after_a_change_that_failed_the_same_index_takes_the_next(owner, step, is_committed, tmp_path, monkeypatch):
    with EmbeddedIndex(tmp_path, bits=16, writable=True) as index:
        workload.take(index, "add", {"a": 1})
        full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
        with monkeypatch.context() as patched:
            patched.setattr(owner, step, full)
            for _ in range(2):  # the second time, the disk is still full when it looks how far the first came
                with pytest.raises(Error, match="No space left"):
                    workload.take(index, "replace", {"b": 2})
            assert workload.items_of(index) in ({"a": 1}, {"a": 1, "b": 2})
        workload.take(index, "remove", {"nothing": 0})
        assert workload.items_of(index) == ({"a": 1, "b": 2} if is_committed else {"a": 1})
        workload.take(index, "replace", {"b": 2, "c": 3})
        assert workload.items_of(index) == {"a": 1, "b": 2, "c": 3}
        with EmbeddedIndex(tmp_path) as reader:
            assert workload.items_of(reader) == {"a": 1, "b": 2, "c": 3}
        assert index.verify().problems == ()


def test_an_index_that_outgrows_its_disk_stays_as_it_was_and_takes_the_items_later(tmp_path):
    *refusals, before, after = run(LIMITED, tmp_path / "index")
    assert ["File too large" in line and "check permissions and free space" in line for line in refusals] == [
        True,
        True,
    ]
    assert before == "{'a': 1} ['00000001.codes']"
    assert after == "5001 True"


def test_too_little_room_is_noticed_before_anything_is_written(tmp_path, monkeypatch):
    with EmbeddedIndex(tmp_path, bits=16, writable=True) as index:
        monkeypatch.setattr(writing.shutil, "disk_usage", lambda _folder: shutil._ntuple_diskusage(100, 90, 10))
        with pytest.raises(Error, match="needs 100 bytes for this change and has 10"):
            workload.take(index, "add", {"four": 4})


@pytest.fixture
def read_only():
    """An index in a folder that cannot be written, where everybody may read; and what it takes to look inside."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    with EmbeddedIndex(root / "index", bits=16, writable=True) as index:
        workload.take(index, "add", {"a": 1})
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Catalogue, "empty_log", lambda _self: None)
            workload.take(index, "add", {"b": 2})
            shutil.copytree(root / "index", root / "killed")  # as its writer would have left it, b in the log alone
    for path in (root / "index", *(root / "index").rglob("*"), root / "killed", *(root / "killed").rglob("*")):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222 | 0o444)
    yield root
    for path in (root / "index", root / "killed"):
        for place in (path, *path.rglob("*")):
            place.chmod(0o755)
    shutil.rmtree(root)


def test_a_folder_that_cannot_be_written_is_searched(read_only):
    assert run(AS_NOBODY, read_only / "index") == ["{'a': 1, 'b': 2} [['a']]"]


def test_a_folder_that_cannot_be_written_is_not_changed(read_only):
    (refusal,) = run(AS_NOBODY, read_only / "index", "write")
    assert "Permission denied" in refusal
    assert "check permissions" in refusal


def test_commits_in_the_log_of_a_killed_writer_are_found_without_the_right_to_write(read_only):
    assert run(AS_NOBODY, read_only / "killed") == ["{'a': 1, 'b': 2} [['a']]"]


def test_commits_in_a_log_that_cannot_be_read_are_not_passed_over(read_only):
    (read_only / "killed/catalogue.db-shm").unlink()
    (refusal,) = run(AS_NOBODY, read_only / "killed")
    assert "was not closed" in refusal


def test_a_reader_who_may_not_write_follows_a_writer():
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    try:
        with EmbeddedIndex(root / "index", bits=16, writable=True) as index:
            command = [sys.executable, "-c", FOLLOWING_AS_NOBODY, root / "index", str(VERSIONS)]
            environment = {**os.environ, "PYTHONPATH": str(HERE)}
            reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
            assert reader.stdout.readline() == "opened\n"
            for number in range(1, VERSIONS):
                workload.take(index, "replace", {f"item-{number % 9}": number})
            assert reader.communicate() == ("no answer failed\n", None)
    finally:
        shutil.rmtree(root)


def test_a_database_that_is_read_as_it_is_is_read_again_when_it_has_changed(tmp_path, refusing):
    with EmbeddedIndex(tmp_path, bits=16, writable=True) as index:
        refusing("SQLITE_CANTOPEN")
        with contextlib.closing(Catalogue(tmp_path, writable=False)) as reader:
            for version in range(1, 5):
                assert reader.read().version == version
                workload.take(index, "replace", {"a": version})


def test_a_failing_disk_is_no_reason_to_read_without_the_log(tmp_path, refusing, monkeypatch):
    EmbeddedIndex(tmp_path, bits=16, writable=True).close()
    refusing("SQLITE_IOERR_READ")
    monkeypatch.setattr(connecting, "PATIENCE", 0.02)
    with pytest.raises(Error, match="SQLITE_IOERR_READ"):
        EmbeddedIndex(tmp_path)


def test_a_folder_whose_name_is_no_text_is_an_index_like_others(tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 ?#%41"))
    with EmbeddedIndex(folder, bits=16, writable=True) as index:
        workload.take(index, "add", {"a": 1})
    with EmbeddedIndex(folder) as index:
        assert workload.items_of(index) == {"a": 1}
    assert (folder / "catalogue.db").exists()


def test_an_index_on_a_network_disk_is_refused_unless_that_is_wanted(tmp_path, monkeypatch):
    monkeypatch.setattr(locking, "_kind_of_disk", lambda _folder: "nfs4")
    with pytest.raises(Error, match="network disk"):
        EmbeddedIndex(tmp_path, bits=8, writable=True)
    EmbeddedIndex(tmp_path, bits=8, writable=True, allow_network_disk=True).close()


def test_the_kind_of_a_disk_is_found():
    assert locking._kind_of_disk(Path("/proc/self")) == "proc"


def test_no_files_stay_open(tmp_path):
    def n_open():
        return len(list(Path("/proc/self/fd").iterdir()))

    gc.collect()  # errors of earlier tests hold on to their indexes until then
    before = n_open()
    with EmbeddedIndex(tmp_path, bits=16, writable=True) as index:
        for number in range(30):
            workload.take(index, "replace", {f"item-{number}": number, "again": number})
            assert index.search(workload.codes([1]), k=1).certificate.version == number + 2
        assert n_open() < before + 8
    del index
    assert n_open() == before
