"""Answers of the shards of an index, merged into the one that a single index would give."""

from collections.abc import Sequence
from itertools import chain

from deepbinaries.index.base import Found


def nearest_of_all(of_shards: Sequence[Found], k: int) -> Found:
    """The k nearest items of all shards in (distance, id) order, from as many of each.

    Ties are counted as one index counts them: items at the last distance that are not in the answer, whether a shard
    has left them out or the merging does.

    >>> one, other = Found(["a", "d"], [1, 2], ties_left_out=5), Found(["b", "c"], [0, 2], ties_left_out=1)
    >>> nearest_of_all([one, other], k=3)
    Found(ids=['b', 'a', 'c'], distances=[0, 1, 2], ties_left_out=7)
    """
    ids, distances = _in_order(of_shards)
    left_out = 0
    if distances:
        edge = distances[:k][-1]
        left_out = distances[k:].count(edge)
        left_out += sum(found.ties_left_out for found in of_shards if found.distances[-1:] == [edge])
    return Found(ids[:k], distances[:k], left_out)


def nearest_with_ties(of_shards: Sequence[Found], k: int) -> Found:
    """The k nearest items of all shards and all that are as near as the last, from the same of each.

    >>> one, other = Found(["a", "d"], [1, 2], ties_left_out=0), Found(["b", "c"], [1, 3], ties_left_out=0)
    >>> nearest_with_ties([one, other], k=1)
    Found(ids=['a', 'b'], distances=[1, 1], ties_left_out=0)
    """
    ids, distances = _in_order(of_shards)
    n = len(distances)
    while n > k and distances[n - 1] > distances[k - 1]:
        n -= 1
    return Found(ids[:n], distances[:n], ties_left_out=0)


def all_within(of_shards: Sequence[Found]) -> Found:
    """Everything that the shards have found, in (distance, id) order."""
    return Found(*_in_order(of_shards), ties_left_out=0)


def _in_order(of_shards: Sequence[Found]) -> tuple[list[str], list[int]]:
    pairs = sorted(chain.from_iterable(zip(found.distances, found.ids, strict=True) for found in of_shards))
    return [id_ for _, id_ in pairs], [distance for distance, _ in pairs]
