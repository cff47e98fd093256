"""The index in a PostgreSQL database keeps the contract, whatever else is in that database."""

import doctest
import itertools
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import numpy as np
import psycopg
import pytest

from deepbinaries.codes import Codes
from deepbinaries.errors import CorruptIndexError, DataError, Error, IndexBusyError, UsageError
from deepbinaries.index import Index, check_index, open_index
from deepbinaries.index.postgres import PostgresIndex

CODES = Codes.from_bits([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]])
IDS = ["e", "d", "c", "b", "a"]
PAGE = Path(__file__).parents[2] / "docs" / "postgres.md"
NAMES = (f"index {number}" for number in itertools.count())


@pytest.fixture
def name(postgres):
    """The name of an index that is not there yet."""
    name = next(NAMES)
    yield name
    postgres.execute("DROP SCHEMA IF EXISTS {} CASCADE", name)


@pytest.fixture
def index(postgres, name):
    """An index with five items, open for writing."""
    with PostgresIndex(postgres.uri(), bits=4, writable=True, name=name) as index:
        index.add(IDS, CODES)
        yield index


@pytest.fixture
def ordinary(postgres):
    """A user of the server who may read and no more."""
    postgres.execute("CREATE ROLE ordinary LOGIN")
    yield "ordinary"
    postgres.execute("DROP OWNED BY ordinary; DROP ROLE ordinary")


def test_the_index_keeps_the_contract(postgres):
    check_index(lambda name, bits: open_index(postgres.uri(), bits=bits, writable=True, name=name))


