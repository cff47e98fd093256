"""Verifying an index in a PostgreSQL database: every item is read, and compared with what the catalogue has counted."""

from deepbinaries.index.postgres_schema import read_state
from deepbinaries.index.postgres_server import Connection
from deepbinaries.index.postgres_statements import Statements
from deepbinaries.index.verifying import Findings

_COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod), collname, coalesce(
  (SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree(t.oid)), pg_total_relation_size(t.oid))::bigint
FROM pg_class t JOIN pg_attribute a ON attrelid = t.oid AND attnum > 0 AND NOT attisdropped
LEFT JOIN pg_collation c ON c.oid = attcollation
WHERE relname = 'items' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %s)
"""


def verified(connection: Connection, statements: Statements, name: str) -> Findings:
    """Read every item of the version that a transaction sees."""
    state = read_state(connection, statements)
    columns = connection.execute(_COLUMNS, [name]).fetchall()
    kinds = {column: (type_, collation) for column, type_, collation, _ in columns}
    ((items, digest),) = connection.execute(statements.proof).fetchall()
    ((fsync,),) = connection.execute("SELECT current_setting('fsync')").fetchall()
    wrong = {
        f"the catalogue counts {state.items} items, the table has {items}": items != state.items,
        "items were changed, but not by this package": items == state.items and digest != state.digest,
        f"codes are of type {kinds['code'][0]}, not bit({state.bits})": kinds["code"][0] != f"bit({state.bits})",
        f"ids are in the order {kinds['id'][1]!r}, not in that of bytes": kinds["id"][1] != "C",
        "the server runs with fsync off: a power cut may lose what was acknowledged": fsync != "on",
    }
    problems = tuple(problem for problem, found in wrong.items() if found)
    return Findings(problems, state.version, items, segments=1, n_bytes=columns[0][3])
