"""`PostgresIndex`: codes in a PostgreSQL database with pgvector, beside the other data of an application.

An index is a schema of the database (tables and statements: `deepbinaries.index.postgres_statements`). A change is
one transaction, and changes take turns; an answer is one read-only transaction, which sees one version however many
changes go on meanwhile. When the connection breaks during a change, the index looks up whether it was committed and
repeats it only if it was not.
"""

import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self, TypeVar

from psycopg.errors import Diagnostic
from psycopg.types.json import Jsonb

from deepbinaries.codes import MAX_BITS, Codes
from deepbinaries.errors import CorruptIndexError, DataError, Error, UsageError
from deepbinaries.index.base import Answer, Found, answer
from deepbinaries.index.ids import Ids
from deepbinaries.index.opened import may_read, may_write
from deepbinaries.index.postgres_schema import State, checked_name, make_schema, opened_statements, read_state
from deepbinaries.index.postgres_server import Connection, Cursor, Server
from deepbinaries.index.postgres_statements import IN_TURN, ONE_VERSION, SETTINGS, as_texts, copied_rows, from_stored
from deepbinaries.index.postgres_verifying import verified
from deepbinaries.index.verifying import Findings

T = TypeVar("T")
Find = Callable[[Connection, dict[str, Any], int], tuple[Found, int]]  # query and n to what it found, and how far

_MOST = 2**62  # neighbours that can be asked for: what LIMIT takes
_AT_ONCE = 10_000  # ids that are fetched together


class Changed(NamedTuple):
    """What a change did to the items."""

    affected: int
    items: int = 0  # more than before
    digest: int = 0  # to be added to the catalogue's