def test_the_examples_on_the_page_are_right(postgres, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text().replace("postgresql://me:secret@db.example.org/photos", postgres.uri())
    examples = doctest.DocTestParser().get_doctest(text, {}, "postgres.md", None, None)
    assert doctest.DocTestRunner().run(examples) == (0, 15)
    postgres.execute("DROP SCHEMA deepbinaries CASCADE")


def test_it_is_an_index(index):
    assert isinstance(index, Index)


def test_ids_are_ordered_as_bytes_whatever_the_language_of_the_database(postgres, index):
    assert postgres.execute("SELECT DISTINCT pg_collation_for(id) FROM {}.items", index.name) == [('"C"',)]


def test_a_code_reads_in_sql_as_its_bits_do(postgres, index):
    assert postgres.execute("SELECT code::text FROM {}.items WHERE id = 'd'", index.name) == [("0001",)]


@pytest.fixture
def with_hnsw(postgres, index):
    postgres.execute("CREATE INDEX ON {}.items USING hnsw (code bit_hamming_ops)", index.name)
    return index


def plan(postgres, statement, **values):
    with psycopg.connect(postgres.uri()) as connection:
        connection.execute("SET enable_seqscan = off")  # whatever index can serve is taken
        rows = connection.execute(psycopg.sql.SQL("EXPLAIN ") + statement, {"query": "0011", "k": 2, **values})
        return "\n".join(line for (line,) in rows)


def test_an_approximate_index_in_the_database_is_never_used(postgres, with_hnsw):
    for statement in ("nearest", "within", "count_at"):
        text = getattr(with_hnsw._statements, statement)(among=False)
        assert "_code_idx" not in plan(postgres, text, radius=1)


def test_an_approximate_index_would_be_used_without_the_cast(postgres, with_hnsw):
    bare = psycopg.sql.SQL("SELECT id FROM {}.items ORDER BY code <~> %(query)s::bit(4), id LIMIT %(k)s")
    assert "_code_idx" in plan(postgres, bare.format(psycopg.sql.Identifier(with_hnsw.name)))


PARTITIONED = """
BEGIN;
LOCK TABLE {0}.items;
ALTER TABLE {0}.items RENAME TO items_before;
CREATE TABLE {0}.items (id text COLLATE "C" PRIMARY KEY, code bit(4) NOT NULL) PARTITION BY HASH (id);
CREATE TABLE {0}.items_0 PARTITION OF {0}.items FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE {0}.items_1 PARTITION OF {0}.items FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO {0}.items SELECT id, code FROM {0}.items_before;
DROP TABLE {0}.items_before;
COMMIT
"""


@pytest.fixture
def partitioned(postgres, index):
    """The index whose items were spread over two tables by hand, as the page shows it."""
    postgres.execute(PARTITIONED, index.name)
    return index


def test_a_partitioned_table_is_searched_as_a_whole(postgres, partitioned):
    sizes = [
        postgres.execute(f"SELECT count(*) FROM {{}}.items_{part}", partitioned.name)[0][0]  # noqa: S608
        for part in (0, 1)
    ]
    answer = partitioned.search(CODES[:1], k=2)
    assert 0 < min(sizes) < sum(sizes) == 5
    assert answer[0] == [("e", 0), ("b", 1)]
    assert (answer.certificate.radius, answer.certificate.ties_left_out) == ((1,), (1,))
    assert list(partitioned.ids()) == sorted(IDS)


def test_a_partitioned_table_is_written_verified_and_compacted(partitioned):
    partitioned.replace(["a", "new"], CODES[:2])
    assert partitioned.remove(["b"]) == 1
    partitioned.compact()
    findings = partitioned.verify()
    assert (findings.problems, findings.items) == ((), 5)
    assert findings.n_bytes > 0


def test_the_certificate_counts_ties_at_the_edge(index):
    answer = index.search(Codes.from_bits([[0, 0, 0, 0]]), k=2)
    assert answer[0] == [("e", 0), ("b", 1)]
    assert (answer.certificate.radius, answer.certificate.ties_left_out) == ((1,), (1,))
    assert (answer.certificate.exact, answer.certificate.rows_scanned) == (True, 5)


def test_every_change_makes_one_version_and_a_removal_of_nothing_none(index):
    before = index.version
    index.replace(["a"], CODES[:1])
    assert index.remove(["nobody"]) == 0
    assert index.version == before + 1


def test_facts_are_kept_with_the_index(postgres, index):
    index.describe({"model": "coco-64", "digest": "3f1c"})
    with PostgresIndex(postgres.uri(), name=index.name) as reader:
        assert reader.facts == {"model": "coco-64", "digest": "3f1c"}


@pytest.mark.parametrize("fact", [b"bytes", float("nan")])
def test_facts_that_are_no_json_are_refused(index, fact):
    with pytest.raises(UsageError, match="are no JSON"):
        index.describe({"model": fact})


def test_an_index_is_not_taken_along_into_a_fork(index, monkeypatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "getpid", lambda: -1)
        with pytest.raises(UsageError, match="forked off"):
            index.search(CODES, k=1)
        index.close()  # leaves the connections to whoever made them
    assert len(index) == 5


def test_what_looks_like_sql_is_an_id(index):
    evil = "'); DROP TABLE items; --%s{}"
    index.add([evil], CODES[4])
    assert index.search(CODES[4], k=9, among=[evil])[0] == [(evil, 0)]


def test_a_name_that_looks_like_sql_is_a_name(postgres):
    evil = 'x"; DROP SCHEMA public; --'
    with PostgresIndex(postgres.uri(), bits=4, writable=True, name=evil) as index:
        index.add(IDS, CODES)
        assert len(index) == 5


def test_an_answer_comes_from_one_version_while_a_writer_changes_everything(postgres, name):
    both = [Codes.from_bits(np.full((50, 4), bit)) for bit in (0, 1)]
    ids = [f"item {number}" for number in range(50)]
    done = threading.Event()

    def write():
        with PostgresIndex(postgres.uri(), writable=True, name=name) as writer:
            for codes in both * 15:
                writer.replace(ids, codes)
        done.set()

    with PostgresIndex(postgres.uri(), bits=4, writable=True, name=name) as index:
        index.add(ids, both[1])
        first = index.version
        thread = threading.Thread(target=write)
        thread.start()
        seen = set()
        while not done.is_set():
            answer = index.search(both[0][[0, 0]], k=60)
            distances = {distance for of_query in answer.distances for distance in of_query}
            # Replaced by zeros in versions first + 1, + 3, ...
            assert distances == ({0} if (answer.certificate.version - first) % 2 else {4})
            assert list(map(len, answer)) == [50, 50]
            seen.add(answer.certificate.version)
        thread.join()
    assert len(seen) > 2


def test_ids_come_from_one_version_while_they_are_read(index):
    reading = index.ids()
    first = next(reading)
    index.remove(IDS)
    assert [first, *reading] == sorted(IDS)


def test_threads_share_an_index(index):
    found = []
    threads = [threading.Thread(target=lambda: found.append(index.search(CODES, k=1).ids)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[["e"], ["d"], ["c"], ["b"], ["a"]]] * 4


def test_changes_of_two_writers_take_turns(postgres, index):
    with PostgresIndex(postgres.uri(), writable=True, name=index.name) as other:
        other.add(["f"], CODES[0])
        index.add(["g"], CODES[0])
        assert len(index) == len(other) == 7
        assert index.verify().sound


@pytest.mark.parametrize("isolation", ["repeatable\\ read", "serializable"])
def test_changes_take_turns_whatever_isolation_is_the_default(postgres, name, isolation):
    address = postgres.uri(options=quote(f"-c default_transaction_isolation={isolation}"))
    start = threading.Barrier(3)

    def change(number):
        start.wait()
        with PostgresIndex(address, bits=4, writable=True, name=name) as index:
            for turn in range(10):
                index.replace([f"{number}-{turn}"], CODES[0])

    with ThreadPoolExecutor() as pool:
        for changes in [pool.submit(change, number) for number in range(3)]:
            changes.result()
    with PostgresIndex(address, name=name) as index:
        assert (len(index), index.verify().problems) == (30, ())


def test_a_change_that_takes_too_long_keeps_others_busy(postgres, index):
    with (
        psycopg.connect(postgres.uri()) as slow,
        PostgresIndex(postgres.uri(), writable=True, name=index.name, patience=0.05) as hasty,
    ):
        slow.execute(index._statements.lock)
        with pytest.raises(IndexBusyError, match="takes long"):
            hasty.remove(["a"])


def test_two_that_make_an_index_at_once_make_one(postgres, name):
    start, opened = threading.Barrier(4), []

    def make():
        start.wait()
        opened.append(PostgresIndex(postgres.uri(), bits=4, writable=True, name=name))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index in opened:
        index.close()
    assert len(opened) == 4


def test_compacting_changes_no_answer(index):
    index.remove(["a", "b"])
    index.compact()
    assert index.search(CODES[:1], k=9).ids == [["e", "d", "c"]]


def test_a_sound_index_is_found_sound(index):
    index.replace(["a", "new"], CODES[:2])
    index.remove(["b"])
    findings = index.verify()
    assert (findings.problems, findings.items, findings.version) == ((), 5, index.version)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE {}.items SET code = ~code WHERE id = 'a'", "not by this package"),
        ("DELETE FROM {}.items WHERE id = 'a'", "counts 5 items, the table has 4"),
        ('ALTER TABLE {}.items ALTER id TYPE text COLLATE "POSIX"', "ids are in the order 'POSIX'"),
    ],
)
def test_what_others_did_to_the_items_is_found(postgres, index, damage, problem):
    postgres.execute(damage, index.name)
    assert [problem in found for found in index.verify().problems] == [True]


