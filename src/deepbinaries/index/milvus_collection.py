"""The collection of an index in Milvus: making it, recognising it, and items on their way in and out.

    id     VARCHAR, the primary key: the bytes of an id in hexadecimal digits
    code   BINARY_VECTOR, the bytes of a code, padded with zeros to whole bytes; BIN_FLAT, HAMMING

Digits have the order of the bytes they stand for, and nothing that a user gives becomes part of an expression.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from pymilvus import CollectionSchema, DataType, MilvusClient
from pymilvus.client.types import LoadState

from deepbinaries.codes import Codes
from deepbinaries.errors import CorruptIndexError, DataError, UsageError
from deepbinaries.index.id_order import MAX_ID_BYTES
from deepbinaries.index.milvus_server import DEADLINE, Server

FORMAT = 1

_LOADING = 600.0  # seconds for a large collection to come into the memory of the query nodes
_EXACT = ("BIN_FLAT", "HAMMING")


def open_collection(server: Server, bits: int | None, *, writable: bool) -> int:
    """The bits of the codes in a collection; with `bits` and `writable`, it is made where there is none."""
    name, place = server.address.name, server.address.place
    if not server.run(lambda client: client.has_collection(name, timeout=DEADLINE)):
        if bits is None or not writable:
            raise no_index(place)
        schema = _schema(bits)
        # Strong: what was acknowledged is found by whoever asks next.
        server.run(
            lambda client: client.create_collection(name, schema=schema, consistency_level="Strong", timeout=DEADLINE)
        )
    found = _bits(place, server.run(lambda client: client.describe_collection(name, timeout=DEADLINE)))
    if bits is not None and bits != found:
        raise UsageError(
            f"the codes in {place} have {found} bits, not {bits}",
            next_step="open it without bits, or make another index",
        )
    if writable:  # also where somebody was cut short in between; one that is there is left as it is
        server.run(lambda client: _make_index(client, name))
    _refuse_approximate(server)
    server.run(lambda client: _load(client, name))
    return found


def no_index(place: str) -> DataError:
    return DataError(
        f"there is no {place.removeprefix('the ')}",
        next_step="check the address, or make one: deepbinaries import-codes, or bits and writable=True in Python",
    )


def as_keys(ids: Iterable[str]) -> list[str]:
    """Ids as Milvus keeps them.

    >>> as_keys(["a", "é"])
    ['61', 'c3a9']
    """
    return [id_.encode().hex() for id_ in ids]


def from_key(key: str) -> str:
    """The id that is kept so.

    >>> from_key("c3a9")
    'é'
    """
    try:
        id_ = bytes.fromhex(key).decode()
    except ValueError:
        id_ = ""
    if as_keys([id_]) != [key]:  # an id has one key only
        raise CorruptIndexError(
            f"{key[:80]!r} is the key of no item of this package",
            next_step="remove in Milvus what others have put there",
        )
    return id_


def expression(keys: Iterable[str]) -> str:
    """The expression that holds for some keys.

    >>> expression(["61", "c3a9"])
    'id in ["61","c3a9"]'
    """
    return "id in [" + ",".join(f'"{key}"' for key in keys) + "]"


def between(first: str, end: str) -> str:
    """The expression that holds for the keys from one on, and up to another; "" is no bound.

    >>> between("61", "c3a9"), between("", "c3a9"), between("", "")
    ('id >= "61" and id < "c3a9"', 'id < "c3a9"', '')
    """
    return " and ".join(f'id {sign} "{key}"' for sign, key in ((">=", first), ("<", end)) if key)


def from_stored(rows: Sequence[bytes], bits: int) -> Codes:
    """The codes of stored bytes."""
    return Codes(np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -(-bits // 8)), bits)


def _schema(bits: int) -> CollectionSchema:
    schema = MilvusClient.create_schema(
        auto_id=False, enable_dynamic_field=False, description=json.dumps({"deepbinaries": FORMAT, "bits": bits})
    )
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=2 * MAX_ID_BYTES)
    schema.add_field("code", DataType.BINARY_VECTOR, dim=8 * -(-bits // 8))
    return schema


def _make_index(client: MilvusClient, name: str) -> None:
    if not client.describe_index(name, "code", timeout=DEADLINE):
        kind = MilvusClient.prepare_index_params()
        kind.add_index("code", index_type=_EXACT[0], index_name="code", metric_type=_EXACT[1])
        client.create_index(name, kind, sync=False, timeout=DEADLINE)  # there is nothing to be built


def _load(client: MilvusClient, name: str) -> None:
    """See that a collection is in memory; one that somebody has loaded, with several replicas perhaps, is left so."""
    if client.get_load_state(name, timeout=DEADLINE)["state"] != LoadState.Loaded:
        client.load_collection(name, timeout=_LOADING)


def _bits(place: str, stored: dict[str, Any]) -> int:
    """The bits of the codes in a collection that this package has made."""
    kinds = {field["name"]: field["type"] for field in stored["fields"]}
    try:
        said = json.loads(stored.get("description") or "")
        format_, bits = said["deepbinaries"], int(said["bits"])
    except (ValueError, KeyError, TypeError):
        format_, bits = None, 0
    if format_ is None or kinds != {"id": DataType.VARCHAR, "code": DataType.BINARY_VECTOR}:
        raise UsageError(f"{place} is of somebody else and no index", next_step="give the index another name")
    if format_ != FORMAT:
        raise DataError(
            f"{place} has format {format_}, this release reads {FORMAT}",
            next_step="install a release of deepbinaries that is as new as the one that made it",
        )
    return bits


def _refuse_approximate(server: Server) -> None:
    """An index over the codes that somebody has changed would make answers approximate without a word."""
    name = server.address.name
    found = server.run(lambda client: client.describe_index(name, "code", timeout=DEADLINE)) or {}
    kind = found.get("index_type"), found.get("metric_type")
    if kind != _EXACT:
        raise UsageError(
            f"{server.address.place} has the index {kind[0]} ({kind[1]}), with which answers are not exact",
            next_step=f"drop it in Milvus, and make {_EXACT[0]} with {_EXACT[1]} on the field code",
        )
