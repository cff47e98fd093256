"""Servers that are killed and connections that break: nothing acknowledged is lost, and nothing is done twice."""

import contextlib
import os
import random
import select
import shutil
import signal
import socket
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from psycopg import sql

from deepbinaries.codes import Codes
from deepbinaries.errors import Error, UsageError
from deepbinaries.index.postgres import PostgresIndex

BITS = 64
SOCKET = ".s.PGSQL.5432"


def codes_for(ids: list[str]) -> Codes:
    """A code for each id that follows from it."""
    return Codes(np.array([list(id_.encode().ljust(8, b"-")[:8]) for id_ in ids], dtype=np.uint8), BITS)


def batch(number: int, size: int) -> list[str]:
    return [f"{place:04x}{number:04x}" for place in range(size)]


@pytest.fixture
def index(postgres):
    with PostgresIndex(postgres.uri(), bits=BITS, writable=True, name="crashes") as index:
        yield index
    postgres.execute("DROP SCHEMA crashes CASCADE")


def test_an_add_whose_server_process_is_killed_is_done_once(postgres, index):
    ids = batch(0, 40_000)
    running = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'COPY%' OR query LIKE 'WITH new%'"
    with ThreadPoolExecutor() as pool:
        adding = pool.submit(index.add, ids, codes_for(ids))
        while not (found := postgres.execute(running)) and not adding.done():
            time.sleep(0.001)
        assert not adding.done(), "the add was over before it could be disturbed"
        os.kill(found[0][0], signal.SIGKILL)  # the server restarts all of its processes
        adding.result()
    assert (len(index), index.version, index.verify().problems) == (len(ids), 2, ())


def test_nothing_acknowledged_is_lost_when_the_server_is_killed_again_and_again(postgres, index):
    rng, acknowledged, over = random.Random(0), [], threading.Event()

    def add_batches():
        for number in range(10_000):
            if over.is_set():
                return
            ids = batch(number, 20)
            index.add(ids, codes_for(ids))
            acknowledged.append(number)

    with ThreadPoolExecutor() as pool:
        adding = pool.submit(add_batches)
        for _ in range(5):
            time.sleep(rng.uniform(0.05, 0.3))
            postgres.kill()
            postgres.start()
        over.set()
        adding.result()
    ids = [id_ for number in acknowledged for id_ in batch(number, 20)]
    assert len(acknowledged) > 5
    assert sorted(ids) == list(index.ids())
    assert index.codes_of(ids) == codes_for(ids)
    assert (index.version, index.verify().problems) == (len(acknowledged) + 1, ())


def test_an_add_to_a_server_that_stays_away_is_there_wholly_or_not_at_all(postgres, index):
    ids = batch(0, 20_000)
    with (
        PostgresIndex(postgres.uri(), writable=True, name="crashes", patience=0.1) as hasty,
        ThreadPoolExecutor() as pool,
    ):
        adding = pool.submit(hasty.add, ids, codes_for(ids))
        time.sleep(0.05)
        postgres.kill()
        with pytest.raises(Error, match="cannot be reached .*; .* wholly or not at all"):
            adding.result()
        postgres.start()
        assert len(index) in (0, len(ids))
        hasty.replace(ids, codes_for(ids))  # safe to repeat
    assert (len(index), index.verify().problems) == (len(ids), ())


class Wire:
    """A way to a server that breaks at the next commit: before it arrives, or on the way back of its answer."""

    def __init__(self, server: Path):
        self.server = server
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self.breaks: str | None = None
        self.broken = 0
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(self.folder / SOCKET))
        self._door.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        shutil.rmtree(self.folder)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._door.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, contextlib.suppress(OSError):
            server.connect(str(self.server / SOCKET))
            while True:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    # A statement and the tag of an answer end with NUL; "ON COMMIT DROP" is part of a statement.
                    if b"COMMIT\0" in data and self.breaks == ("before" if source is client else "after"):
                        self.breaks, self.broken = None, self.broken + 1
                        return
                    (server if source is client else client).sendall(data)


@pytest.fixture
def wire(postgres):
    wire = Wire(postgres.folder)
    yield wire
    wire.close()


@pytest.fixture
def through_wire(postgres, index, wire):
    ids = ["a", "b", "c"]
    index.add(ids, codes_for(ids))
    with PostgresIndex(postgres.uri(host=str(wire.folder)), writable=True, name="crashes") as far:
        yield far


@pytest.mark.parametrize("breaks", ["before", "after"])
def test_an_add_whose_connection_breaks_at_the_commit_is_done_once(index, wire, through_wire, breaks):
    wire.breaks = breaks
    through_wire.add(["d"], codes_for(["d"]))
    assert (wire.broken, list(index.ids()), index.version) == (1, ["a", "b", "c", "d"], 3)


@pytest.mark.parametrize("breaks", ["before", "after"])
def test_a_removal_whose_connection_breaks_at_the_commit_still_says_what_was_there(wire, through_wire, breaks):
    wire.breaks = breaks
    assert through_wire.remove(["a", "b", "nobody"]) == 2
    assert wire.broken == 1


def test_without_a_note_of_the_last_change_an_add_would_be_done_twice(wire, through_wire):
    through_wire._statements.done = sql.SQL("SELECT 0 WHERE %s::uuid IS NULL AND %s = 0")
    wire.breaks = "after"
    with pytest.raises(UsageError, match="'d' is in .* already"):
        through_wire.add(["d"], codes_for(["d"]))


def test_a_search_survives_a_restart_of_the_server(postgres, through_wire):
    before = through_wire.search(codes_for(["a"]), k=2)
    postgres.kill()
    postgres.start()
    assert through_wire.search(codes_for(["a"]), k=2).ids == before.ids


def test_a_database_that_acknowledges_before_it_writes_is_made_to_write_first(postgres, index):
    hurried = postgres.uri(options="-csynchronous_commit%3Doff")
    with PostgresIndex(hurried, writable=True, name="crashes") as writer:
        for number in range(3):
            ids = batch(number, 1)
            writer.add(ids, codes_for(ids))
        postgres.kill()
        postgres.start()
        assert len(index) == 3
