"""Copying the items of an index to another one of whatever kind, and the proof that both answer alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter

import numpy as np

from deepbinaries.codes import Codes, concatenate
from deepbinaries.errors import UsageError
from deepbinaries.index.base import Answer, Index
from deepbinaries.progress import track

PORTION = 100_000  # items that are committed together
NEIGHBOURS = 10  # that each query of a comparison asks for
ASKED_TOGETHER = 100  # queries


@dataclass(frozen=True)
class Copied:
    """What copying an index did."""

    copied: int  # items that were not there, or had another code
    unchanged: int


@dataclass(frozen=True)
class Comparison:
    """Whether two indexes answer alike."""

    queries: int
    ids_compared: bool  # also among equal distances; only where both order them
    problems: tuple[str, ...] = ()

    @property
    def alike(self) -> bool:
        """Whether nothing differs."""
        return not self.problems


def copy_items(source: Index, target: Index) -> Copied:
    """Give a target all items of a source. It is safe to repeat, and goes on where it was interrupted.

    A target that holds other items is refused before anything is written: nothing is ever removed from it.

    >>> import tempfile
    >>> from deepbinaries.index import EmbeddedIndex
    >>> source, target = (EmbeddedIndex(tempfile.mkdtemp(), bits=2, writable=True) for _ in range(2))
    >>> source.add(["dog", "beach"], Codes.from_bits([[1, 1], [0, 1]]))
    >>> copy_items(source, target), copy_items(source, target)
    (Copied(copied=2, unchanged=0), Copied(copied=0, unchanged=2))
    """
    if source.bits != target.bits:
        raise UsageError(f"{source!r} and {target!r} hold codes of different lengths", next_step="copy to a new place")
    if len(target):
        _refuse_other_items(source, target)
    copied, unchanged = 0, 0
    for portion in track(_portions(source, target), "copying the index", total=-(-len(source) // PORTION)):
        changed = _changed(source, target, portion)
        copied, unchanged = copied + changed, unchanged + len(portion) - changed
    return Copied(copied, unchanged)


def compare_answers(one: Index, other: Index, n_queries: int, *, seed: int = 0) -> Comparison:
    """Whether two indexes answer random queries alike; half of them are codes of items, the others any codes.

    Distances must be equal, and ids too. An index with `stable_ties = False` may choose among equal distances as it
    likes: then only those that are nearer than the last are compared.
    """
    stable = all(getattr(index, "stable_ties", True) for index in (one, other))
    problems = []
    if len(one) != len(other):
        problems.append(f"there are {len(one):,} items here and {len(other):,} there")
    queries = _random_queries(one, n_queries, np.random.default_rng(seed))
    different: list[str] = []
    for begin in track(range(0, n_queries, ASKED_TOGETHER), "comparing answers"):
        asked = queries[begin : begin + ASKED_TOGETHER]
        here, there = one.search(asked, NEIGHBOURS), other.search(asked, NEIGHBOURS)
        rows = (q for q in range(len(asked)) if not _alike(here, there, q, stable=stable))
        different += [f"{_digits(asked, q)} finds {_hits(here, q)} here, {_hits(there, q)} there" for q in rows]
    if different:
        problems.append(f"{len(different):,} of {n_queries:,} queries are answered differently (code {different[0]})")
    return Comparison(n_queries, stable, tuple(problems))


def _refuse_other_items(source: Index, target: Index) -> None:
    for id_, sides in _in_either(source, target):
        if sides == {"target"}:
            raise UsageError(
                f"{target!r} holds {id_!r}, which {source!r} does not",
                next_step="copy to a new place, or remove it there first; nothing was changed",
            )


def _in_either(source: Index, target: Index) -> Iterator[tuple[str, set[str]]]:
    """Every id in the order of bytes, with the sides that hold it; both give theirs in this order."""
    marked = merge(((id_, "source") for id_ in source.ids()), ((id_, "target") for id_ in target.ids()))
    for id_, group in groupby(marked, key=itemgetter(0)):
        yield id_, {side for _, side in group}


def _portions(source: Index, target: Index) -> Iterator[list[tuple[str, set[str]]]]:
    items = _in_either(source, target)
    while portion := list(islice(items, PORTION)):
        yield portion


def _changed(source: Index, target: Index, portion: Sequence[tuple[str, set[str]]]) -> int:
    """How many items of a portion had to be written."""
    ids = [id_ for id_, _ in portion]
    codes = source.codes_of(ids)
    different = np.ones(len(ids), dtype=np.bool_)
    known = np.flatnonzero(["target" in sides for _, sides in portion])
    if known.size:
        stored = target.codes_of([ids[row] for row in known])
        different[known] = (stored.packed != codes.packed[known]).any(axis=1)
    rows = np.flatnonzero(different)
    if rows.size:
        target.replace([ids[row] for row in rows], codes[rows])
    return len(rows)


def _random_queries(index: Index, n: int, rng: np.random.Generator) -> Codes:
    any_codes = Codes.from_bits(rng.integers(0, 2, (n, index.bits)))
    if not len(index) or n < 2:
        return any_codes
    places = set(rng.integers(0, len(index), n // 2).tolist())
    ids = [id_ for place, id_ in enumerate(index.ids()) if place in places]
    return concatenate([index.codes_of(ids), any_codes])[:n]


def _alike(here: Answer, there: Answer, q: int, *, stable: bool) -> bool:
    if here.distances[q] != there.distances[q]:
        return False
    if stable:
        return here.ids[q] == there.ids[q]
    last = here.distances[q][-1:]
    nearer = [{hit for hit in answer[q] if [hit.distance] < last} for answer in (here, there)]
    return nearer[0] == nearer[1]


def _hits(answer: Answer, q: int) -> str:
    return ", ".join(f"{hit.id!r} at {hit.distance}" for hit in answer[q][:3]) or "nothing"


def _digits(codes: Codes, q: int) -> str:
    return bytes(codes.packed[q]).hex()
