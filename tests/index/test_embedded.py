"""The embedded index: how it is opened, what it keeps, how it is copied."""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import workload

from deepbinaries.codes import Codes
from deepbinaries.errors import CorruptIndexError, DataError, Error, UsageError
from deepbinaries.index import EmbeddedIndex, embedded, open_index, restore, segments, verify, writing
from deepbinaries.index.ids import Ids, fingerprints
from deepbinaries.index.segments import Record

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def index(tmp_path):
    with EmbeddedIndex(tmp_path / "index", bits=workload.BITS, writable=True) as index:
        yield index


def test_an_index_is_not_made_by_reading(tmp_path):
    with pytest.raises(DataError, match="there is no index in"):
        EmbeddedIndex(tmp_path / "nowhere")
    with pytest.raises(DataError, match="there is no index in"):
        EmbeddedIndex(tmp_path / "nowhere", writable=True)
    assert not (tmp_path / "nowhere").exists()


def test_other_files_in_the_folder_are_left_alone(tmp_path):
    (tmp_path / "holiday.jpg").write_bytes(b"a picture")
    with EmbeddedIndex(tmp_path, bits=workload.BITS, writable=True) as index:
        workload.take(index, "add", {"a": 1})
    assert (tmp_path / "holiday.jpg").read_bytes() == b"a picture"


def test_the_length_of_the_codes_is_kept(index):
    index.close()
    with pytest.raises(UsageError, match="have 16 bits, not 64"):
        EmbeddedIndex(index.folder, bits=64, writable=True)


@pytest.mark.parametrize("bits", [0, -1, 1025])
def test_a_length_that_no_code_has_is_refused(bits, tmp_path):
    with pytest.raises(UsageError, match="outside 1..1024"):
        EmbeddedIndex(tmp_path, bits=bits, writable=True)
    assert list(tmp_path.iterdir()) == []


def test_a_closed_index_says_so(index):
    index.close()
    with pytest.raises(UsageError, match="is closed"):
        index.search(workload.codes([1]), k=1)


def test_equal_distances_come_in_the_order_of_ids_across_segments(index, monkeypatch):
    monkeypatch.setattr(embedded, "taken_up", lambda _records, _n_new: [])
    for ids in (["c", "zz"], ["b", "z"], ["a", "y"]):
        workload.take(index, "add", dict.fromkeys(ids, 1))
    assert index.search(workload.codes([1]), k=3).ids == [["a", "b", "c"]]
    assert index.search(workload.codes([1]), k=3).certificate.ties_left_out == (3,)


def test_a_thousand_equal_codes_are_cut_by_id(index, monkeypatch):
    monkeypatch.setattr(embedded, "taken_up", lambda _records, _n_new: [])
    ids = [f"{number:04d}" for number in np.random.default_rng(0).permutation(1000)]
    for start in range(0, 1000, 250):
        workload.take(index, "add", dict.fromkeys(ids[start : start + 250], 7))
    assert index.search(workload.codes([7]), k=4).ids == [["0000", "0001", "0002", "0003"]]


def test_what_is_removed_leaves_room_when_it_is_much(index, monkeypatch):
    monkeypatch.setattr(writing, "SMALL", 0)
    workload.take(index, "add", {f"item-{number}": number for number in range(100)})
    before = index.verify().n_bytes
    index.remove([f"item-{number}" for number in range(90)])
    assert index.verify().n_bytes < before / 5


def test_many_small_changes_leave_few_segments(index, monkeypatch):
    monkeypatch.setattr(writing, "SMALL", 2)
    for number in range(40):
        workload.take(index, "add", {f"item-{number}": number})
    assert len(list((index.folder / "segments").iterdir())) <= 5


def test_segments_that_are_mostly_removed_are_taken_up_and_others_stay():
    records = [Record(1, 100_000, 0, "", hidden=bytes(4 * 60_000)), Record(2, 100_000, 0, "", hidden=bytes(4 * 10))]
    assert writing.taken_up(records, n_new=0) == [0]


def test_a_change_that_changes_nothing_makes_no_version(index):
    workload.take(index, "add", {"a": 1})
    before = index.version
    index.compact()
    index.add([], workload.codes([]))
    assert index.remove(["never there"]) == 0
    assert index.version == before


def test_ids_that_share_a_fingerprint_are_told_apart(monkeypatch):
    ids, _ = Ids.sorted(["a", "b", "c"])
    one_for_all = np.zeros(3, dtype=np.uint64)
    alike = Ids(ids.text, ids.starts, one_for_all | np.arange(3, dtype=np.uint64))
    monkeypatch.setattr("deepbinaries.index.ids.fingerprints", lambda _text, starts: one_for_all[: len(starts) - 1])
    assert alike.find(ids).tolist() == [0, 1, 2]


