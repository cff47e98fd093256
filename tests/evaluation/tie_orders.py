"""The slow, obvious judge: every order of tied items, written out, and each metric of a plain list."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from hypothesis import strategies as st

from deepbinaries.evaluation import Buckets

Bucket = tuple[int, int]  # items, relevant items


def bucket_lists(max_buckets: int = 4, max_items: int = 4) -> st.SearchStrategy[list[Bucket]]:
    """Random small rankings, with empty buckets, single items, R = 0 and R = n among them."""
    bucket = st.integers(0, max_items).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
    return st.lists(bucket, min_size=1, max_size=max_buckets).filter(lambda buckets: sum(n for n, _ in buckets) > 0)


def rankable(buckets: Sequence[Bucket]) -> Buckets:
    return Buckets.of([n for n, _ in buckets], relevant=[R for _, R in buckets])


def orders(buckets: Sequence[Bucket]) -> Iterator[tuple[bool, ...]]:
    """Every order as a list of relevant or not; each is as likely as the others."""
    patterns = [
        [tuple(place in chosen for place in range(n)) for chosen in itertools.combinations(range(n), R)]
        for n, R in buckets
    ]
    for choice in itertools.product(*patterns):
        yield tuple(itertools.chain.from_iterable(choice))


def graded_orders(buckets: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Every order of items given by their grades."""
    for choice in itertools.product(*(list(itertools.permutations(bucket)) for bucket in buckets)):
        yield tuple(itertools.chain.from_iterable(choice))


def average_precision(order: Sequence[bool], cutoff: int | None = None, divide_by: str = "relevant") -> float:
    """Of one order, from the definition."""
    K = len(order) if cutoff is None else cutoff
    found, total = 0, 0.0
    for rank, relevant in enumerate(order[:K], start=1):
        if relevant:
            found += 1
            total += found / rank
    divisor = {"relevant": sum(order), "min": min(K, sum(order)), "hits": found}[divide_by]
    return total / divisor if divisor else 0.0


def ndcg(order: Sequence[int], k: int, gain: str) -> float:
    def gains(grades: Sequence[int]) -> float:
        return sum(
            ((2**g - 1) if gain == "2^g-1" else g) / np.log2(rank + 1) for rank, g in enumerate(grades[:k], start=1)
        )

    return gains(order) / gains(sorted(order, reverse=True))


def mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
