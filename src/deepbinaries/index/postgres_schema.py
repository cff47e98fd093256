"""The schema of an index in a PostgreSQL database: making it, recognising it, and reading its catalogue."""

from decimal import Decimal
from typing import Any, NamedTuple

from psycopg import errors, sql

from deepbinaries.errors import CorruptIndexError, DataError, UsageError
from deepbinaries.index.postgres_server import FOREIGN, Connection
from deepbinaries.index.postgres_statements import FORMAT, IN_TURN, Statements

_OLDEST = (0, 7)  # the first pgvector that compares bits

_LOOK = """
SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = %(name)s),
  EXISTS (SELECT FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %(name)s))
"""
_OPERATORS = "SELECT extversion, nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace"


class State(NamedTuple):
    """What the catalogue says."""

    format: int
    bits: int
    version: int
    items: int
    digest: Decimal  # the sum of the digests of all items
    facts: dict[str, Any]


def checked_name(name: str) -> str:
    """A name that a schema can have."""
    if not name.isprintable() or not 1 <= len(name.encode()) <= 63 or name.startswith("pg_"):
        raise UsageError(f"an index cannot be called {name!r}", next_step="give a short name that is no pg_...")
    return name


def make_schema(connection: Connection, place: str, name: str, bits: int) -> None:
    """Make the tables of an index where there are none; two that do so at once take turns."""
    with connection.transaction():
        connection.execute(IN_TURN)
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('deepbinaries ' || %s, 0))", [name])
        exists, filled = _look(connection, name)
        if filled:
            return
        statements = Statements(name, bits, _operators(connection, place, create=True))
        if not exists:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        connection.execute(statements.tables)
        connection.execute(statements.first_row, [FORMAT])


def opened_statements(connection: Connection, place: str, name: str) -> Statements:
    """The statements for an index that is there, and whose format is known."""
    _, filled = _look(connection, name)
    if not filled:
        raise DataError(
            f"there is no {place.removeprefix('the ')}",
            next_step="check the address, or make one: deepbinaries import-codes, or bits and writable=True in Python",
        )
    operators = _operators(connection, place, create=False)
    try:
        state = read_state(connection, Statements(name, 1, operators))
    except FOREIGN:
        raise UsageError(
            f"the schema {name!r} holds other tables and is no index", next_step="give the index another name"
        ) from None
    if state.format != FORMAT:
        raise DataError(
            f"{place} has format {state.format}, this release reads {FORMAT}",
            next_step="install a release of deepbinaries that is as new as the one that made it",
        )
    return Statements(name, state.bits, operators)


def read_state(connection: Connection, statements: Statements) -> State:
    """What the catalogue says now, or in the version that a transaction sees."""
    row = connection.execute(statements.state).fetchone()
    if row is None:
        raise CorruptIndexError("the catalogue of the index is empty", next_step="restore a backup of the database")
    return State(*row)


def _look(connection: Connection, name: str) -> tuple[bool, bool]:
    """Whether a schema is there, and whether something is in it."""
    ((exists, filled),) = connection.execute(_LOOK, {"name": name}).fetchall()
    return exists, filled


def _operators(connection: Connection, place: str, *, create: bool) -> str:
    """The schema in which pgvector has its operators."""
    statement = _OPERATORS + " WHERE extname = 'vector'"
    found = connection.execute(statement).fetchone()
    if found is None and create:
        try:
            with connection.transaction():
                connection.execute("CREATE EXTENSION vector")
        except (errors.InsufficientPrivilege, errors.UndefinedFile, errors.FeatureNotSupported):
            pass
        found = connection.execute(statement).fetchone()
    if found is None:
        raise DataError(
            f"{place} needs the extension pgvector",
            next_step="install it on the server and run CREATE EXTENSION vector in this database as its administrator",
        )
    version, schema = found
    if tuple(map(int, version.split(".")[:2])) < _OLDEST:
        raise DataError(
            f"{place} has pgvector {version}, which cannot compare codes",
            next_step="install 0.7 or newer and run ALTER EXTENSION vector UPDATE",
        )
    return str(schema)
