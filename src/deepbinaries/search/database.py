"""SQLite as the catalogue of a collection uses it: every row proven, every error one of ours, threads welcome."""

import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deepbinaries.errors import Error
from deepbinaries.index.connecting import Reader, connect
from deepbinaries.index.durable import corrupt, from_sqlite, sync_folder

AT_ONCE = 500  # values in one statement; old releases of SQLite allow 999

Row = tuple[Any, ...]

_NAMES = {kind: kind.__name__.encode() for kind in (str, bytes, int, float, type(None))}


class Database:
    """An open database. Writers sync every commit and empty its log; readers change nothing, on whatever disk."""

    def __init__(self, path: Path, *, writable: bool):
        self.path, self._lock = path, threading.RLock()  # which lets one thread in at a time
        self._reader = None if writable else self._opened_to_read()
        self._writer = self._opened_to_write() if writable else None

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """What a statement gives."""

        def look() -> list[Row]:
            with self._own_errors():
                return self._connection.execute(statement, values).fetchall()

        with self._lock:
            return self._reader.patiently(look) if self._reader else look()

    def rows_of(self, statement: str, keys: Iterable[Any]) -> list[Row]:
        """What a statement that ends in `IN` gives for these keys, however many they are."""
        keys, found = list(keys), []
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            found += self.rows(f"{statement} ({', '.join('?' * len(some))})", some)
        return found

    def prove(self, *statements: str) -> None:
        """Read all rows that statements give, each with a sum at its end, which must fit; their keys must ascend."""
        reader = Reader(self.path)  # this takes its time, in which others may ask

        def look() -> None:
            with self._own_errors():
                for statement in statements:
                    last = None
                    for row in reader.connection.execute(statement):
                        key = proven(row, self.path)[0]
                        if last is not None and key <= last:  # one row in the place of another
                            raise corrupt(self.path.parent, f"a row of {self.path.name} is not where it was written")
                        last = key

        try:
            reader.patiently(look)
        finally:
            reader.connection.close()

    def run(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row, inside a `transaction`."""
        with self._lock, self._own_errors():
            self._connection.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do everything in here, or nothing. What was done is on the disk afterwards, and not in the log alone."""
        with self._lock:
            with self._own_errors():
                self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                with self._own_errors():
                    self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            with self._own_errors():
                # A bit that flips in the log would undo commits without a word.
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @property
    def version(self) -> int:
        """A number that is another one after every change by somebody else."""
        with self._lock:
            number = int(self.rows("PRAGMA data_version")[0][0])
            return number + (self._reader.n_opened << 32 if self._reader else 0)  # each connection counts for itself

    def is_replaced(self) -> bool:
        """Whether another database has this name by now: an index that was removed and made anew, or put back."""
        return self._reader is not None and self._reader.is_replaced()

    def integrity(self) -> str:
        """What SQLite's own check says: "ok", or what is wrong."""
        return "; ".join(str(row[0]) for row in self.rows("PRAGMA integrity_check(10)"))

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @property
    def _connection(self) -> sqlite3.Connection:
        connection = self._reader.connection if self._reader else self._writer
        assert connection is not None  # noqa: S101 - one of both is always there
        return connection

    def _opened_to_write(self) -> sqlite3.Connection:
        with self._own_errors():
            connection = connect(self.path, "mode=rwc")
            connection.execute("PRAGMA journal_mode=WAL").fetchall()
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA wal_autocheckpoint=0").fetchall()
        sync_folder(self.path.parent)  # SQLite syncs the names of its logs, but not that of its database
        return connection

    def _opened_to_read(self) -> Reader:
        if not self.path.exists():
            raise corrupt(self.path.parent, f"{self.path.name} is not there")
        return Reader(self.path)

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise self._translated(error) from error

    def _translated(self, error: Exception) -> Error:
        if isinstance(error, sqlite3.Error):
            return from_sqlite(error, self.path.parent)
        return corrupt(self.path.parent, f"{self.path.name} holds nonsense ({error})")


def row_sum(*values: str | bytes | int | None) -> int:
    """A checksum over a row: SQLite's own check does not see every flipped bit.

    >>> row_sum("a", 1) == row_sum("a", 1), row_sum("a", 1) == row_sum("a1"), row_sum("1") == row_sum(1)
    (True, False, False)
    """
    parts = []
    for value in values:
        content = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        parts.append(b"%b %d %b" % (_NAMES[type(value)], len(content), content))
    return zlib.crc32(b"".join(parts))


def proven(row: Row, path: Path) -> Row:
    """A row without the checksum at its end, which must fit; a row that changed is refused."""
    if row_sum(*row[:-1]) != row[-1]:
        raise corrupt(path.parent, f"a row of {path.name} is not as it was written")
    return row[:-1]
