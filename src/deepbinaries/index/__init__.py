"""Indexes: codes under ids, stored safely and searched exactly.

>>> import tempfile
>>> from deepbinaries.codes import Codes
>>> with open_index(tempfile.mkdtemp(), bits=3, writable=True) as index:
...     index.add(["dog", "beach"], Codes.from_bits([[1, 1, 0], [0, 1, 0]]))
...     index.search(Codes.from_bits([[0, 1, 1]]), k=1)[0]
[Hit(id='beach', distance=1)]
"""

from pathlib import Path
from typing import Any

from deepbinaries.errors import UsageError
from deepbinaries.index.base import Answer, Certificate, Hit, Index
from deepbinaries.index.check import check_index
from deepbinaries.index.copying import restore
from deepbinaries.index.durable import own_errors
from deepbinaries.index.embedded import EmbeddedIndex
from deepbinaries.index.manifest import FILE as SHARDS
from deepbinaries.index.rebuilding import Rebuilt, rebuild
from deepbinaries.index.transferring import Comparison, Copied, compare_answers, copy_items
from deepbinaries.index.verifying import Findings, verify
from deepbinaries.registry import INDEXES, check_settings

_ADDRESSES = {"postgresql://": "postgres", "postgres://": "postgres", "milvus:": "milvus", "ray:": "ray"}


def open_index(where: str | Path, *, bits: int | None = None, writable: bool = False, **settings: Any) -> Index:
    """The index at a place: a folder, or a database as `postgresql://...`, `milvus://...` or `milvus:FILE.db`.

    `ray:FOLDER` is an index in shards that a Ray cluster searches.
    With `bits` and `writable`, an index is made where there is none. Settings are those of the kind of index.
    """
    known = (kind for beginning, kind in _ADDRESSES.items() if str(where).startswith(beginning))
    unknown = str(where).partition("://")[0] if "://" in str(where) else "embedded"
    name = next(known, unknown)
    with own_errors(Path(where)):
        if name == "embedded" and (Path(where) / SHARDS).exists():
            raise UsageError(f"{where} is an index in shards", next_step=f"open it as ray:{where}")
    kind = INDEXES.load(name)
    check_settings(kind, settings, of=f"the index {name!r}", apart=["where", "bits", "writable"])
    index: Index = kind(where, bits=bits, writable=writable, **settings)
    return index


__all__ = [
    "Answer",
    "Certificate",
    "Comparison",
    "Copied",
    "EmbeddedIndex",
    "Findings",
    "Hit",
    "Index",
    "Rebuilt",
    "check_index",
    "compare_answers",
    "copy_items",
    "open_index",
    "rebuild",
    "restore",
    "verify",
]
