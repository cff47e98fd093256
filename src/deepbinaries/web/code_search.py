"""Codes that are asked for at the same time, searched at the same time.

Comparing one code with a million reads all of them; comparing forty reads them once as well. So while one search runs,
the codes that come meanwhile wait and are then searched together.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

import numpy as np

from deepbinaries.codes import Codes
from deepbinaries.index import Certificate, Index
from deepbinaries.web.refusals import RefusedError, busy
from deepbinaries.web.settings import MOST_CODES_WAITING

WARM_UPS, AT_ONCE = 4, 32


class NearCodes(NamedTuple):
    """What one code found."""

    ids: list[str]
    distances: list[int]
    bits: int
    certificate: Certificate
    query: int  # its place among those that the certificate speaks of

    def to_json(self) -> str:
        """The fields of the answer as JSON, written by hand: this is done thousands of times a second."""
        pairs = zip(self.ids, self.distances, strict=True)
        hits = ",".join([f'{{"id":{quoted(id_)},"distance":{far}}}' for id_, far in pairs])
        proof, query = self.certificate, self.query
        return (
            f'"hits":[{hits}],"bits":{self.bits},"certificate":{{"exact":{"true" if proof.exact else "false"},'
            f'"radius":{proof.radius[query]},"ties_left_out":{proof.ties_left_out[query]},'
            f'"rows_scanned":{proof.rows_scanned},"milliseconds":{proof.milliseconds:.3f},"version":{proof.version}}}'
        )


@dataclass(frozen=True)
class _Waiting:
    codes: Sequence[bytes]
    k: int
    future: "asyncio.Future[list[NearCodes]]"


class CodeSearch:
    """Searches of codes, one after the other, each for all who wait. To be used in one event loop."""

    def __init__(self, index: Callable[[], Index], threads: Executor):
        self._index, self._threads = index, threads
        self._waiting: list[_Waiting] = []
        self._searching = False

    async def search(self, codes: Sequence[bytes], k: int) -> list[NearCodes]:
        """The k nearest items of each packed code."""
        if sum(len(one.codes) for one in self._waiting) + len(codes) > MOST_CODES_WAITING:
            raise busy()
        future: asyncio.Future[list[NearCodes]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(codes, k, future))
        if not self._searching:
            self._next()
        return await future

    def _next(self) -> None:
        """Begin to search for all who wait now."""
        some = [one for one in self._waiting if not one.future.done()]  # whose client is still there
        self._waiting, self._searching = [], bool(some)
        if some:
            loop = asyncio.get_running_loop()
            loop.run_in_executor(self._threads, search_together, self._index, some).add_done_callback(
                lambda found: self._give(some, found)
            )

    def _give(self, some: Sequence[_Waiting], found: "asyncio.Future[list[list[NearCodes] | Exception]]") -> None:
        if found.cancelled():  # the server ends
            return
        problem = found.exception()
        answers = [problem] * len(some) if problem else found.result()
        for one, answer in zip(some, answers, strict=True):
            if one.future.done():
                continue
            if isinstance(answer, BaseException):
                one.future.set_exception(answer)
            else:
                one.future.set_result(answer)
        self._next()


def search_together(opened: Callable[[], Index], some: Sequence[_Waiting]) -> list[list[NearCodes] | Exception]:
    """What each of those who wait gets: one call of the index for each k that is asked for."""
    index = opened()
    answers: list[list[NearCodes] | Exception] = [[] for _ in some]
    by_k: dict[int, list[int]] = {}
    for place, one in enumerate(some):
        try:
            check_codes(one.codes, index.bits)
            by_k.setdefault(one.k, []).append(place)
        except RefusedError as refused:  # of this one alone
            answers[place] = refused
    for k, places in by_k.items():
        found = _found(index, packed_codes([code for place in places for code in some[place].codes], index.bits), k)
        for place in places:
            answers[place] = [next(found) for _ in some[place].codes]
    return answers


def check_codes(codes: Sequence[bytes], bits: int) -> None:
    """Refuse codes that do not have so many bits."""
    n_bytes = -(-bits // 8)
    if any(len(code) != n_bytes for code in codes):
        raise RefusedError(
            400,
            f"the codes of this index have {bits} bits: {2 * n_bytes} hexadecimal digits",
            next_step="encode by the model of this index",
        )
    if bits % 8 and any(code[-1] >> bits % 8 for code in codes):
        raise RefusedError(400, f"a code has a bit set beyond bit {bits - 1}", next_step="leave the padding zero")


def packed_codes(codes: Sequence[bytes], bits: int) -> Codes:
    """Codes that were checked, as the index takes them."""
    return Codes(np.frombuffer(b"".join(codes), dtype=np.uint8).reshape(len(codes), -1), bits)


def _found(index: Index, codes: Codes, k: int) -> Iterator[NearCodes]:
    answer = index.search(codes, k)
    for query, (ids, distances) in enumerate(zip(answer.ids, answer.distances, strict=True)):
        yield NearCodes(ids, distances, codes.bits, answer.certificate, query)


def warm_up(index: Index) -> None:
    """Search a few times: until searches add up to something, they are left to numpy, which is slower."""
    for _ in range(WARM_UPS):
        index.search(packed_codes([bytes(-(-index.bits // 8))] * AT_ONCE, index.bits), 1)


def certificate_of(certificate: Certificate) -> dict[str, Any]:
    """What the answer to a single query promises."""
    return {
        "exact": certificate.exact,
        "radius": certificate.radius[0],
        "ties_left_out": certificate.ties_left_out[0],
        "rows_scanned": certificate.rows_scanned,
        "milliseconds": round(certificate.milliseconds, 3),
        "version": certificate.version,
    }
