"""One writes, many read, some are killed: every answer comes from one version, and nothing acknowledged is lost."""

import os
import shutil
import subprocess
import sys

import processes
import pytest
import workload
from disk import HERE
from killing import kill_often

from deepbinaries.errors import IndexBusyError, UsageError
from deepbinaries.index import EmbeddedIndex


def test_readers_see_whole_versions_while_one_writes(tmp_path):
    with EmbeddedIndex(tmp_path, bits=workload.BITS, writable=True) as index:
        command = [sys.executable, str(HERE / "processes.py"), "read", str(tmp_path), "2.5"]
        readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        held = processes.models()
        for version in range(2, processes.LAST_VERSION + 1):
            workload.take(index, *processes.change(version))
            if index.version != version:  # compacting what is compact already, or removing nothing, is no change
                index.replace(["again"], workload.codes([held[version]["again"]]))
            if all(reader.poll() is not None for reader in readers):
                break
        seen = [int(reader.communicate()[0]) for reader in readers]
    assert [reader.returncode for reader in readers] == [0, 0]
    assert min(seen) > 3


def test_killed_writers_lose_nothing_that_they_acknowledged(tmp_path):
    assert kill_often(tmp_path / "index", kills=4, seed=0) > 4


def test_a_second_writer_is_told_who_writes(tmp_path):
    with EmbeddedIndex(tmp_path, bits=8, writable=True):
        with pytest.raises(IndexBusyError, match=f"written to by process {os.getpid()}"):
            EmbeddedIndex(tmp_path, writable=True)
        EmbeddedIndex(tmp_path).close()
    EmbeddedIndex(tmp_path, writable=True).close()


def test_a_reader_follows_the_writer(tmp_path):
    with (
        EmbeddedIndex(tmp_path, bits=workload.BITS, writable=True) as writer,
        EmbeddedIndex(tmp_path) as reader,
    ):
        for kind, items in [("add", {"a": 1, "b": 2}), ("remove", {"a": 0}), ("replace", {"b": 5}), ("compact", {})]:
            workload.take(writer, kind, items)
            assert workload.items_of(reader) == workload.items_of(writer)
            assert reader.version == writer.version


def test_a_reader_notices_an_index_that_was_removed_and_made_anew(tmp_path):
    def make(items):
        with EmbeddedIndex(tmp_path / "index", bits=workload.BITS, writable=True) as index:
            workload.take(index, "add", items)

    make({"old": 1})
    with EmbeddedIndex(tmp_path / "index") as reader:
        assert workload.items_of(reader) == {"old": 1}
        shutil.rmtree(tmp_path / "index")
        make({"new": 2})
        assert workload.items_of(reader) == {"new": 2}


def test_a_reader_notices_an_index_that_was_made_anew_while_it_looked(tmp_path, monkeypatch):
    with EmbeddedIndex(tmp_path / "index", bits=workload.BITS, writable=True) as index:
        for number in range(5):
            workload.take(index, "replace", {"old": number})
    with EmbeddedIndex(tmp_path / "another", bits=workload.BITS, writable=True) as index:
        workload.take(index, "add", {"new": 2})

    read = EmbeddedIndex._read

    def read_after_it_was_replaced(self):
        monkeypatch.undo()
        (tmp_path / "index").rename(tmp_path / "removed")
        (tmp_path / "another").rename(tmp_path / "index")
        return read(self)

    monkeypatch.setattr(EmbeddedIndex, "_read", read_after_it_was_replaced)
    with EmbeddedIndex(tmp_path / "index") as reader:
        assert workload.items_of(reader) == {"new": 2}


def test_an_answer_that_was_begun_outlives_the_files_it_comes_from(tmp_path):
    with (
        EmbeddedIndex(tmp_path, bits=workload.BITS, writable=True) as writer,
        EmbeddedIndex(tmp_path) as reader,
    ):
        workload.take(writer, "add", {"a": 1, "b": 2})
        ids = reader.ids()
        assert next(ids) == "a"
        workload.take(writer, "replace", {"a": 3, "c": 4})
        workload.take(writer, "compact", {})
        assert list(ids) == ["b"]


def test_a_forked_process_is_told_to_open_its_own(tmp_path):
    code = (
        "import os, sys\nfrom deepbinaries.errors import UsageError\nfrom deepbinaries.index import EmbeddedIndex\n"
        "index = EmbeddedIndex(sys.argv[1], bits=8, writable=True)\n"
        "if os.fork():\n    os.wait()\nelse:\n    try:\n        len(index)\n"
        "    except UsageError as error:\n        print(error, flush=True)\n    os._exit(0)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, tmp_path], check=True, capture_output=True, text=True)
    assert "forked off" in run.stdout


def test_a_reader_does_not_write(tmp_path):
    EmbeddedIndex(tmp_path, bits=workload.BITS, writable=True).close()
    with EmbeddedIndex(tmp_path) as reader, pytest.raises(UsageError, match="open for reading"):
        reader.add(["a"], workload.codes([1]))
