"""SQLite as the catalogue of a collection uses it: every row proven, every error one of ours, threads welcome."""

import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from deepbinaries.errors import CorruptIndexError, Error
from deepbinaries.index.durable import corrupt, from_sqlite, sync_folder

AT_ONCE = 500  # values in one statement; old releases of SQLite allow 999
_WAIT = 10.0  # seconds for which a reader waits while another process brings the log in order

Row = tuple[Any, ...]


class Database:
    """An open database. Writers sync every commit and empty its log; readers change nothing, on whatever disk."""

    def __init__(self, path: Path, *, writable: bool):
        self.path, self._lock = path, threading.RLock()
        self._connection = self._opened_to_write() if writable else self._opened_to_read()

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """What a statement gives."""
        with self._lock, self._own_errors():
            return self._connection.execute(statement, values).fetchall()

    def rows_of(self, statement: str, keys: Iterable[Any]) -> list[Row]:
        """What a statement that ends in `IN` gives for these keys, however many they are."""
        keys, found = list(keys), []
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            found += self.rows(f"{statement} ({', '.join('?' * len(some))})", some)
        return found

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

    def integrity(self) -> str:
        """What SQLite's own check says: "ok", or what is wrong."""
        return "; ".join(str(row[0]) for row in self.rows("PRAGMA integrity_check(10)"))

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _opened_to_write(self) -> sqlite3.Connection:
        with self._own_errors():
            connection = self._connect("mode=rwc")
            connection.execute("PRAGMA journal_mode=WAL").fetchall()
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA wal_autocheckpoint=0").fetchall()
        sync_folder(self.path.parent)  # SQLite syncs the names of its logs, but not that of its database
        return connection

    def _opened_to_read(self) -> sqlite3.Connection:
        if not self.path.exists():
            raise corrupt(self.path.parent, f"{self.path.name} is not there")
        connection = self._connect("mode=ro")
        try:
            connection.execute("PRAGMA wal_autocheckpoint=0").fetchall()
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # a damaged name is in SQLite's message as it stands
            connection.close()
            problem = self._translated(error)
            if isinstance(problem, CorruptIndexError):
                raise problem from error
            log = self.path.with_name(f"{self.path.name}-wal")
            if log.exists() and log.stat().st_size:
                raise Error(
                    f"{self.path} was not closed and cannot be read from a folder that cannot be written ({error})",
                    next_step="open it once where the folder can be written",
                ) from error
            return self._connect("mode=ro&immutable=1")
        return connection

    def _connect(self, how: str) -> sqlite3.Connection:
        where = f"file:{quote(str(self.path.absolute()))}?{how}"
        # Transactions are begun by hand, and `_lock` lets one thread in at a time.
        return sqlite3.connect(where, uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False)

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
    total = 0
    for value in values:
        content = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        total = zlib.crc32(f"{type(value).__name__} {len(content)} ".encode() + content, total)
    return total


def proven(row: Row, path: Path) -> Row:
    """A row without the checksum at its end, which must fit; a row that changed is refused."""
    if row_sum(*row[:-1]) != row[-1]:
        raise corrupt(path.parent, f"a row of {path.name} is not as it was written")
    return row[:-1]