def test_a_flipped_bit_on_the_disk_is_an_error_and_never_an_answer(postgres, index):
    ((path,),) = postgres.execute("SELECT pg_relation_filepath(tableoid) FROM {}.items LIMIT 1", index.name)
    postgres.stop()
    with (postgres.folder / "data" / path).open("r+b") as file:
        file.seek(-20, os.SEEK_END)
        byte = file.read(1)[0]
        file.seek(-20, os.SEEK_END)
        file.write(bytes([byte ^ 1]))
    postgres.start()
    with pytest.raises(CorruptIndexError, match="is damaged"):
        index.search(CODES, k=1)
    assert "is damaged" in index.verify().problems[0]


def test_an_index_that_is_not_there_is_refused(postgres):
    with pytest.raises(DataError, match="there is no index 'nothing' in the database 'postgres'"):
        PostgresIndex(postgres.uri(), name="nothing")


def test_an_index_of_other_bits_is_refused(postgres, index):
    with pytest.raises(UsageError, match="have 4 bits, not 8"):
        PostgresIndex(postgres.uri(), bits=8, writable=True, name=index.name)


def test_tables_of_somebody_else_are_left_alone(postgres, name):
    postgres.execute("CREATE SCHEMA {} CREATE TABLE items (id integer)", name)
    with pytest.raises(UsageError, match="holds other tables and is no index"):
        PostgresIndex(postgres.uri(), bits=4, writable=True, name=name)