def test_fingerprints_do_not_depend_on_neighbours(monkeypatch):
    ids, _ = Ids.sorted([f"id-{number}" for number in range(100)])
    monkeypatch.setattr("deepbinaries.index.ids._AT_ONCE", 7)
    alone = [Ids.sorted([ids[row]])[0] for row in range(100)]
    one_by_one = [fingerprints(one.text, one.starts)[0] for one in alone]
    assert fingerprints(ids.text, ids.starts).tolist() == one_by_one


def test_opening_reads_no_codes(index, monkeypatch):
    workload.take(index, "add", {"a": 1})
    segments._proven.clear()
    monkeypatch.setattr(segments, "digest", lambda *_: pytest.fail("the file was read"))
    EmbeddedIndex(index.folder).close()


def test_every_byte_is_proven_before_the_first_answer(index, monkeypatch):
    workload.take(index, "add", {"a": 1})
    segments._proven.clear()
    monkeypatch.setattr(segments, "digest", lambda *_: "another")
    with EmbeddedIndex(index.folder) as reader, pytest.raises(CorruptIndexError, match="00000001.codes"):
        reader.search(workload.codes([1]), k=1)


def test_a_digest_over_several_chunks_depends_on_each(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "_CHUNK", 10)
    found = set()
    for place in (0, 15, 34):
        content = bytearray(35)
        content[place] = 1
        (tmp_path / "file").write_bytes(content)
        with (tmp_path / "file").open("rb") as file:
            found.add(segments.digest(file.fileno(), 35))
    assert len(found) == 3


def test_a_backup_is_an_index_and_holds_one_version(index, tmp_path):
    workload.take(index, "add", {"a": 1, "b": 2})
    workload.take(index, "remove", {"a": 0})
    with EmbeddedIndex(index.folder) as reader:
        reader.backup(tmp_path / "backup")
    workload.take(index, "add", {"later": 3})
    restore(tmp_path / "backup", tmp_path / "restored")
    for place in ("backup", "restored"):
        assert verify(tmp_path / place).sound
        with EmbeddedIndex(tmp_path / place, writable=True) as copy:
            assert workload.items_of(copy) == {"b": 2}
            workload.take(copy, "add", {"more": 4})


def test_a_backup_overwrites_nothing(index, tmp_path):
    (tmp_path / "backup").mkdir()
    with pytest.raises(Error, match="is there already"):
        index.backup(tmp_path / "backup")


def test_a_damaged_backup_is_not_restored(index, tmp_path):
    workload.take(index, "add", {"a": 1})
    index.backup(tmp_path / "backup")
    (segment,) = (tmp_path / "backup" / "segments").iterdir()
    segment.write_bytes(segment.read_bytes()[:-1] + b"?")
    with pytest.raises(CorruptIndexError, match="00000001.codes"):
        restore(tmp_path / "backup", tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.iterdir()))
def test_an_index_of_every_format_is_read_and_written(sample, tmp_path):
    shutil.copytree(SAMPLES / sample, tmp_path / "index")
    assert verify(tmp_path / "index").sound
    with open_index(tmp_path / "index", writable=True) as index:
        assert workload.items_of(index) == {"apple": 1, "Banana": 0, "été": 65535, "0": 3}
        assert index.search(workload.codes([1]), k=2).ids == [["apple", "0"]]
        workload.take(index, "replace", {"apple": 2, "new": 9})
        assert len(index) == 5


def test_a_format_of_the_future_is_refused(index):
    workload.take(index, "add", {"a": 1})
    index.close()
    with sqlite3.connect(index.folder / "catalogue.db") as connection:
        connection.execute("UPDATE header SET format = 2, digest = 'computed otherwise'")
    connection.close()
    with pytest.raises(DataError, match="has format 2, this release knows up to 1"):
        EmbeddedIndex(index.folder)


@pytest.mark.parametrize("bits", [1, 64, 65, 1024])
def test_codes_are_given_back_as_they_came(bits, tmp_path):
    codes = Codes.from_bits(np.random.default_rng(0).integers(0, 2, (9, bits)))
    ids = [f"{number}" for number in range(9)]
    with EmbeddedIndex(tmp_path, bits=bits, writable=True) as index:
        index.add(ids, codes)
        assert index.codes_of(ids[::-1]) == codes[::-1]
