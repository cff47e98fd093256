"""A disk that is full, broken or read-only gives a clear error, and what was there stays readable."""

import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import workload
from disk import HERE, memory_folder, preload_library, run_watched

from deepbinaries.errors import Error
from deepbinaries.index import EmbeddedIndex, locking, writing

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


def run(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.splitlines()


@pytest.mark.parametrize("error_number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_at_any_call_loses_nothing_that_was_acknowledged(error_number, tmp_path):
    with memory_folder() as root:
        calls = run_watched(preload_library(tmp_path), root, HERE / "failing_disk.py", root, error_number, 7)
    assert int(calls) > 100


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
        workload.take(index, "add", {"a": 1, "b": 2})
        shutil.copytree(root / "index", root / "open")
    for path in (root / "index", *(root / "index").rglob("*"), root / "open", *(root / "open").rglob("*")):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222 | 0o444)
    yield root
    for path in (root / "index", root / "open"):
        for place in (path, *path.rglob("*")):
            place.chmod(0o755)
    shutil.rmtree(root)


def test_a_folder_that_cannot_be_written_is_searched(read_only):
    assert run(AS_NOBODY, read_only / "index") == ["{'a': 1, 'b': 2} [['a']]"]


def test_a_folder_that_cannot_be_written_is_not_changed(read_only):
    (refusal,) = run(AS_NOBODY, read_only / "index", "write")
    assert "Permission denied" in refusal
    assert "check permissions" in refusal


def test_commits_in_a_log_that_cannot_be_read_are_not_passed_over(read_only):
    log = read_only / "open" / "catalogue.db-wal"
    log.chmod(0o644)
    log.write_bytes(b"x" * 4096)
    log.chmod(0o444)
    (refusal,) = run(AS_NOBODY, read_only / "open")
    assert "was not closed" in refusal


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

    before = n_open()
    with EmbeddedIndex(tmp_path, bits=16, writable=True) as index:
        for number in range(30):
            workload.take(index, "replace", {f"item-{number}": number, "again": number})
            assert index.search(workload.codes([1]), k=1).certificate.version == number + 2
        assert n_open() < before + 8
    del index
    assert n_open() == before