class PostgresIndex:
    """An index in a PostgreSQL database. Any number of processes and threads may read and write at once."""

    def __init__(
        self,
        where: str,
        *,
        bits: int | None = None,
        writable: bool = False,
        name: str = "deepbinaries",
        patience: float = 30.0,
    ):
        """Open the index of a name, which is its schema; with `bits` and `writable`, it is made where there is none.

        `patience` is how many seconds to wait for a server that went away, and for the changes of others.
        """
        if bits is not None and not 1 <= bits <= MAX_BITS:
            raise UsageError(f"bits={bits} is outside 1..{MAX_BITS}", next_step="64 is a good start")
        self.name = checked_name(name)
        self._server = Server(str(where), patience=patience)
        self._writable, self._closed, self._process = writable, False, os.getpid()
        self._changing = threading.RLock()
        self._writer, self._changes = uuid.uuid4(), 0
        try:
            with self._server.borrowed() as connection:
                if writable and bits is not None:
                    make_schema(connection, self._place, name, bits)
                self._statements = opened_statements(connection, self._place, name)
                self._bits = read_state(connection, self._statements).bits
            if bits is not None and bits != self._bits:
                raise UsageError(
                    f"the codes in {self._place} have {self._bits} bits, not {bits}",
                    next_step="open it without bits, or make another index",
                )
        except BaseException:
            self._server.close()
            raise

    def add(self, ids: Sequence[str], codes: Codes) -> None:
        """Add new items. When this returns they are committed; an id that is there is refused."""
        self._put(ids, codes, replacing=False)

    def replace(self, ids: Sequence[str], codes: Codes) -> None:
        """Give items these codes, whether they are there already or not: safe to repeat."""
        self._put(ids, codes, replacing=True)

    def remove(self, ids: Sequence[str]) -> int:
        """Remove items and say how many of them were there; the others are no error."""
        wanted = _distinct(_several(ids))

        def apply(connection: Connection) -> Changed:
            count, digest = _row(connection.execute(self._statements.remove, [wanted]))
            return Changed(affected=count, items=-count, digest=-digest)

        return self._change(apply)

    def describe(self, facts: Mapping[str, Any]) -> None:
        """Keep facts in the catalogue, such as the model that made the codes, in place of those before."""
        try:
            json.dumps(dict(facts), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(f"these facts are no JSON ({error})", next_step="give texts, numbers and lists") from None

        def apply(connection: Connection) -> Changed:
            connection.execute(self._statements.describe, [Jsonb(dict(facts))])
            return Changed(affected=1)

        self._change(apply)

    def compact(self) -> None:
        """Make the room of removed items free for new ones, and tell the planner what there is (VACUUM).

        The server does so by itself from time to time; others can read and write meanwhile.
        """
        self._may_write()

        def work(connection: Connection) -> None:
            warnings: list[str] = []  # whoever may not do it is only warned

            def note(said: Diagnostic) -> None:
                warnings.append(said.message_primary or "")

            connection.add_notice_handler(note)
            try:
                connection.execute(self._statements.vacuum)
            finally:
                connection.remove_notice_handler(note)
            if warnings:
                raise Error(f"{self._place} was not compacted ({warnings[0]})", next_step="have its owner do it")

        self._server.run(work)

    def search(self, codes: Codes, k: int, *, among: Sequence[str] | None = None, with_ties: bool = False) -> Answer:
        """The k nearest items of each code, exact, in (distance, id) order.

        `among` restricts the search to some ids. `with_ties` gives all items at the last distance, so more than k.
        """
        if k < 1:
            raise UsageError(f"k={k} asks for nothing", next_step="ask for at least one neighbour")
        filtered = among is not None

        def nearest(connection: Connection, query: dict[str, Any], n: int) -> tuple[Found, int]:
            found = _found(connection.execute(self._statements.nearest(among=filtered), query))
            if len(found.ids) < k or len(found.ids) == n:
                return found, self._bits
            edge = found.distances[-1]
            query["radius"] = edge
            (at_edge,) = _row(connection.execute(self._statements.count_at(among=filtered), query))
            left_out = at_edge - found.distances.count(edge)
            if with_ties and left_out:
                found = _found(connection.execute(self._statements.within(among=filtered), query))
                return found, edge if len(found.ids) < n else self._bits
            return found._replace(ties_left_out=left_out), edge

        return self._answer(codes, among, {"k": min(int(k), _MOST)}, nearest)

    def range(self, codes: Codes, radius: int, *, among: Sequence[str] | None = None) -> Answer:
        """Every item within a radius of each code, exact, in (distance, id) order."""
        if radius < 0:
            raise UsageError(f"radius={radius} is negative", next_step="0 finds equal codes")
        reach, statement = min(int(radius), self._bits), self._statements.within(among=among is not None)

        def within(connection: Connection, query: dict[str, Any], _n: int) -> tuple[Found, int]:
            return _found(connection.execute(statement, query)), reach

        return self._answer(codes, among, {"radius": reach}, within)

    def codes_of(self, ids: Sequence[str]) -> Codes:
        """The codes of items, in the order of the ids; an id that is not there is refused by name."""
        wanted = _distinct(_several(ids))
        stored: dict[str, bytes] = dict(
            self._read(lambda connection: connection.execute(self._statements.codes, [wanted]).fetchall())
        )
        for id_ in ids:
            if id_ not in stored:
                raise DataError(f"there is no item {id_!r} in {self._place}", next_step="add it first")
        return from_stored([stored[id_] for id_ in ids], self._bits)

    def ids(self) -> Iterator[str]:
        """Every id, in the order of their bytes, all from the version that was there at the first one."""
        self._may_read()
        return self._streamed_ids()

    def verify(self) -> Findings:
        """Read every item and say what is not as it was written."""
        try:
            return self._read(lambda connection: verified(connection, self._statements, self.name))
        except CorruptIndexError as error:
            return Findings((error.problem,))

    @property
    def bits(self) -> int:
        """The length of a code."""
        return self._bits

    @property
    def version(self) -> int:
        """One more after every change."""
        return self._state().version

    @property
    def facts(self) -> dict[str, Any]:
        """What `describe` has kept."""
        return self._state().facts

    def __len__(self) -> int:
        return self._state().items

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and self._read(lambda connection: self._count(connection, _distinct([id_]))) > 0

    def __repr__(self) -> str:
        return f"PostgresIndex({self._place}, {self._bits} bits)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connections; answers that were given stay valid."""
        with self._changing:
            if self._closed or os.getpid() != self._process:  # the connections are those of the process that made them
                return
            self._closed = True
            with suppress(Error):  # a row that stays behind is removed by a writer after this one
                if self._changes:
                    with self._server.borrowed() as connection:
                        connection.execute(self._statements.forget, [self._writer])
            self._server.close()

    def _put(self, ids: Sequence[str], codes: Codes, *, replacing: bool) -> None:
        if codes.bits != self._bits or len(codes) != len(_several(ids)):
            raise UsageError(
                f"{len(ids)} ids and {codes!r} do not fit an index of {self._bits} bits",
                next_step="give one id for each code, and codes of this length",
            )
        self._may_write()
        ascending, order = Ids.sorted(ids)  # the order in which the server's own index takes them best
        encoded, packed = ascending.all_bytes(), codes.packed[order]

        def stage(connection: Connection) -> None:
            connection.execute(self._statements.stage)
            with connection.cursor() as cursor, cursor.copy(self._statements.copy) as copy:
                for part in copied_rows(encoded, packed, self._bits):
                    copy.write(part)

        def apply(connection: Connection) -> Changed:
            gone, digest_gone = 0, 0
            if replacing:
                gone, digest_gone = _row(connection.execute(self._statements.remove_staged))
            elif known := connection.execute(self._statements.known).fetchone():
                raise UsageError(
                    f"the id {known[0]!r} is in {self._place} already", next_step="use replace, or remove it"
                )
            new, digest = _row(connection.execute(self._statements.put))
            return Changed(affected=new, items=new - gone, digest=digest - digest_gone)

        if encoded:
            self._change(apply, stage)

    def _change(self, apply: Callable[[Connection], Changed], stage: Callable[[Connection], None] | None = None) -> int:
        """Commit a change exactly once, and say how many items it was about. What is slow is staged before the turn."""

        def work(connection: Connection) -> int:
            with connection.transaction():
                connection.execute(IN_TURN)
                connection.execute(SETTINGS, [self._server.lock_timeout])
                if stage:
                    stage(connection)
                connection.execute(self._statements.lock)
                # If the connection broke during a commit, the lock has waited for its end: here it is known.
                if done := connection.execute(self._statements.done, mine).fetchone():
                    return int(done[0])
                changed = apply(connection)
                if changed.affected:
                    connection.execute(self._statements.commit, [changed.items, changed.digest])
                    connection.execute(self._statements.note, [*mine, changed.affected])
                return changed.affected

        with self._changing:
            self._may_write()
            self._changes += 1
            mine = [self._writer, self._changes]
            return self._server.run(work)

    def _read(self, work: Callable[[Connection], T]) -> T:
        """What some reading gives back, all of it from one version."""

        def in_transaction(connection: Connection) -> T:
            with connection.transaction():
                connection.execute(ONE_VERSION)
                return work(connection)

        self._may_read()
        return self._server.run(in_transaction)

    def _answer(self, codes: Codes, among: Sequence[str] | None, asked: dict[str, Any], find: Find) -> Answer:
        began = time.perf_counter()
        if codes.bits != self._bits:
            raise UsageError(
                f"queries have {codes.bits} bits and {self._place} {self._bits}",
                next_step="encode both with the same model",
            )
        if among is not None:
            asked["among"] = _distinct(_several(among))

        def work(connection: Connection) -> Answer:
            state = read_state(connection, self._statements)
            n = state.items if among is None else self._count(connection, asked["among"])
            found = [find(connection, {**asked, "query": text}, n) for text in as_texts(codes)]
            radii = [radius for _, radius in found]
            return answer([one for one, _ in found], radii, rows_scanned=n, began=began, version=state.version)

        return self._read(work)

    def _streamed_ids(self) -> Iterator[str]:
        with self._server.borrowed() as connection, connection.transaction():
            connection.execute(ONE_VERSION)
            with connection.cursor(name="ids") as cursor:
                cursor.itersize = _AT_ONCE
                cursor.execute(self._statements.ids)
                for (id_,) in cursor:
                    yield str(id_)

    def _count(self, connection: Connection, ids: list[str]) -> int:
        (count,) = _row(connection.execute(self._statements.count_among, [ids]))
        return count

    def _state(self) -> State:
        return self._read(lambda connection: read_state(connection, self._statements))

    @property
    def _place(self) -> str:
        return f"the index {self.name!r} in {self._server.place}"

    def _may_read(self) -> None:
        may_read(self._place, closed=self._closed, process=self._process)

    def _may_write(self) -> None:
        self._may_read()
        may_write(self._place, writable=self._writable)


def _found(cursor: Cursor) -> Found:
    rows = cursor.fetchall()
    return Found([id_ for id_, _ in rows], [distance for _, distance in rows], ties_left_out=0)


def _row(cursor: Cursor) -> tuple[int, ...]:
    """The numbers in the one row that a statement gives."""
    return tuple(int(number) for number in cursor.fetchall()[0])


def _several(ids: Sequence[str]) -> Sequence[str]:
    if isinstance(ids, str):
        raise UsageError(f"{ids!r} is one text, not several ids", next_step="give a list of ids")
    return ids


def _distinct(ids: Sequence[str]) -> list[str]:
    """Ids without repetitions, each proven to be one."""
    distinct = list(dict.fromkeys(ids))
    Ids.sorted(distinct)
    return distinct
