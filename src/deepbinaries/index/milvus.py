"""`MilvusIndex`: codes in a Milvus cluster, or in a file that the embedded Milvus keeps.

An index is a collection (`deepbinaries.index.milvus_collection`), searched by BIN_FLAT, which compares every code.
Milvus gives equal distances in any order and at most 16,384 items a call. So more is fetched than was asked for, until
all items at the last distance are there; they are then counted, and brought into the order of ids. Milvus has no
transactions: a call about more than some thousand items is several requests, and so may an answer be, between which
others may write. Therefore no order of ties is promised (`stable_ties`), and there are no versions: each is 0.
"""

import os
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Self, TypeVar

from deepbinaries.codes import MAX_BITS, Codes, Within, top_k_with_ties, within
from deepbinaries.errors import CorruptIndexError, DataError, UsageError
from deepbinaries.index.base import Answer, Found, answer
from deepbinaries.index.ids import Ids
from deepbinaries.index.milvus_collection import (
    as_keys,
    between,
    expression,
    from_key,
    from_stored,
    no_index,
    open_collection,
)
from deepbinaries.index.milvus_server import DEADLINE, Server, read_address
from deepbinaries.index.opened import may_read, may_write
from deepbinaries.index.verifying import Findings

T = TypeVar("T")
Near = list[tuple[int, str]]  # distances and keys

MOST = 16_384  # items that Milvus gives in one call

_SPARE = 50  # items that are fetched beyond those asked for: most often all ties are among them
_GIVEN_TOGETHER = 100_000  # items that the queries of one call are given, all together
_ASKED_TOGETHER = 100  # queries
_SENT_TOGETHER = 5_000  # items: with the longest ids and codes, far below what a server takes at once


