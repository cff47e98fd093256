"""The contract of an index: what it answers, and the check that proves it.

Ids are texts of 1 to 1024 bytes of UTF-8 without NUL. Answers come in (distance, id) order, ids compared as bytes,
whatever the order in which items were added; a call that changes something is done wholly or not at all.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self, overload, runtime_checkable

from deepbinaries.codes import Codes
from deepbinaries.errors import Error


class ServerLostError(Error):
    """A server that cannot be reached, or that went away in the middle of a call."""


class Hit(NamedTuple):
    """An item that was found."""

    id: str
    distance: int  # bits in which its code differs from the query's


class Found(NamedTuple):
    """What one query found."""

    ids: list[str]
    distances: list[int]
    ties_left_out: int


@dataclass(frozen=True)
class Certificate:
    """What an answer promises.

    Every item within radius[q] bits of query q is in the answer, but for ties_left_out[q] of those exactly so far.
    """

    exact: bool
    radius: tuple[int, ...]  # of each query
    ties_left_out: tuple[int, ...]  # of each query
    rows_scanned: int  # codes that each query was compared with
    milliseconds: float  # for all queries together
    version: int  # of the index: the whole answer comes from this one


@dataclass(frozen=True)
class Answer(Sequence[list[Hit]]):
    """What the queries of one call found: answer[q] are the hits of query q, nearest first.

    >>> certificate = Certificate(True, (1,), (0,), rows_scanned=2, milliseconds=0.1, version=1)
    >>> answer = Answer([["beach", "dog"]], [[0, 1]], certificate)
    >>> answer[0][1]
    Hit(id='dog', distance=1)
    """

    ids: list[list[str]]
    distances: list[list[int]]
    certificate: Certificate

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, query: int) -> list[Hit]: ...
    @overload
    def __getitem__(self, query: slice) -> list[list[Hit]]: ...
    def __getitem__(self, query: int | slice) -> list[Hit] | list[list[Hit]]:
        if isinstance(query, slice):
            return [self[q] for q in range(*query.indices(len(self)))]
        return list(map(Hit, self.ids[query], self.distances[query]))


@runtime_checkable
class Index(Protocol):
    """Codes under ids, on a disk or in a database; `deepbinaries.index.check_index` proves one."""

    @property
    def bits(self) -> int:
        """The length of a code."""

    def add(self, ids: Sequence[str], codes: Codes) -> None:
        """Add new items; an id that is there already is refused."""

    def replace(self, ids: Sequence[str], codes: Codes) -> None:
        """Give items these codes, whether they are there already or not."""

    def remove(self, ids: Sequence[str]) -> int:
        """Remove items and say how many of them were there."""

    def search(self, codes: Codes, k: int, *, among: Sequence[str] | None = None, with_ties: bool = False) -> Answer:
        """The k nearest items of each code."""

    def range(self, codes: Codes, radius: int, *, among: Sequence[str] | None = None) -> Answer:
        """Every item within a radius of each code."""

    def codes_of(self, ids: Sequence[str]) -> Codes:
        """The codes of items, in the order of the ids; an id that is not there is refused."""

    def ids(self) -> Iterator[str]:
        """Every id, in the order of their bytes."""

    def __len__(self) -> int: ...

    def __contains__(self, id_: object) -> bool: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...

    def close(self) -> None: ...


def answer(found: Sequence[Found], radius: Sequence[int], *, rows_scanned: int, began: float, version: int) -> Answer:
    """An exact answer; `began` is the `time.perf_counter` at which the call began."""
    certificate = Certificate(
        exact=True,
        radius=tuple(radius),
        ties_left_out=tuple(of_query.ties_left_out for of_query in found),
        rows_scanned=rows_scanned,
        milliseconds=(time.perf_counter() - began) * 1000,
        version=version,
    )
    return Answer([of_query.ids for of_query in found], [of_query.distances for of_query in found], certificate)
