"""Connections to a PostgreSQL server: borrowed one at a time, made again when they are lost, silent about passwords."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from deepbinaries.errors import CorruptIndexError, Error, IndexBusyError, UsageError
from deepbinaries.index.base import ServerLostError

Connection = psycopg.Connection[tuple[Any, ...]]
Cursor = psycopg.Cursor[tuple[Any, ...]]
T = TypeVar("T")

_PAUSE = 0.2  # seconds between attempts to reach a server that went away
_CONNECT_TIMEOUT = 10  # seconds, unless the address says otherwise

# Raised when the tables are not those of an index: somebody else's, or changed by hand.
FOREIGN = (errors.UndefinedTable, errors.UndefinedColumn, errors.WrongObjectType, errors.DatatypeMismatch)


class Server:
    """The way to one database. Several threads may use it: each borrows a connection of its own."""

    def __init__(self, uri: str, *, patience: float):
        self._parameters = _parameters(uri)
        self._patience = patience
        self._idle: list[Connection] = []
        self._closed = False
        self.place = _place(self._parameters)

    @contextmanager
    def borrowed(self) -> Iterator[Connection]:
        """A connection for as long as the block lasts; what the server refuses is raised as one of our errors."""
        connection = self._take()
        try:
            yield connection
        except psycopg.Error as error:
            raise self._own_error(error, lost=connection.closed) from None
        finally:
            self._give_back(connection)

    def run(self, work: Callable[[Connection], T]) -> T:
        """What some work gives back; it is begun again while the server is away, for as long as patience lasts."""
        deadline = 0.0
        while True:
            try:
                with self.borrowed() as connection:
                    return work(connection)
            except ServerLostError:
                deadline = deadline or time.monotonic() + self._patience
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_PAUSE)

    @property
    def lock_timeout(self) -> str:
        """How long a change waits for the one before it, as the server reads it; 0 would be for ever."""
        return f"{max(1, int(self._patience * 1000))}ms"

    def close(self) -> None:
        """End all connections; those that are borrowed end when they come back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> Connection:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if not connection.closed:
                return connection
        return self._connect()

    def _give_back(self, connection: Connection) -> None:
        healthy = connection.info.transaction_status == TransactionStatus.IDLE
        if healthy and not self._closed:
            self._idle.append(connection)
        else:
            connection.close()

    def _connect(self) -> Connection:
        try:
            connection = psycopg.connect(**self._parameters, autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            raise self._own_error(error, lost=True) from None
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            raise UsageError(
                f"{self.place} has the encoding {encoding}, which cannot hold every id in the order of its bytes",
                next_step="make a database with ENCODING 'UTF8'",
            )
        return connection

    def _own_error(self, error: psycopg.Error, *, lost: bool) -> Error:
        """The error of this package for one of the server or of the way to it."""
        said = self._said(error)
        if lost:
            return ServerLostError(
                f"{self.place} cannot be reached ({said})",
                next_step="check that the server runs and that address, user and password are right; "
                "what was acknowledged is safe, and a change that was cut short is there wholly or not at all",
            )
        if isinstance(error, errors.LockNotAvailable):
            return IndexBusyError(f"another change of {self.place} takes long", next_step="try again later")
        if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted):
            return CorruptIndexError(f"{self.place} is damaged ({said})", next_step="restore a backup of the database")
        if isinstance(error, errors.InsufficientPrivilege):
            return Error(f"{self.place} refuses: {said}", next_step="have its owner GRANT it to your role")
        if isinstance(error, FOREIGN):
            return UsageError(
                f"the tables in {self.place} are not those of an index ({said})",
                next_step="give another name, or restore a backup",
            )
        return Error(f"{self.place} refuses: {said}", next_step="see the server's log; what was acknowledged is safe")

    def _said(self, error: psycopg.Error) -> str:
        """What the server said, on one line. Neither it nor libpq repeats a password; nobody has promised that."""
        text = " ".join((error.diag.message_primary or str(error) or type(error).__name__).split())
        password = self._parameters.get("password")
        return text.replace(str(password), "…") if password else text


def _parameters(uri: str) -> dict[str, Any]:
    """The parameters in an address; nothing of one that cannot be read is repeated, since it may hold a password."""
    try:
        parameters = {name: value for name, value in conninfo_to_dict(uri).items() if value is not None}
    except psycopg.Error:
        parameters = None
    stray = parameters and any("@" in str(parameters.get(part, ""))[1:] for part in ("host", "dbname"))
    if parameters is None or stray:
        raise UsageError(
            "the address of the database cannot be read",
            next_step="write postgresql://user:password@host:port/database, with special characters "
            "of the password as %40 for @, %2F for /, %25 for %",
        )
    parameters.setdefault("connect_timeout", _CONNECT_TIMEOUT)
    parameters.setdefault("fallback_application_name", "deepbinaries")
    parameters["client_encoding"] = "utf8"
    return parameters


def _place(parameters: dict[str, Any]) -> str:
    """Where a database is, in words, without user and password.

    >>> _place({"dbname": "photos", "host": "db.example.org", "password": "secret"})
    "the database 'photos' at db.example.org"
    """
    database = f"the database {parameters['dbname']!r}" if "dbname" in parameters else "the default database"
    where = parameters.get("host") or parameters.get("hostaddr") or parameters.get("service")
    return f"{database} at {where}" if where else f"{database} of this machine"
