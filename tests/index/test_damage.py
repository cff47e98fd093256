"""A file that is not as it was written gives a clear error or the same answer, never another one."""

import random
import shutil
from unittest.mock import Mock

import pytest
import workload

from deepbinaries.errors import CorruptIndexError, DataError, Error
from deepbinaries.index import EmbeddedIndex, catalogue, embedded, rebuild, rebuilding, segments, verify
from deepbinaries.index.receipts import receipt_path

UNIMPORTANT = ("lock", "catalogue.db-shm")  # made anew by whoever opens the index
ITEMS = {"b": 1, "a": 1, "c": 2, "e": 9, "last": 7}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An index of two segments, of which one has a removed row."""
    monkeypatch.setattr(embedded, "taken_up", lambda _records, _n_new: [])
    with EmbeddedIndex(tmp_path / "index", bits=workload.BITS, writable=True) as index:
        workload.take(index, "add", {"b": 1, "a": 1, "gone": 3})
        workload.take(index, "add", {"c": 2, "e": 9, "last": 7})
        workload.take(index, "remove", {"gone": 0})
    return tmp_path / "index"


@pytest.fixture
def crashed(folder, tmp_path, monkeypatch):
    """The same index as a killed writer leaves it, its last commits in the log alone."""
    monkeypatch.setattr(catalogue.Catalogue, "empty_log", lambda _self: None)
    with EmbeddedIndex(folder, writable=True) as index:
        workload.take(index, "remove", {"e": 0})
        workload.take(index, "add", {"new": 4})
        shutil.copytree(folder, tmp_path / "crashed")
    monkeypatch.undo()
    return tmp_path / "crashed"


def answers(folder):
    """What an index holds and finds, or None where it says that it is damaged."""
    segments._proven.clear()
    try:
        with EmbeddedIndex(folder) as index:
            return workload.items_of(index), index.search(workload.codes([1, 8]), k=3).ids
    except CorruptIndexError:
        return None


def flips(path, n, rng):
    """The file with one bit flipped, n times; it is as before in the end."""
    content = path.read_bytes()
    for _ in range(n if content else 0):
        bit = rng.randrange(8 * len(content))
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        yield bit
    path.write_bytes(content)


def test_a_flipped_bit_in_any_file_never_changes_an_answer(folder):
    rng, truth = random.Random(0), answers(folder)
    assert truth is not None
    refused = {}
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        found = [answers(folder) for _ in flips(path, 300 if path.name == "catalogue.db" else 60, rng)]
        assert [one for one in found if one not in (None, truth)] == []
        refused[path.name] = sum(one is None for one in found)
    assert refused["00000001.codes"] == refused["00000002.codes"] == 60
    assert refused["catalogue.db"] > 0


def test_a_flipped_bit_in_the_log_of_a_killed_writer_never_loses_a_commit(crashed):
    rng, truth = random.Random(0), answers(crashed)
    assert truth is not None
    assert "new" in truth[0]
    found = [answers(crashed) for _ in flips(crashed / "catalogue.db-wal", 200, rng)]
    assert [one for one in found if one not in (None, truth)] == []
    assert None in found


def test_without_receipts_a_flipped_bit_in_the_log_would_lose_commits(crashed, monkeypatch):
    monkeypatch.setattr(embedded, "newest_receipt", lambda _folder: 0)
    rng, truth = random.Random(0), answers(crashed)
    found = [answers(crashed) for _ in flips(crashed / "catalogue.db-wal", 200, rng)]
    assert [one for one in found if one not in (None, truth)] != []


def test_a_writer_touches_nothing_of_an_index_that_has_lost_commits(crashed):
    log = crashed / "catalogue.db-wal"
    log.write_bytes(log.read_bytes()[:100] + b"?" + log.read_bytes()[101:])
    before = {path: path.read_bytes() for path in crashed.rglob("*") if path.is_file() and path.name not in UNIMPORTANT}
    with pytest.raises(CorruptIndexError, match="forgotten changes"):
        EmbeddedIndex(crashed, writable=True)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", ["catalogue.db", "segments/00000001.codes"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_file_that_was_cut_is_refused(folder, name, share):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: int(share * len(content))])
    assert answers(folder) is None


def test_bytes_at_the_end_of_a_segment_are_refused(folder):
    with (folder / "segments/00000001.codes").open("ab") as file:
        file.write(b"more")
    assert answers(folder) is None


def test_two_segments_that_changed_places_are_refused(folder):
    one, other = (folder / "segments" / f"0000000{number}.codes" for number in (1, 2))
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    assert answers(folder) is None


@pytest.mark.parametrize("name", ["catalogue.db", "segments/00000002.codes"])
def test_a_file_that_is_gone_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(CorruptIndexError, match="catalogue is gone|00000002.codes is not there"):
        EmbeddedIndex(folder)


def test_an_older_catalogue_is_refused(folder, tmp_path):
    older = shutil.copy(folder / "catalogue.db", tmp_path / "older.db")
    with EmbeddedIndex(folder, writable=True) as index:
        workload.take(index, "add", {"new": 4})
    shutil.copy(older, folder / "catalogue.db")
    with pytest.raises(CorruptIndexError, match="version 5 was there, this is 4"):
        EmbeddedIndex(folder)


def test_a_lost_catalogue_is_never_taken_for_an_index_to_be_made(folder):
    (folder / "catalogue.db").write_bytes(b"")
    with pytest.raises(CorruptIndexError, match="catalogue is empty"):
        EmbeddedIndex(folder, bits=workload.BITS, writable=True)


def test_a_link_in_place_of_a_segment_is_refused(folder, tmp_path):
    segment = folder / "segments/00000001.codes"
    segment.rename(tmp_path / "elsewhere")
    segment.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Error, match="00000001.codes"):
        EmbeddedIndex(folder)


def test_verifying_a_sound_index_finds_nothing(folder):
    findings = verify(folder)
    assert findings.sound
    assert (findings.items, findings.segments, findings.version) == (5, 2, 4)


@pytest.mark.parametrize("name", ["catalogue.db", "segments/00000001.codes", "segments/00000002.codes"])
def test_verifying_names_a_damaged_file(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 3 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 3)
    (folder / name).write_bytes(content)
    findings = verify(folder)
    assert not findings.sound
    assert name.rpartition("/")[2].partition(".")[0] in findings.problems[0]


def test_verifying_a_folder_without_an_index_is_refused(tmp_path):
    with pytest.raises(DataError, match="there is no index"):
        verify(tmp_path)


def test_a_lost_catalogue_is_rebuilt_from_the_receipt(folder):
    (folder / "catalogue.db").unlink()
    assert rebuild(folder).items == 5
    with EmbeddedIndex(folder, writable=True) as index:
        assert workload.items_of(index) == ITEMS
        assert index.verify().sound


def test_commits_that_the_log_has_lost_are_rebuilt_from_the_receipt(crashed):
    (crashed / "catalogue.db-wal").write_bytes(b"")
    assert rebuild(crashed).items == 5
    with EmbeddedIndex(crashed) as index:
        assert workload.items_of(index) == {"b": 1, "a": 1, "c": 2, "last": 7, "new": 4}


def test_rebuilding_that_is_cut_short_is_taken_up_though_there_was_no_receipt(folder, monkeypatch):
    for receipt in folder.glob("committed-*.json"):
        receipt.unlink()
    (folder / "segments/00000001.codes").write_bytes(b"")
    with monkeypatch.context() as patched:
        patched.setattr(rebuilding, "create", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            rebuild(folder, drop_damaged=True)
    rebuilt = rebuild(folder, drop_damaged=True)
    assert (rebuilt.items, rebuilt.lost) == (3, 2)
    with EmbeddedIndex(folder) as index:
        assert workload.items_of(index) == {"c": 2, "e": 9, "last": 7}


@pytest.mark.parametrize("version", [9, 999_999_999_999])
def test_a_newer_receipt_that_cannot_be_read_is_overcome_by_rebuilding(folder, version):
    receipt_path(folder, version).write_text("nonsense")
    assert answers(folder) is None
    rebuild(folder)
    with EmbeddedIndex(folder, writable=True) as index:
        assert (workload.items_of(index), index.version) == (ITEMS, version + 1)
        workload.take(index, "add", {"new": 4})
    assert list(folder.glob("committed-*")) == [receipt_path(folder, version + 2)]


def test_a_damaged_segment_is_left_out_only_when_that_is_asked_for(folder):
    (folder / "segments/00000001.codes").write_bytes(b"")
    with pytest.raises(CorruptIndexError, match="1 segments, with 2 items"):
        rebuild(folder)
    rebuilt = rebuild(folder, drop_damaged=True)
    assert (rebuilt.items, rebuilt.lost) == (3, 2)
    with EmbeddedIndex(folder, writable=True) as index:
        assert workload.items_of(index) == {"c": 2, "e": 9, "last": 7}
        workload.take(index, "add", {"b": 1})


def test_what_cannot_be_rebuilt_is_said(folder):
    (folder / "catalogue.db").unlink()
    for receipt in folder.glob("committed-*.json"):
        receipt.write_bytes(receipt.read_bytes()[:-20])
    with pytest.raises(CorruptIndexError, match="neither its catalogue nor a receipt"):
        rebuild(folder)
