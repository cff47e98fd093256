"""The catalogue of an index: which segments it has, in a SQLite database that is the one place of commits.

The tables are small and are proven as a whole: the header holds a digest over all of them, since a flipped bit
can change a row and leave SQLite's own check content.

Only the writer's connection ever moves the log into the database; readers open the file read-only. So the race
between two of these moves, which SQLite has before 3.51.3, cannot happen.
"""

import base64
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from deepbinaries.codes import MAX_BITS
from deepbinaries.errors import DataError
from deepbinaries.index.connecting import Reader, connect
from deepbinaries.index.durable import corrupt, from_sqlite
from deepbinaries.index.segments import Record

FILE = "catalogue.db"
FORMAT = 1
DURABILITY = "FULL"  # of every commit: its part of the log is on the disk before it returns

_SCHEMA = (
    "CREATE TABLE header (one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, bits INTEGER NOT NULL,"
    " version INTEGER NOT NULL, next_number INTEGER NOT NULL, digest TEXT NOT NULL)",
    "CREATE TABLE segments (number INTEGER PRIMARY KEY, rows INTEGER NOT NULL, id_bytes INTEGER NOT NULL,"
    " sha256 TEXT NOT NULL, hidden BLOB NOT NULL)",
)

T = TypeVar("T")


@dataclass(frozen=True)
class State:
    """One version of an index: everything there is to know of it but the content of its segments."""

    bits: int
    version: int  # one more with every commit
    next_number: int  # of a segment; no number is used twice
    segments: tuple[Record, ...] = ()

    def to_json(self) -> str:
        """The state as text that is the same for equal states; its digest proves it."""
        content = {
            "format": FORMAT,
            "bits": self.bits,
            "version": self.version,
            "next_number": self.next_number,
            "segments": [
                {**vars(record), "hidden": base64.b64encode(record.hidden).decode()} for record in self.segments
            ],
        }
        return json.dumps(content, sort_keys=True)

    @property
    def digest(self) -> str:
        """SHA-256 over everything."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @classmethod
    def from_json(cls, text: str) -> "State":
        """The state that a text describes; ValueError where it describes none."""
        try:
            content = json.loads(text)
            if content["format"] != FORMAT:
                raise ValueError(f"format {content['format']}")
            records = [{**one, "hidden": base64.b64decode(one["hidden"])} for one in content["segments"]]
            segments = tuple(Record(**record) for record in records)
            return cls(content["bits"], content["version"], content["next_number"], segments)
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"it describes no index ({error!r})") from error


class Catalogue:
    """An open catalogue. Reading gives a `State`; committing replaces it by the next one, wholly or not at all."""

    def __init__(self, folder: Path, *, writable: bool):
        self._folder = folder
        self._writer = _connect_to_write(folder) if writable else None
        self._reader = None if writable else Reader(folder / FILE)

    def read(self) -> State | None:
        """The newest state; None where there is no index yet."""
        return self._patiently(self._read)

    def _read(self) -> State | None:
        with self._own_errors(), self._transaction("BEGIN"):
            known = self._connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'header'").fetchone()
            if known == (0,):
                return None
            headers = self._connection.execute("SELECT format, bits, version, next_number, digest FROM header")
            found = headers.fetchall()
            rows = self._connection.execute(
                "SELECT number, rows, id_bytes, sha256, hidden FROM segments ORDER BY number"
            ).fetchall()
        return self._proven(found, rows)

    def create(self, state: State) -> None:
        """Make the tables of a new index with its first state."""
        with self._own_errors(), self._transaction("BEGIN IMMEDIATE"):
            for statement in _SCHEMA:
                self._connection.execute(statement)
            self._put(state, state.segments)

    def commit(self, before: State, after: State) -> None:
        """Replace a state by the next one. When this returns, the new one survives a power cut."""
        kept = set(before.segments) & set(after.segments)
        with self._own_errors(), self._transaction("BEGIN IMMEDIATE"):
            for record in set(before.segments) - kept:
                self._connection.execute("DELETE FROM segments WHERE number = ?", (record.number,))
            self._put(after, set(after.segments) - kept)

    def empty_log(self) -> None:
        """Move the log into the database. A bit that flips in the log would undo commits without a word."""
        with self._own_errors():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def integrity(self) -> str:
        """What SQLite's own check says: "ok", or what is wrong."""
        return self._patiently(self._integrity)

    def _integrity(self) -> str:
        with self._own_errors():
            return "; ".join(row[0] for row in self._connection.execute("PRAGMA integrity_check(10)"))

    def close(self) -> None:
        self._connection.close()

    @property
    def _connection(self) -> sqlite3.Connection:
        connection = self._reader.connection if self._reader else self._writer
        assert connection is not None  # noqa: S101 - one of both is always there
        return connection

    def _patiently(self, look: Callable[[], T]) -> T:
        """What a look gives; a reader looks again where a writer was in its way."""
        return self._reader.patiently(look) if self._reader else look()

    def _put(self, state: State, new_segments: Iterable[Record]) -> None:
        for record in new_segments:
            row = (record.number, record.rows, record.id_bytes, record.sha256, record.hidden)
            self._connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?)", row)
        header = (FORMAT, state.bits, state.version, state.next_number, state.digest)
        self._connection.execute("INSERT OR REPLACE INTO header VALUES (1, ?, ?, ?, ?, ?)", header)

    def _proven(self, headers: list[Any], rows: list[Any]) -> State:
        """The state that the rows describe, if they are the rows that were written."""
        try:
            ((format_, bits, version, next_number, digest),) = headers
            state = State(bits, version, next_number, tuple(Record(*row) for row in rows))
            proven = state.digest == digest
        except (TypeError, ValueError, AttributeError) as error:
            raise corrupt(self._folder, f"its catalogue holds nonsense ({error})") from error
        if not proven and isinstance(format_, int) and format_ > FORMAT:
            raise DataError(
                f"the index {self._folder} has format {format_}, this release knows up to {FORMAT}",
                next_step="update deepbinaries",
            )
        if not proven or format_ != FORMAT or not 1 <= bits <= MAX_BITS:
            raise corrupt(self._folder, "its catalogue does not match its digest")
        return state

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._connection.execute(begin)
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise from_sqlite(error, self._folder) from error
        except (UnicodeDecodeError, OverflowError) as error:
            raise corrupt(self._folder, f"its catalogue holds nonsense ({error})") from error


def _connect_to_write(folder: Path) -> sqlite3.Connection:
    connection = connect(folder / FILE, "mode=rwc")
    try:
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute(f"PRAGMA synchronous={DURABILITY}")
        connection.execute("PRAGMA wal_autocheckpoint=0").fetchall()
    except sqlite3.Error as error:
        connection.close()
        raise from_sqlite(error, folder) from error
    return connection
