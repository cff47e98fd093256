"""The index in Milvus keeps the contract, on a server and in a file, whatever Milvus itself leaves open."""

import doctest
import itertools
import os
import re
import subprocess
import sys
import threading
from bisect import bisect_left
from pathlib import Path

import numpy as np
import pytest
from pymilvus import DataType, MilvusClient, MilvusException

from deepbinaries.codes import Codes
from deepbinaries.errors import CorruptIndexError, DataError, Error, IndexBusyError, MissingExtraError, UsageError
from deepbinaries.index import Index, check_index, open_index
from deepbinaries.index import milvus as engine
from deepbinaries.index.base import ServerLostError
from deepbinaries.index.milvus import MilvusIndex
from deepbinaries.index.milvus_server import Server, read_address

CODES = Codes.from_bits([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]])
IDS = ["e", "d", "c", "b", "a"]
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
NAMES = (f"index_{number}" for number in itertools.count())


@pytest.fixture
def uri(milvus):
    """The address of a collection that is not there yet."""
    return milvus.uri(next(NAMES))


@pytest.fixture
def index(uri):
    """An index with five items, open for writing."""
    with open_index(uri, bits=4, writable=True) as index:
        index.add(IDS, CODES)
        yield index


@pytest.fixture
def client(milvus):
    """Somebody else who uses the same server."""
    client = MilvusClient(f"http://127.0.0.1:{milvus.port}")
    yield client
    client.close()


def test_the_index_keeps_the_contract_on_a_server(milvus):
    check_index(lambda name, bits: open_index(milvus.uri(name.replace("-", "_")), bits=bits, writable=True))


@pytest.mark.usefixtures("milvus")
def test_the_index_keeps_the_contract_in_a_file(tmp_path):
    uri = f"milvus:{tmp_path / 'codes.db'}"
    with open_index(uri, bits=1, writable=True):  # which keeps the embedded Milvus running
        check_index(
            lambda name, bits: open_index(uri, bits=bits, writable=True, name=name.replace("-", "_")), lengths=[12]
        )


def test_the_examples_on_the_page_are_right(uri):
    text = PAGE.read_text().replace("milvus://me:secret@milvus.example.org:19530/photos", uri)
    section = text[text.index("## Search in Milvus") :].partition("\n## ")[0]
    examples = doctest.DocTestParser().get_doctest(section, {}, "scale.md", None, None)
    assert doctest.DocTestRunner().run(examples) == (0, 8)


def test_it_is_an_index_that_promises_no_order_of_ties(index):
    assert isinstance(index, Index)
    assert not index.stable_ties


@pytest.mark.usefixtures("milvus")
def test_a_file_holds_what_it_held_and_is_free_when_it_is_closed(tmp_path):
    uri = f"milvus:{tmp_path / 'codes.db'}"
    with open_index(uri, bits=4, writable=True) as index:
        index.add(IDS, CODES)
    command = [sys.executable, "-c", f"from deepbinaries.index import open_index; print(len(open_index({uri!r})))"]
    elsewhere = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (elsewhere.stdout, elsewhere.stderr) == ("5\n", "")


@pytest.mark.usefixtures("milvus")
def test_a_file_that_another_process_has_open_is_told_in_one_line(tmp_path):
    uri = f"milvus:{tmp_path / 'codes.db'}"
    with open_index(uri, bits=4, writable=True):
        command = [sys.executable, "-m", "deepbinaries", "status", "--index", uri]
        elsewhere = subprocess.run(command, capture_output=True, text=True, check=False)
    assert elsewhere.returncode != 0
    assert "see that no other process has it open" in elsewhere.stderr
    assert elsewhere.stderr.count("\n") == 1


@pytest.mark.usefixtures("milvus")
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path, capfd):
    (tmp_path / "letter.db").write_text("Dear Sir, " * 1000)
    with pytest.raises(IndexBusyError, match="letter.db cannot be opened"):
        open_index(f"milvus:{tmp_path / 'letter.db'}", bits=4, writable=True)
    assert (tmp_path / "letter.db").read_text() == "Dear Sir, " * 1000
    assert "Traceback" not in capfd.readouterr().err


HOSTILE = ("'; DROP TABLE items; --", '" or id != "', "\\", "{id}", "line\nbreak", "é" * 512)


