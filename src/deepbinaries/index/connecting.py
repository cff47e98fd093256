"""Reading a SQLite database beside a process that writes it, also where the reader may write nothing."""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from deepbinaries.errors import CorruptIndexError, Error
from deepbinaries.index.durable import corrupt, from_sqlite, kind_of

PATIENCE = 1.0  # seconds for which a reader tries again where a writer is in its way
PAUSE = 0.005
WAIT = 10.0  # seconds for which SQLite itself waits while another process brings the log in order

_UNUSABLE = {"CANTOPEN", "READONLY", "PERM", "PROTOCOL"}  # what SQLite says of files beside a database that it needs

T = TypeVar("T")
Look = tuple[int, ...]  # by which it is seen whether a file was changed


class Reader:
    """A connection that changes nothing.

    SQLite coordinates it with a writer through the files beside the database. Where they cannot be opened, as in a
    folder that cannot be written, and the log holds nothing, the database is read as it is, and again once it changed.
    """

    def __init__(self, path: Path):
        self.path, self.n_opened = path, 0
        self._open()

    def patiently(self, look: Callable[[], T]) -> T:
        """What a look through `connection` gives; where a writer was in its way, it is done again."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                found = look()
                if not self._is_overtaken():
                    return found
                problem = Error(f"the index {self.path.parent} changes too fast to be read", next_step="try again")
            except Error as error:
                if isinstance(error, CorruptIndexError) and not self._is_overtaken():
                    raise
                problem = error
            if time.monotonic() > end:
                raise problem
            time.sleep(PAUSE)
            self.connection.close()
            self._open()

    def is_replaced(self) -> bool:
        """Whether another file has this name by now."""
        try:
            return self.path.stat().st_ino != self._inode
        except FileNotFoundError:
            return True

    def _open(self) -> None:
        self._inode = look_at(self.path)[0]
        self.connection, self._as_it_was = _opened(self.path)
        self.n_opened += 1

    def _is_overtaken(self) -> bool:
        """Whether a database has changed that is read as if nobody could."""
        return self._as_it_was is not None and self._as_it_was != look_at(self.path)


def connect(path: Path, how: str) -> sqlite3.Connection:
    """A connection by one of SQLite's ways to open a file."""
    where = f"file:{quote(os.fsencode(path.absolute()))}?{how}"
    try:
        # Transactions are begun by hand: Python's own begin late, and not for reading.
        return sqlite3.connect(where, uri=True, timeout=WAIT, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise from_sqlite(error, path.parent) from error


def _opened(path: Path) -> tuple[sqlite3.Connection, Look | None]:
    """A connection to read by; where the files beside the database are of no use, also how the database looks."""
    end = time.monotonic() + PATIENCE
    while True:
        connection = connect(path, "mode=ro")
        try:
            connection.execute("PRAGMA wal_autocheckpoint=0").fetchall()
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            return connection, None
        except UnicodeDecodeError as error:  # a damaged name is in SQLite's message as it stands
            connection.close()
            raise corrupt(path.parent, f"{path.name} holds nonsense ({error})") from error
        except sqlite3.Error as error:
            connection.close()
            problem = from_sqlite(error, path.parent)
            if isinstance(problem, CorruptIndexError):
                raise problem from error
            if kind_of(error) in _UNUSABLE:
                *_, n_logged = as_it_is = look_at(path)
                if not n_logged:
                    return connect(path, "mode=ro&immutable=1"), as_it_is
                problem = Error(
                    f"the index {path.parent} was not closed, and its log cannot be read without writing ({error})",
                    next_step="open it once with the right to write, or search a backup",
                )
            if time.monotonic() > end:
                raise problem from error
        time.sleep(PAUSE)


def look_at(path: Path) -> Look:
    """What a commit to a database changes: its inode, time and size, -1 where there is none; the bytes in its log."""
    log = path.with_name(f"{path.name}-wal")
    try:
        found = path.stat()
        of_database = (found.st_ino, found.st_mtime_ns, found.st_size)
    except FileNotFoundError:
        of_database = (-1, -1, -1)
    try:
        return *of_database, log.stat().st_size
    except FileNotFoundError:
        return *of_database, 0