def test_a_format_from_the_future_is_refused(postgres, index):
    postgres.execute("UPDATE {}.catalogue SET format = 2", index.name)
    with pytest.raises(DataError, match="has format 2, this release reads 1"):
        PostgresIndex(postgres.uri(), name=index.name)


def test_a_database_of_another_encoding_is_refused(postgres):
    postgres.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(UsageError, match="has the encoding LATIN1"):
        PostgresIndex(postgres.uri("latin"), bits=4, writable=True)


def test_a_missing_extension_is_named(postgres, ordinary):
    postgres.execute("CREATE DATABASE bare OWNER {}", ordinary)
    with pytest.raises(DataError, match="needs the extension pgvector; .* CREATE EXTENSION vector"):
        PostgresIndex(postgres.uri("bare", user=ordinary), bits=4, writable=True)
    postgres.execute("DROP DATABASE bare")


def test_a_reader_needs_no_more_than_the_right_to_read(postgres, index, ordinary):
    postgres.execute("GRANT USAGE ON SCHEMA {} TO {}", index.name, ordinary)
    postgres.execute("GRANT SELECT ON {}.items, {}.catalogue TO {}", index.name, index.name, ordinary)
    with PostgresIndex(postgres.uri(user=ordinary), name=index.name) as reader:
        assert reader.search(CODES[:1], k=1).ids == [["e"]]
    with (
        PostgresIndex(postgres.uri(user=ordinary), name=index.name, writable=True) as writer,
        pytest.raises(Error, match="permission denied .* GRANT"),
    ):
        writer.remove(["a"])


def test_who_may_not_compact_is_told(postgres, index, ordinary):
    postgres.execute("GRANT USAGE ON SCHEMA {} TO {}", index.name, ordinary)
    postgres.execute("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO {}", index.name, ordinary)
    with (
        PostgresIndex(postgres.uri(user=ordinary), name=index.name, writable=True) as index,
        pytest.raises(Error, match="was not compacted"),
    ):
        index.compact()


def test_an_index_that_is_open_for_reading_changes_nothing(postgres, index):
    with (
        PostgresIndex(postgres.uri(), name=index.name) as reader,
        pytest.raises(UsageError, match="is open for reading"),
    ):
        reader.add(["f"], CODES[0])


def test_a_closed_index_says_so(index):
    index.close()
    with pytest.raises(UsageError, match="is closed"):
        index.search(CODES, k=1)


def test_a_closed_writer_leaves_no_trace_of_itself(postgres, index):
    index.close()
    assert postgres.execute("SELECT count(*) FROM {}.writers", index.name) == [(0,)]


@pytest.mark.parametrize("name", ["", "pg_mine", "n" * 64, "a\0b", "\ud800"])
def test_a_name_that_no_schema_can_have_is_refused(name):
    with pytest.raises(UsageError, match="cannot be called"):
        PostgresIndex("postgresql://localhost/photos", name=name)


ADDRESSES = {
    "nobody listens": "postgresql://me:s3cr3t@127.0.0.1:1/photos",
    "an @ in the password": "postgresql://me:s3@cr3t@127.0.0.1:1/photos",
    "a / in the password": "postgresql://me:s3cr/3t@127.0.0.1:1/photos",
    "a % in the password": "postgresql://me:%s3cr3t@127.0.0.1:1/photos",
    "an unknown parameter": "postgresql://me:s3cr3t@127.0.0.1:1/photos?table=s3cr3t",
}


@pytest.mark.parametrize("uri", ADDRESSES.values(), ids=ADDRESSES)
def test_a_server_that_is_not_reached_is_one_line_without_the_password(uri):
    with pytest.raises(Error, match="cannot be re") as refused:
        open_index(uri)
    assert not re.search("s3|3t", str(refused.value))
    assert "\n" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_a_wrong_password_is_not_repeated(postgres, index):
    with pytest.raises(Error, match="cannot be reached") as refused:
        PostgresIndex(postgres.uri("nowhere", password="s3cr3t"), name=index.name)  # noqa: S106
    assert "s3cr3t" not in str(refused.value)


def test_an_open_index_does_not_show_its_password(postgres, index):
    with PostgresIndex(postgres.uri(password="s3cr3t"), name=index.name) as same:  # noqa: S106
        assert "s3cr3t" not in repr(same)