@pytest.mark.parametrize("id_", HOSTILE, ids=range(len(HOSTILE)))
def test_what_looks_like_an_expression_is_an_id(index, id_):
    index.add([id_], CODES[4])
    assert index.search(CODES[4], k=9, among=[id_])[0] == [(id_, 0)]
    assert index.remove([id_]) == 1
    assert list(index.ids()) == sorted(IDS)


def test_an_id_that_is_too_long_is_refused(index):
    with pytest.raises(UsageError, match="1024"):
        index.replace(["x" * 1025], CODES[0])


def test_counts_are_exact_after_changes(index):
    for _ in range(3):
        index.replace(["a", "new"], CODES[:2])
    assert (len(index), index.remove(["a", "a", "nobody"]), len(index)) == (6, 1, 5)


def test_nothing_is_found_among_nothing(index):
    answer = index.search(CODES[:1], k=2, among=[])
    assert (answer.ids, answer.certificate.radius) == ([[]], (4,))
    assert index.range(CODES[:1], radius=2, among=["nobody"]).ids == [[]]


def test_what_was_added_is_found_by_another_at_once(index, uri):
    with open_index(uri) as reader:
        for number in range(5):
            index.add([f"new {number}"], CODES[4])
            assert len(reader.range(CODES[4], radius=0)[0]) == number + 2


@pytest.fixture
def few_at_once(monkeypatch):
    """Milvus gives only some items a call, as it does with the many of a large index."""
    monkeypatch.setattr(engine, "MOST", 20)
    monkeypatch.setattr(engine, "_SPARE", 1)
    monkeypatch.setattr(engine, "_SENT_TOGETHER", 7)


@pytest.mark.usefixtures("few_at_once")
def test_the_contract_is_kept_where_milvus_gives_few_items_a_call(milvus):
    make = f"few_{next(NAMES)}"
    check_index(lambda name, bits: open_index(milvus.uri(f"{make}_{name[6:]}"), bits=bits, writable=True), lengths=[3])


def test_more_ties_than_milvus_gives_in_one_call_are_counted_and_ordered(uri):
    n = engine.MOST + 1000
    ids = [f"{number:05}" for number in range(n)]
    with open_index(uri, bits=8, writable=True) as index:
        index.add(ids[::-1], Codes(np.zeros((n, 1), dtype=np.uint8), 8))
        answer = index.search(Codes.from_bits([[1, 0, 0, 0, 0, 0, 0, 0]]), k=3)
        everything = index.search(Codes.from_bits([[1, 0, 0, 0, 0, 0, 0, 0]]), k=n + 1)
    assert answer[0] == [("00000", 1), ("00001", 1), ("00002", 1)]
    assert answer.certificate.ties_left_out == (n - 3,)
    assert everything.ids == [ids]


class Ties(MilvusIndex):
    """Stands for an index of many items that all lie at distance 0; Milvus gives the first of them by key."""

    def __init__(self, n):
        self.keys = [f"{number:04x}" for number in range(n)]

    def _given(self, _codes, limit, where="", _radius=None):
        bounds = dict(re.findall(r'(<|>=) "(\w+)"', where))
        begin, end = (bisect_left(self.keys, bounds.get(*bound)) for bound in ((">=", ""), ("<", "g")))
        return [[(0, key) for key in self.keys[begin:end][:limit]]]


def test_however_many_ties_there_are_they_are_fetched_part_by_part(monkeypatch):
    monkeypatch.setattr(engine, "MOST", 4)
    many = Ties(4000)
    assert sorted(many._within(CODES[:1], 0)) == [(0, key) for key in many.keys]


def test_a_collection_that_is_not_there_is_refused_and_not_made(milvus, client):
    with pytest.raises(DataError, match="there is no collection 'nothing' of Milvus at 127.0.0.1"):
        open_index(milvus.uri("nothing"))
    assert not client.has_collection("nothing")


def test_a_file_that_is_not_there_is_refused_and_not_made(tmp_path):
    with pytest.raises(DataError, match="there is no collection 'deepbinaries' in"):
        open_index(f"milvus:{tmp_path / 'codes.db'}")
    assert list(tmp_path.iterdir()) == []


