"""An index in shards answers as one that is not, and every change is made to all shards at once. No cluster yet."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_shards import LocalIndex

from deepbinaries.codes import Codes
from deepbinaries.errors import CorruptIndexError, DataError, Error, IndexBusyError, UsageError
from deepbinaries.index import (
    Copied,
    EmbeddedIndex,
    check_index,
    copy_items,
    manifest,
    open_index,
    ray,
    shard,
    transferring,
)
from deepbinaries.index.base import Found
from deepbinaries.index.ids import Ids
from deepbinaries.index.merging import all_within, nearest_of_all, nearest_with_ties

BITS = 6
IDS = [f"item-{number}" for number in range(200)]
CODES = Codes.from_bits(np.random.default_rng(0).integers(0, 2, (len(IDS), BITS)))
QUERIES = Codes.from_bits(np.random.default_rng(1).integers(0, 2, (20, BITS)))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "codes"


@pytest.fixture
def index(folder):
    """Two hundred items in three shards, so near each other that most distances are tied."""
    with LocalIndex(folder, bits=BITS, writable=True) as index:
        index.add(IDS, CODES)
        yield index


@pytest.fixture
def embedded(tmp_path):
    with EmbeddedIndex(tmp_path / "embedded", bits=BITS, writable=True) as index:
        index.add(IDS, CODES)
        yield index


def same(one, other):
    """Whether two answers are equal, with all that they promise but the time they took and the version."""
    ours, theirs = ({**vars(answer.certificate), "milliseconds": 0, "version": 0} for answer in (one, other))
    return (one.ids, one.distances, ours) == (other.ids, other.distances, theirs)


@pytest.mark.parametrize("shards", [1, 3])
def test_an_index_in_shards_keeps_the_contract(tmp_path, shards):
    lengths = (1, 8, 63, 64, 65, 1024)
    check_index(
        lambda name, bits: LocalIndex(tmp_path / name, bits=bits, writable=True, shards=shards), lengths=lengths
    )


def test_it_keeps_the_contract_with_many_segments(tmp_path, monkeypatch):
    monkeypatch.setattr(shard, "taken_up", lambda _records, _n_new: [])
    check_index(lambda name, bits: LocalIndex(tmp_path / name, bits=bits, writable=True), lengths=[12])


def test_answers_and_certificates_are_those_of_an_index_in_a_folder(index, embedded):
    for k in (1, 7, 100, 500):
        assert same(index.search(QUERIES, k), embedded.search(QUERIES, k))
        assert same(index.search(QUERIES, k, with_ties=True), embedded.search(QUERIES, k, with_ties=True))
    assert same(index.range(QUERIES, 2), embedded.range(QUERIES, 2))
    assert index.search(QUERIES, 5, among=IDS[:9])[:] == embedded.search(QUERIES, 5, among=IDS[:9])[:]


pairs = st.lists(st.tuples(st.integers(0, 3), st.text("abcd", min_size=1, max_size=3)), unique_by=lambda pair: pair[1])


def of_shard(items, k):
    """What a shard answers that sorts everything."""
    ranking = sorted(items)
    edge = ranking[:k][-1][0] if ranking else 0
    left_out = sum(distance == edge for distance, _ in ranking[k:])
    return Found([id_ for _, id_ in ranking[:k]], [distance for distance, _ in ranking[:k]], left_out)


@given(pairs, st.integers(1, 6), st.integers(1, 4))
def test_merging_shards_is_sorting_everything(items, k, n_shards):
    parts = [items[place::n_shards] for place in range(n_shards)]
    assert nearest_of_all([of_shard(part, k) for part in parts], k) == of_shard(items, k)
    shells = [of_shard(part, k + of_shard(part, k).ties_left_out) for part in parts]
    assert nearest_with_ties(shells, k) == of_shard(items, k + of_shard(items, k).ties_left_out)
    assert all_within([of_shard(part, len(items) + 1) for part in parts]) == of_shard(items, len(items) + 1)


def test_ids_are_spread_evenly_and_always_alike():
    ids, _ = Ids.sorted([f"photographs/2019/{number}.jpg" for number in range(3000)])
    counts = np.bincount(manifest.shards_of(ids, 3))
    assert min(counts) > 900
    one, _ = Ids.sorted(["photographs/2019/7.jpg"])
    row = [ids[row] for row in range(len(ids))].index("photographs/2019/7.jpg")
    assert manifest.shards_of(one, 3)[0] == manifest.shards_of(ids, 3)[row]


def test_a_long_list_of_ids_comes_in_parts(index, monkeypatch):
    monkeypatch.setattr(ray, "_AT_ONCE", 7)
    index.remove(IDS[50:90])
    assert list(index.ids()) == sorted(IDS[:50] + IDS[90:])


def test_items_are_copied_in_portions_among_those_that_are_there(index, tmp_path, monkeypatch):
    monkeypatch.setattr(ray, "_AT_ONCE", 3)
    monkeypatch.setattr(transferring, "PORTION", 10)
    with EmbeddedIndex(tmp_path / "source", bits=BITS, writable=True) as source:
        source.add(IDS, CODES)
        source.add([f"{id_}-new" for id_ in IDS], CODES)
        assert copy_items(source, index) == Copied(copied=200, unchanged=200)
        assert list(index.ids()) == list(source.ids())


def test_what_is_written_is_there_for_whoever_opens_it_next(index, folder):
    index.close()
    with LocalIndex(folder) as again:
        assert again.codes_of(IDS) == CODES
        assert again.version == 2


def test_a_reader_sees_changes_with_its_next_call(index, folder):
    with LocalIndex(folder) as reader:
        before = reader.search(QUERIES, 3)
        index.remove(before.ids[0])
        after = reader.search(QUERIES, 3)
        assert after.certificate.version == 3
        assert not set(before.ids[0]) & set(after.ids[0])


def test_a_shard_that_another_version_is_asked_of_answers_nothing(index, folder):
    old = index._current().digest
    fresh = shard.Shard(str(folder), 0)
    index.remove(IDS[:1])
    assert fresh.ask("search", old, None, QUERIES, 1, False) == shard.OtherVersion(newest=3)


def test_a_version_that_was_replaced_while_it_was_asked_for_is_looked_for_again(index, folder, monkeypatch):
    with LocalIndex(folder) as reader:
        ask, calls = reader._actors.ask, []

        def late(questions, **options):
            calls.append(questions)
            if len(calls) == 1:
                index.remove(IDS[:100])
            return ask(questions, **options)

        monkeypatch.setattr(reader._actors, "ask", late)
        assert reader.search(QUERIES, 200).certificate.version == 3
        assert len(calls) == 2


def test_a_change_that_one_shard_cannot_write_is_made_to_none(index, folder):
    class FullDisk:
        def ask(self, *_):
            return shard.Refusal(Error, "there is no room", "make room")

    whole, index._actors.shards[1] = index._actors.shards[1], FullDisk()
    with pytest.raises(Error, match="there is no room"):
        index.replace(IDS, CODES[::-1])
    index._actors.shards[1] = whole
    assert index.codes_of(IDS) == CODES
    with LocalIndex(folder) as reader:
        assert reader.codes_of(IDS) == CODES


def test_a_change_that_cannot_be_committed_is_not_there_and_its_files_go(index, folder, monkeypatch):
    def broken(*_):
        raise OSError(28, "No space left on device")

    before = {path.name for path in folder.rglob("*.codes")}
    with monkeypatch.context() as patch:
        patch.setattr(ray, "commit", broken)
        with pytest.raises(Error, match="No space left"):
            index.replace(IDS, CODES[::-1])
    assert index.codes_of(IDS) == CODES
    assert {path.name for path in folder.rglob("*.codes")} > before
    index.close()
    LocalIndex(folder, writable=True).close()
    assert {path.name for path in folder.rglob("*.codes")} == before


def test_a_manifest_that_would_be_too_long_to_be_read_is_not_written(index, folder, monkeypatch):
    monkeypatch.setattr(manifest, "_LIMIT", (folder / manifest.FILE).stat().st_size + 50)
    with pytest.raises(Error, match="call compact"):
        index.remove(IDS[:100])
    assert index.codes_of(IDS) == CODES


def test_segments_that_were_replaced_are_removed(index, folder):
    index.replace(IDS, CODES)
    assert set(folder.rglob("*.codes")) == manifest._paths(folder, manifest.read_manifest(folder))


def test_compacting_leaves_one_segment_in_each_shard(index, monkeypatch):
    monkeypatch.setattr(shard, "taken_up", lambda _records, _n_new: [])
    index.remove(IDS[:10])
    index.add(IDS[:10], CODES[:10])
    index.compact()
    assert [len(state.segments) for state in index._current().shards] == [1, 1, 1]
    assert index.codes_of(IDS) == CODES
    before = index.version
    index.compact()
    assert index.version == before


@pytest.mark.usefixtures("index")
def test_a_second_writer_is_told_who_writes(folder):
    with pytest.raises(IndexBusyError, match="is being written to by process"):
        LocalIndex(folder, writable=True)


def test_a_writer_that_no_lock_kept_away_is_noticed(index, folder, monkeypatch):
    ask = index._actors.ask

    def meanwhile(questions, **options):
        answers = ask(questions, **options)
        state = manifest.read_manifest(folder)
        manifest.commit(folder, manifest.Manifest(state.version + 1, state.shards))
        return answers

    monkeypatch.setattr(index._actors, "ask", meanwhile)
    with pytest.raises(IndexBusyError, match="was changed by another process meanwhile"):
        index.remove(IDS[:1])


def test_a_sound_index_is_proven(index):
    found = index.verify()
    assert (found.sound, found.items, found.segments, found.version) == (True, 200, 3, 2)


@pytest.mark.parametrize("place", [0, 100, -20])
def test_a_flipped_bit_in_a_segment_is_an_error_that_names_the_shard(index, folder, place):
    index.close()
    path = next((folder / "shards" / "00001").rglob("*.codes"))
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.unlink()
    path.write_bytes(content)
    with LocalIndex(folder) as damaged:
        with pytest.raises(CorruptIndexError, match="00001 is damaged"):
            damaged.search(QUERIES, 1)
        assert "00001 is damaged" in damaged.verify().problems[0]


def test_a_segment_that_is_gone_is_an_error(index, folder):
    index.close()
    next((folder / "shards" / "00002").rglob("*.codes")).unlink()
    with LocalIndex(folder) as damaged, pytest.raises(CorruptIndexError, match="00002.*is not there"):
        damaged.search(QUERIES, 1)


def test_an_item_in_the_wrong_shard_is_found_by_verify(index, folder):
    state = index._current()
    swapped = manifest.Manifest(state.version + 1, (state.shards[1], state.shards[0], state.shards[2]))
    one, other = folder / "shards" / "00000", folder / "shards" / "00001"
    one.rename(folder / "aside")
    other.rename(one)
    (folder / "aside").rename(other)
    manifest.commit(folder, swapped)
    with LocalIndex(folder) as mixed:
        assert "where it does not belong" in mixed.verify().problems[0]


@pytest.mark.parametrize("change", [lambda text: text[:-9], lambda text: text.replace('"rows": 6', '"rows": 7', 1)])
def test_a_manifest_that_is_not_as_it_was_written_is_an_error(index, folder, change):
    index.close()
    path = folder / manifest.FILE
    assert change(path.read_text()) != path.read_text()
    path.write_text(change(path.read_text()))
    with pytest.raises(CorruptIndexError, match="shards.json is not as it was written"):
        LocalIndex(folder)


def test_items_without_a_manifest_are_damage_and_not_a_new_index(index, folder):
    index.close()
    (folder / manifest.FILE).unlink()
    with pytest.raises(CorruptIndexError, match="shards.json is gone"):
        LocalIndex(folder, bits=BITS, writable=True)


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bits": 7}, "have 6 bits, not 7"),
        ({"shards": 4}, "has 3 shards, not 4"),
        ({"replicas": 0}, "replicas=0 is outside"),
        ({"shards": -1}, "shards=-1 is outside"),
        ({"patience": 0.0}, "waits for nobody"),
    ],
)
def test_settings_that_do_not_fit_are_refused(folder, settings, words):
    with pytest.raises(UsageError, match=words):
        LocalIndex(folder, **settings)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("ray:", "names no folder"),
        ("ray://head:10001/codes", "names no folder"),
        ("ray:codes?shard=3", "did you mean 'shards'"),
        ("ray:codes?shards=three", "shards=three is no number"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(where, words):
    with pytest.raises(UsageError, match=words):
        open_index(where)


def test_an_index_that_is_not_there_is_refused_before_a_cluster_is_started(tmp_path):
    with pytest.raises(DataError, match="there is no index of shards in"):
        open_index(f"ray:{tmp_path}/nowhere")
    with pytest.raises(DataError, match="there is no index of shards in"):
        open_index(f"ray:{tmp_path}/nowhere", writable=True)


@pytest.mark.usefixtures("index")
def test_an_index_in_shards_is_not_taken_for_one_in_a_folder(folder):
    with pytest.raises(UsageError, match=f"open it as ray:{folder}"):
        open_index(folder, bits=BITS, writable=True)


def test_an_index_in_a_folder_is_not_made_into_shards(embedded):
    with pytest.raises(UsageError, match="is an index that is not in shards"):
        LocalIndex(embedded.folder, bits=BITS, writable=True)


@pytest.mark.usefixtures("index")
def test_who_reads_may_not_write_and_who_has_closed_may_not_read(folder):
    with LocalIndex(folder) as reader, pytest.raises(UsageError, match="open for reading"):
        reader.remove(IDS[:1])
    with pytest.raises(UsageError, match="is closed"):
        reader.search(QUERIES, 1)
