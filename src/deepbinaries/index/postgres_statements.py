"""What PostgreSQL is told: the tables of an index, its statements, and codes on their way in and out.

An index is a schema with three tables:

    catalogue   one row: format, bits, version, number and digest of the items, facts
    items       id and code; ids are compared as bytes (COLLATE "C")
    writers     the last change of each writer, which a writer looks up whose connection broke during a commit

Names go in as identifiers and values as parameters; nothing that a user gives becomes part of a text of SQL.
Bit j of a code is character j of its text in SQL.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import LiteralString

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from deepbinaries.codes import Codes

FORMAT = 1

# Begins a transaction in which everything is read from one version.
ONE_VERSION = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"

# Begins a change: what it finds after it had to wait is what the one before it has left, whatever the server's default.
IN_TURN = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"

# Then: how long to wait for others, and that a commit is on the disk before it is acknowledged.
SETTINGS = """
SELECT set_config('lock_timeout', %s, true),
  CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END
"""

_AT_ONCE = 1 << 14  # rows that are sent together

# A byte with its bits in reverse: we count bits from the least significant one, PostgreSQL from the most.
_REVERSED = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little"), axis=1)[:, 0]

# 56 bits that depend on every byte of a row. Their sum over all rows proves the table, in whatever order it is read.
_DIGEST = "('x' || encode(substr(sha256(textsend(id) || bit_send(code)), 1, 7), 'hex'))::bit(56)::bigint"

_TABLES = """
CREATE TABLE {schema}.catalogue (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  format integer NOT NULL,
  bits integer NOT NULL,
  version bigint NOT NULL,
  items bigint NOT NULL,
  digest numeric NOT NULL,
  facts jsonb NOT NULL
);
CREATE TABLE {schema}.items (id text COLLATE "C" PRIMARY KEY, code bit({bits}) NOT NULL);
CREATE TABLE {schema}.writers (
  writer uuid PRIMARY KEY, change bigint NOT NULL, affected bigint NOT NULL, at timestamptz NOT NULL
)
"""


class Statements:
    """The statements for one index: its schema, its bits, and the schema in which pgvector has its operators."""

    def __init__(self, schema: str, bits: int, operators: str):
        # The cast makes it an expression of which an HNSW index knows nothing. Without it, such an index would be
        # used as soon as somebody has made one, and the answer would be approximate without a word.
        distance = sql.SQL("(code OPERATOR({operators}.<~>) %(query)s::bit({bits}))::int")
        self._parts: dict[str, sql.Composable] = {
            "schema": sql.Identifier(schema),
            "bits": sql.Literal(bits),
            "digest": sql.SQL(_DIGEST),
            "distance": distance.format(operators=sql.Identifier(operators), bits=sql.Literal(bits)),
        }

        self.tables = self._made(_TABLES)
        self.first_row = self._made(
            "INSERT INTO {schema}.catalogue (format, bits, version, items, digest, facts)"
            " VALUES (%s, {bits}, 1, 0, 0, '{{}}')"
        )
        self.state = self._made("SELECT format, bits, version, items, digest, facts FROM {schema}.catalogue")
        self.lock = self._made("SELECT version FROM {schema}.catalogue FOR UPDATE")
        self.commit = self._made(
            "UPDATE {schema}.catalogue SET version = version + 1, items = items + %s, digest = digest + %s"
        )
        self.describe = self._made("UPDATE {schema}.catalogue SET facts = %s")

        self.done = self._made("SELECT affected FROM {schema}.writers WHERE writer = %s AND change = %s")
        self.note = self._made(
            "INSERT INTO {schema}.writers VALUES (%s, %s, %s, now()) ON CONFLICT (writer)"
            " DO UPDATE SET change = excluded.change, affected = excluded.affected, at = excluded.at"
        )
        self.forget = self._made("DELETE FROM {schema}.writers WHERE writer = %s OR at < now() - interval '30 days'")

        self.stage = self._made(
            'CREATE TEMPORARY TABLE staged (id text COLLATE "C" NOT NULL, code bit({bits}) NOT NULL) ON COMMIT DROP'
        )
        self.copy = self._made("COPY pg_temp.staged FROM STDIN (FORMAT binary)")
        self.known = self._made("SELECT id FROM pg_temp.staged JOIN {schema}.items USING (id) ORDER BY id LIMIT 1")
        self.put = self._made(
            "WITH new AS (INSERT INTO {schema}.items SELECT id, code FROM pg_temp.staged ORDER BY id"
            " RETURNING id, code) SELECT count(*), coalesce(sum({digest}), 0) FROM new"
        )
        self.remove_staged = self._made(
            "WITH gone AS (DELETE FROM {schema}.items AS item USING pg_temp.staged WHERE item.id = staged.id"
            " RETURNING item.id, item.code) SELECT count(*), coalesce(sum({digest}), 0) FROM gone"
        )
        self.remove = self._made(
            "WITH gone AS (DELETE FROM {schema}.items WHERE id = ANY(%s::text[])"
            " RETURNING id, code) SELECT count(*), coalesce(sum({digest}), 0) FROM gone"
        )

        self.ids = self._made("SELECT id FROM {schema}.items ORDER BY id")
        self.codes = self._made("SELECT id, substr(bit_send(code), 5) FROM {schema}.items WHERE id = ANY(%s::text[])")
        self.count_among = self._made("SELECT count(*) FROM {schema}.items WHERE id = ANY(%s::text[])")
        self.proof = self._made("SELECT count(*), coalesce(sum({digest}), 0) FROM {schema}.items")
        self.vacuum = self._made("VACUUM (ANALYZE) {schema}.items")

    def nearest(self, *, among: bool) -> sql.Composed:
        """The %(k)s nearest items."""
        return self._made(
            "SELECT id, {distance} AS far FROM {schema}.items {where} ORDER BY far, id LIMIT %(k)s", among
        )

    def within(self, *, among: bool) -> sql.Composed:
        """All items within a %(radius)s."""
        text = "SELECT id, {distance} AS far FROM {schema}.items {where} AND {distance} <= %(radius)s ORDER BY far, id"
        return self._made(text, among)

    def count_at(self, *, among: bool) -> sql.Composed:
        """How many items are exactly at a %(radius)s."""
        return self._made("SELECT count(*) FROM {schema}.items {where} AND {distance} = %(radius)s", among)

    def _made(self, text: LiteralString, among: bool = False) -> sql.Composed:
        where = sql.SQL("WHERE id = ANY(%(among)s::text[])" if among else "WHERE true")
        return sql.SQL(text).format(**self._parts, where=where)


def as_texts(codes: Codes) -> list[str]:
    """Codes as SQL writes them.

    >>> as_texts(Codes.from_bits([[1, 0, 0], [0, 1, 1]]))
    ['100', '011']
    """
    return [row.tobytes().decode("ascii") for row in codes.to_bits() + np.uint8(ord("0"))]


def copied_rows(ids: Sequence[bytes], packed: NDArray[np.uint8], bits: int) -> Iterator[bytes]:
    """Items in the binary form of COPY, some thousand at a time."""
    n_bytes = packed.shape[1]
    before_code = struct.pack(">ii", 4 + n_bytes, bits)
    yield struct.pack(">11sii", b"PGCOPY\n\xff\r\n\0", 0, 0)
    for begin in range(0, len(ids), _AT_ONCE):
        codes = _REVERSED[packed[begin : begin + _AT_ONCE]].tobytes()
        yield b"".join(
            struct.pack(">hi", 2, len(id_)) + id_ + before_code + codes[n_bytes * row : n_bytes * (row + 1)]
            for row, id_ in enumerate(ids[begin : begin + _AT_ONCE])
        )
    yield struct.pack(">h", -1)


def from_stored(rows: Sequence[bytes], bits: int) -> Codes:
    """The codes of stored bytes.

    >>> from_stored([bytes([0b10000000])], bits=3).to_bits().tolist()
    [[1, 0, 0]]
    """
    stored = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -(-bits // 8))
    return Codes(_REVERSED[stored], bits)