def test_codes_of_another_width_are_refused(index, uri):
    with pytest.raises(UsageError, match="have 4 bits, not 8"):
        open_index(uri, bits=index.bits + 4, writable=True)


def make_collection(client, name, metric, description=""):
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False, description=description)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=100)
    schema.add_field("code", DataType.BINARY_VECTOR, dim=8)
    params = MilvusClient.prepare_index_params()
    params.add_index("code", index_type="BIN_FLAT", index_name="code", metric_type=metric)
    client.create_collection(name, schema=schema, index_params=params)


def test_a_collection_of_somebody_else_is_left_alone(milvus, client):
    make_collection(client, "theirs", "HAMMING")
    with pytest.raises(UsageError, match="is of somebody else and no index"):
        open_index(milvus.uri("theirs"), bits=8, writable=True)


def test_a_collection_from_the_future_is_refused(milvus, client):
    make_collection(client, "future", "HAMMING", '{"deepbinaries": 2, "bits": 8}')
    with pytest.raises(DataError, match="has format 2, this release reads 1"):
        open_index(milvus.uri("future"))


def test_an_index_that_does_not_compare_all_codes_by_their_bits_is_refused(milvus, client):
    make_collection(client, "jaccard", "JACCARD", '{"deepbinaries": 1, "bits": 8}')
    with pytest.raises(UsageError, match=r"has the index BIN_FLAT \(JACCARD\), with which answers are not exact"):
        open_index(milvus.uri("jaccard"))


def test_a_collection_that_was_released_is_loaded_again(index, client, uri):
    client.release_collection(index.name)
    with open_index(uri) as reader:
        assert reader.search(CODES[:1], k=1).ids == [["e"]]


def test_an_index_whose_making_was_cut_short_is_made_whole(uri, client):
    with open_index(uri, bits=4, writable=True) as index:
        client.release_collection(index.name)
        client.drop_index(index.name, "code")
    with pytest.raises(UsageError, match="has the index None"):
        open_index(uri)
    with open_index(uri, bits=4, writable=True) as index:
        index.add(IDS, CODES)
        assert index.search(CODES[:1], k=1).ids == [["e"]]


def test_a_sound_index_is_found_sound(index):
    assert (index.verify().problems, index.verify().items) == ((), 5)


@pytest.mark.parametrize(
    "key",
    ["photo", "ff", "6F", "6 f"],
)
def test_items_that_others_put_in_are_an_error_and_never_an_answer(index, client, key):
    client.insert(index.name, [{"id": key, "code": b"\0"}])
    assert f"{key!r} is the key of no item" in index.verify().problems[0]
    with pytest.raises(CorruptIndexError, match="is the key of no item"):
        index.search(CODES, k=9)


def test_a_code_with_bits_beyond_its_end_is_found(index, client):
    client.upsert(index.name, [{"id": "61", "code": b"\xff"}])
    assert len(index.verify().problems) == 1


ADDRESSES = {
    "nobody listens": "milvus://me:s3cr3t@127.0.0.1:1/photos",
    "an @ in the password": "milvus://me:s3@cr3t@127.0.0.1:1/photos",
    "a / in the password": "milvus://me:s3cr/3t@127.0.0.1:1/photos",
    "a / after a number": "milvus://me:12/s3cr3t@127.0.0.1:1/photos",
    "a # in the password": "milvus://me:12#s3cr3t@127.0.0.1:1/photos",
    "a % in the password": "milvus://me:%s3cr3t@127.0.0.1:1/photos",
    "no //": "milvus:me:s3cr3t@127.0.0.1:1",
    "one /": "milvus:/me:s3cr3t@127.0.0.1:1/photos",
    "an unknown parameter": "milvus://me:s3cr3t@127.0.0.1:1/photos?table=s3cr3t",
}


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
def test_a_server_that_is_not_reached_is_one_line_without_the_password(address, capfd):
    with pytest.raises(Error, match="cannot be re") as refused:
        open_index(address)
    assert not re.search("s3|3t", str(refused.value))
    assert "\n" not in str(refused.value)
    assert capfd.readouterr().err == ""


def test_an_open_index_does_not_show_its_password(milvus, index):
    with open_index(milvus.uri(index.name, user="me:s3cr3t@")) as same:
        assert "s3cr3t" not in repr(same)


