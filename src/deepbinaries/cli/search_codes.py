"""`deepbinaries search` in an index of codes alone, in a folder or in a database: known items and codes find others."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepbinaries.cli.output import complain, write_json, write_table
from deepbinaries.errors import UsageError

if TYPE_CHECKING:
    from deepbinaries.codes import Codes
    from deepbinaries.index import Index

DATABASES = ("postgresql://", "postgres://", "milvus:")
CLUSTERS = ("ray:",)
PATIENCE = 3.0  # seconds for which a database that went away is waited for: somebody waits for the answer

_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+", re.ASCII)


def is_database(where: str | None) -> bool:
    """Whether a place is the address of a database, or of an index on a cluster.

    >>> is_database("postgresql:///photos"), is_database("milvus:codes.db"), is_database("photos"), is_database(None)
    (True, True, False, False)
    """
    return where is not None and where.startswith(DATABASES + CLUSTERS)


def shown_place(where: str) -> str:
    """Where an index is, without what nobody should read over a shoulder.

    >>> shown_place("postgresql://me:secret@db.example.org/photos?sslmode=require")
    'postgresql://db.example.org/photos'
    """
    if not is_database(where) or "://" not in where:
        return where
    scheme, _, rest = where.partition("?")[0].partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def codes_at(where: str | None, *, writable: bool = False) -> "Index | None":
    """The index of codes alone at a place; None where it holds photographs, or nothing."""
    from deepbinaries.index import open_index
    from deepbinaries.search.layout import CONFIG, find_folder

    if where is None:
        return None
    if where.startswith(CLUSTERS):
        return open_index(where, writable=writable)
    if is_database(where):
        return open_index(where, writable=writable, patience=PATIENCE)
    folder = Path(where)
    if (folder / "segments").is_dir() and not (find_folder(folder) / CONFIG).exists():
        return open_index(folder, writable=writable)
    return None


def search_codes(index: "Index", queries: Sequence[str], k: int, options: Mapping[str, Any], *, as_json: bool) -> bool:
    """Print what is near each of some queries, `id:ITEM` or `code:HEX`; whether there is anything."""
    for name, given in options.items():
        if given:
            raise UsageError(f"an index of codes knows nothing of {name}", next_step=f"leave {name} away")
    if k < 1:
        raise UsageError(f"k={k} asks for nothing", next_step="ask for at least one neighbour")
    answers = [_near(index, query, k) for query in queries]
    if as_json:
        write_json({"bits": index.bits, "answers": answers})
    else:
        rows = [[one["query"], hit["id"], str(hit["distance"])] for one in answers for hit in one["hits"]]
        write_table(["query", "id", "bits"], rows)
    found = any(one["hits"] for one in answers)
    if not found:
        complain("there is nothing else in this index")
    return found


def _near(index: "Index", query: str, k: int) -> dict[str, Any]:
    """The answer to one query. An item does not find itself."""
    kind, _, what = query.partition(":")
    if kind == "id" and what:
        answer = index.search(index.codes_of([what]), k + 1)
        hits = [hit for hit in answer[0] if hit.id != what][:k]
    elif kind == "code" and what:
        answer = index.search(_code(what, index.bits), k)
        hits = answer[0]
    else:
        raise UsageError(
            f"an index of codes without photographs cannot be asked {query!r}",
            next_step="ask it id:ITEM, or code: and hexadecimal digits",
        )
    proof = answer.certificate
    certificate = {**vars(proof), "radius": proof.radius[0], "ties_left_out": proof.ties_left_out[0]}
    return {"query": query, "hits": [hit._asdict() for hit in hits], "certificate": certificate}


def _code(digits: str, bits: int) -> "Codes":
    import numpy as np

    from deepbinaries.codes import Codes

    n_bytes = -(-bits // 8)
    if not _HEX.fullmatch(digits) or len(digits) != 2 * n_bytes:
        raise UsageError(
            f"{digits[:40]!r} is no code of {bits} bits", next_step=f"give {2 * n_bytes} hexadecimal digits"
        )
    return Codes(np.frombuffer(bytes.fromhex(digits), dtype=np.uint8)[None], bits)