class MilvusIndex:
    """An index in Milvus. Threads may share it, and any number of processes may read and write on a server."""

    stable_ties = False

    def __init__(
        self,
        where: str,
        *,
        bits: int | None = None,
        writable: bool = False,
        name: str | None = None,
        patience: float = 30.0,
    ):
        """Open `milvus://host:port/collection` or `milvus:FILE.db`; with `bits` and `writable`, it may be made.

        `name` is the collection, in place of that in the address. `patience` is how many seconds to wait for a server
        that went away.
        """
        if bits is not None and not 1 <= bits <= MAX_BITS:
            raise UsageError(f"bits={bits} is outside 1..{MAX_BITS}", next_step="64 is a good start")
        address = read_address(str(where), name)
        self.name, self._place = address.name, address.place
        self._writable, self._closed, self._process = writable, False, os.getpid()
        if address.file and not address.file.exists() and (bits is None or not writable):
            raise no_index(self._place)
        self._server = Server(address, patience=patience)
        try:
            self._bits = open_collection(self._server, bits, writable=writable)
        except BaseException:
            self._server.close()
            raise

    def add(self, ids: Sequence[str], codes: Codes) -> None:
        """Add new items; an id that is there is refused. When this returns they are acknowledged by Milvus."""
        keys = self._checked(ids, codes)
        for part in _parts(keys):
            if known := self._known(part):
                raise UsageError(
                    f"the id {from_key(min(known))!r} is in {self._place} already",
                    next_step="use replace, or remove it",
                )
        self._put(keys, codes)

    def replace(self, ids: Sequence[str], codes: Codes) -> None:
        """Give items these codes, whether they are there already or not: safe to repeat."""
        self._put(self._checked(ids, codes), codes)

    def remove(self, ids: Sequence[str]) -> int:
        """Remove items and say how many of them were there; the others are no error."""
        self._may_write()
        removed = 0
        for part in _parts(_distinct_keys(ids)):
            if known := self._known(part):
                self._ask("delete", ids=known)
                removed += len(known)
        return removed

    def search(self, codes: Codes, k: int, *, among: Sequence[str] | None = None, with_ties: bool = False) -> Answer:
        """The k nearest items of each code, exact.

        `among` restricts the search to some ids: their codes are fetched and compared here. `with_ties` gives all
        items at the last distance, so more than k.
        """
        began = time.perf_counter()
        if k < 1:
            raise UsageError(f"k={k} asks for nothing", next_step="ask for at least one neighbour")
        self._check_queries(codes)
        if among is None:
            n = len(self)
            near = self._nearest(codes, min(k, n))
        else:
            keys, stored = self._those(among)
            n, near = len(keys), _by_key(top_k_with_ties(codes, stored, k), keys)
        shown = [one if with_ties else one[:k] for one in near]
        found = [_found(some, ties_left_out=len(one) - len(some)) for some, one in zip(shown, near, strict=True)]
        radii = [some[-1][0] if 0 < len(some) < n else self._bits for some in shown]
        return answer(found, radii, rows_scanned=n, began=began, version=0)

    def range(self, codes: Codes, radius: int, *, among: Sequence[str] | None = None) -> Answer:
        """Every item within a radius of each code, exact."""
        began = time.perf_counter()
        if radius < 0:
            raise UsageError(f"radius={radius} is negative", next_step="0 finds equal codes")
        self._check_queries(codes)
        reach = min(int(radius), self._bits)
        if among is None:
            n = len(self)
            near = [sorted(self._within(codes[q : q + 1], reach)) for q in range(len(codes))]
        else:
            keys, stored = self._those(among)
            n, near = len(keys), _by_key(within(codes, stored, reach), keys)
        found = [_found(one, ties_left_out=0) for one in near]
        return answer(found, [reach] * len(found), rows_scanned=n, began=began, version=0)

    def codes_of(self, ids: Sequence[str]) -> Codes:
        """The codes of items, in the order of the ids; an id that is not there is refused by name."""
        stored = self._stored(_distinct_keys(ids))
        for id_, key in zip(ids, keys := as_keys(ids), strict=True):
            if key not in stored:
                raise DataError(f"there is no item {id_!r} in {self._place}", next_step="add it first")
        return from_stored([stored[key] for key in keys], self._bits)

    def ids(self) -> Iterator[str]:
        """Every id, in the order of their bytes."""
        self._may_read()
        return (from_key(row["id"]) for page in self._pages(["id"]) for row in page)

    def verify(self) -> Findings:
        """Read every item and say what no index holds; Milvus itself answers for what it has stored."""
        stated, n, n_bytes = len(self), 0, 0
        try:
            for page in self._pages(["id", "code"]):
                ids, _ = Ids.sorted([from_key(row["id"]) for row in page])
                n_bytes += len(ids.text) + from_stored([_code(row) for row in page], self._bits).packed.nbytes
                n += len(page)
        except (DataError, UsageError) as error:
            return Findings((error.problem,), items=n, segments=1, n_bytes=n_bytes)
        problems = (f"Milvus counts {stated} items and gives {n}",) if n != stated else ()
        return Findings(problems, items=n, segments=1, n_bytes=n_bytes)

    @property
    def bits(self) -> int:
        """The length of a code."""
        return self._bits

    def __len__(self) -> int:
        rows = self._ask("query", filter="", output_fields=["count(*)"])
        return int(rows[0]["count(*)"])

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and bool(self._known(_distinct_keys([id_])))

    def __repr__(self) -> str:
        return f"MilvusIndex({self._place}, {self._bits} bits)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; answers that were given stay valid."""
        if os.getpid() == self._process:  # the connection is that of the process that made it
            self._closed = True
            self._server.close()

    def _checked(self, ids: Sequence[str], codes: Codes) -> list[str]:
        """The keys of items that can be written."""
        if isinstance(ids, str) or codes.bits != self._bits or len(codes) != len(ids):
            raise UsageError(
                f"{len(ids)} ids and {codes!r} do not fit an index of {self._bits} bits",
                next_step="give a list of ids, one for each code, and codes of this length",
            )
        self._may_write()
        Ids.sorted(ids)  # refuses what is no id, and one that is given twice
        return as_keys(ids)

    def _put(self, keys: list[str], codes: Codes) -> None:
        """Write items over whatever is there: one that was written twice is there once."""
        rows = ({"id": key, "code": code.tobytes()} for key, code in zip(keys, codes.packed, strict=True))
        for part in _parts(list(rows)):
            self._ask("upsert", data=part)

    def _known(self, keys: Sequence[str]) -> list[str]:
        """Which of some keys are there."""
        rows = self._ask("query", filter=expression(keys), output_fields=["id"])
        return [row["id"] for row in rows]

    def _stored(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The codes of those of some keys that are there."""
        stored: dict[str, bytes] = {}
        for part in _parts(keys):
            rows = self._ask("query", filter=expression(part), output_fields=["id", "code"])
            stored.update((row["id"], _code(row)) for row in rows)
        return stored

    def _those(self, ids: Sequence[str]) -> tuple[list[str], Codes]:
        """Those of some ids that are there, as keys in their order, and their codes."""
        stored = sorted(self._stored(_distinct_keys(ids)).items())
        return [key for key, _ in stored], from_stored([code for _, code in stored], self._bits)

    def _nearest(self, codes: Codes, k: int) -> list[Near]:
        """The k nearest items of each code and all that are as far as the last of them, in order."""
        limit = min(2 * k + _SPARE, MOST)
        near = self._given(codes, limit) if k else [[] for _ in range(len(codes))]
        for q, some in enumerate(near):
            last = some[min(k, len(some)) - 1][0] if some else 0
            if len(some) == limit and (limit < k or some[-1][0] == last):  # there may be more as far as the last
                near[q] = self._all_up_to(codes[q : q + 1], k, last)
            else:
                near[q] = sorted(one for one in some if one[0] <= last)
        return near

    def _all_up_to(self, query: Codes, k: int, radius: int) -> Near:
        """Every item within the first radius, from one on, that holds k."""
        while True:
            near = self._within(query, radius)
            if len(near) >= k or radius >= self._bits:
                return sorted(near)
            radius += 1

    def _within(self, query: Codes, radius: int) -> Near:
        """Every item within a radius. Where they are too many for one call, each half of the keys is asked for."""
        near: Near = []
        parts = [("", "")]  # from a key on, and up to another; "" is no bound
        while parts:
            first, end = parts.pop()
            (some,) = self._given(query, MOST, between(first, end), radius)
            if len(some) < MOST:
                near += some
            else:
                middle = sorted(key for _, key in some)[MOST // 2]
                parts += [(first, middle), (middle, end)]
        return near

    def _given(self, codes: Codes, limit: int, where: str = "", radius: int | None = None) -> list[Near]:
        """What Milvus gives for each code: the nearest items, equal distances in any order."""
        # Milvus gives what is nearer than its radius.
        params = {"metric_type": "HAMMING", "params": {} if radius is None else {"radius": radius + 1}}
        together = max(1, min(_ASKED_TOGETHER, _GIVEN_TOGETHER // limit))
        near: list[Near] = []
        for part in _parts([code.tobytes() for code in codes.packed], together):
            answers = self._ask("search", data=part, filter=where, limit=limit, search_params=params)
            near += [[(int(hit["distance"]), hit["id"]) for hit in hits] for hits in answers]
        return near

    def _pages(self, fields: list[str]) -> Iterator[list[dict[str, Any]]]:
        """Every item, some thousand at a time, in the order of keys."""
        pages = self._ask("query_iterator", batch_size=_SENT_TOGETHER, output_fields=fields)
        last = ""
        while page := self._server.run(lambda _client: pages.next()):
            keys = [last, *(row["id"] for row in page)]
            if any(one >= next_one for one, next_one in pairwise(keys)):
                raise CorruptIndexError(f"{self._place} gives keys out of order", next_step="verify the collection")
            last = keys[-1]
            yield page
        pages.close()

    def _ask(self, what: str, **arguments: Any) -> Any:
        """What Milvus gives for one request about the collection."""
        self._may_read()
        return self._server.run(lambda client: getattr(client, what)(self.name, timeout=DEADLINE, **arguments))

    def _check_queries(self, codes: Codes) -> None:
        if codes.bits != self._bits:
            raise UsageError(
                f"queries have {codes.bits} bits and {self._place} {self._bits}",
                next_step="encode both with the same model",
            )

    def _may_read(self) -> None:
        may_read(self._place, closed=self._closed, process=self._process)

    def _may_write(self) -> None:
        self._may_read()
        may_write(self._place, writable=self._writable)


def _found(near: Near, ties_left_out: int) -> Found:
    return Found([from_key(key) for _, key in near], [distance for distance, _ in near], ties_left_out)


def _by_key(rows: Within, keys: list[str]) -> list[Near]:
    """What was found among some keys in their order, for each query."""
    of_queries = (rows[q] for q in range(len(rows.offsets) - 1))
    return [[(int(far), keys[row]) for row, far in zip(*found, strict=True)] for found in of_queries]


def _code(row: dict[str, Any]) -> bytes:
    """The bytes of a code, which Milvus gives as the one element of a list."""
    (code,) = row["code"]
    return bytes(code)


def _distinct_keys(ids: Sequence[str]) -> list[str]:
    """The keys of ids without repetitions, each proven to be one."""
    if isinstance(ids, str):
        raise UsageError(f"{ids!r} is one text, not several ids", next_step="give a list of ids")
    distinct = list(dict.fromkeys(ids))
    Ids.sorted(distinct)
    return as_keys(distinct)


def _parts(things: Sequence[T], size: int = _SENT_TOGETHER) -> Iterator[Sequence[T]]:
    for begin in range(0, len(things), size):
        yield things[begin : begin + size]