@pytest.mark.parametrize("address", ["milvus:codes", "milvus:", "milvus:" + "n" * 34 + ".db", "milvus:a b.db"])
def test_a_file_that_milvus_would_not_take_is_refused(address):
    with pytest.raises(UsageError, match="cannot be a file of the embedded Milvus"):
        open_index(address)


@pytest.mark.parametrize("name", ["1st", "a-b", "n" * 256, 'x"'])
def test_a_name_that_no_collection_can_have_is_refused(name):
    with pytest.raises(UsageError, match="a collection cannot be called"):
        open_index("milvus://localhost", name=name)


def test_the_folder_of_a_file_must_be_there(tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        open_index(f"milvus:{tmp_path / 'nowhere' / 'codes.db'}", bits=4, writable=True)


def test_where_the_embedded_milvus_is_missing_its_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "milvus_lite.server_manager", None)
    with pytest.raises(MissingExtraError, match=r"install deepbinaries\[milvus-lite\]"):
        open_index(f"milvus:{tmp_path / 'codes.db'}", bits=4, writable=True)


def test_what_was_acknowledged_survives_a_kill_and_a_server_that_comes_back_is_waited_for(milvus, index):
    milvus.kill()
    coming = threading.Timer(0.3, milvus.start)
    coming.start()
    assert index.search(CODES[:1], k=2)[0] == [("e", 0), ("b", 1)]
    coming.join()


def starting(left):
    """A call that the embedded Milvus answers as it does while it is not all there, so many times."""
    said = iter(['Assert "init_flag_ == true" => Mmap manager has not been init. : segcore error'] * left)

    def call(_client):
        for message in said:
            raise MilvusException(code=2000, message=message)
        return "done"

    return call


@pytest.mark.parametrize("place", ["server", "file"])
def test_a_milvus_that_listens_but_is_still_starting_is_waited_for(milvus, tmp_path, place):
    address = milvus.uri() if place == "server" else f"milvus:{tmp_path / 'codes.db'}"
    server = Server(read_address(address, None), patience=20)
    assert server.run(starting(2)) == "done"
    server.close()


def test_a_milvus_that_never_finishes_starting_is_told(milvus):
    server = Server(read_address(milvus.uri(), None), patience=1)
    with pytest.raises(ServerLostError, match="still starting .*; try again in a moment"):
        server.run(starting(1000))
    server.close()


@pytest.mark.usefixtures("index")
def test_a_server_that_stays_away_is_told(milvus, uri):
    with MilvusIndex(uri, patience=0.1) as hasty:
        milvus.kill()
        with pytest.raises(ServerLostError, match="cannot be reached"):
            hasty.search(CODES[:1], k=1)
        milvus.start()


@pytest.mark.usefixtures("index")
def test_an_index_that_is_open_for_reading_changes_nothing(uri):
    with open_index(uri) as reader:
        for change in (lambda: reader.add(["f"], CODES[0]), lambda: reader.remove(["a"])):
            with pytest.raises(UsageError, match="is open for reading"):
                change()


def test_a_collection_that_somebody_drops_is_told_in_one_line(index, client):
    client.drop_collection(index.name)
    with pytest.raises(Error, match=f"the collection '{index.name}' of Milvus at .* refuses") as refused:
        index.search(CODES, k=1)
    assert "\n" not in str(refused.value)


def test_codes_of_no_bits_are_refused():
    with pytest.raises(UsageError, match="bits=0 is outside"):
        open_index("milvus://localhost", bits=0, writable=True)


def test_one_text_is_not_taken_for_many_ids(index):
    with pytest.raises(UsageError, match="'abc' is one text"):
        index.remove("abc")


def test_a_closed_index_says_so(index):
    index.close()
    with pytest.raises(UsageError, match="is closed"):
        index.search(CODES, k=1)


def test_an_index_is_not_taken_along_into_a_fork(index, monkeypatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "getpid", lambda: -1)
        with pytest.raises(UsageError, match="forked off"):
            index.search(CODES, k=1)
        index.close()  # leaves the connection to whoever made it
    assert len(index) == 5


def test_threads_share_an_index(index):
    found = []
    threads = [threading.Thread(target=lambda: found.append(index.search(CODES, k=1).ids)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[["e"], ["d"], ["c"], ["b"], ["a"]]] * 4
