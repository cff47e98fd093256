"""Precision, recall, hits, ranks and NDCG against every order of ties."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tie_orders import bucket_lists, graded_orders, mean, ndcg, orders, rankable

from deepbinaries.errors import UsageError
from deepbinaries.evaluation import Buckets
from deepbinaries.evaluation.gains import ndcg_at
from deepbinaries.evaluation.metrics import (
    first_rank,
    found_at,
    hit_at,
    lookup_failure,
    lookup_precision,
    precision_at,
    recall_at,
    reciprocal_rank,
)

CLOSE = {"rel": 1e-12, "abs": 1e-14}
ks = st.integers(1, 18)


@given(buckets=bucket_lists(), k=ks)
@settings(max_examples=60, deadline=None)
def test_precision_and_recall_are_those_of_all_orders(buckets, k):
    relevant = sum(R for _, R in buckets)
    assume(relevant)
    found = mean([sum(order[:k]) for order in orders(buckets)])
    assert precision_at(rankable(buckets), k).item() == pytest.approx(found / k, **CLOSE)
    assert recall_at(rankable(buckets), k).item() == pytest.approx(found / relevant, **CLOSE)


@given(buckets=bucket_lists(), k=ks)
@settings(max_examples=60, deadline=None)
def test_a_hit_is_as_likely_as_over_all_orders(buckets, k):
    assume(sum(R for _, R in buckets))
    hits = mean([any(order[:k]) for order in orders(buckets)])
    assert hit_at(rankable(buckets), k).item() == pytest.approx(hits, **CLOSE)


@pytest.mark.parametrize(("k", "expected"), [(2, 0.0), (3, 0.25), (5, 0.75), (6, 1.0), (100, 1.0)])
def test_the_pair_is_hit_in_proportion_to_the_places_its_ties_are_given(k, expected):
    assert hit_at(Buckets.of([2, 4, 1], relevant=[0, 1, 0]), k).item() == expected


@given(buckets=bucket_lists())
@settings(max_examples=60, deadline=None)
def test_reciprocal_and_plain_rank_of_the_first_relevant_item_are_those_of_all_orders(buckets):
    assume(sum(R for _, R in buckets))
    ranks = [order.index(True) + 1 for order in orders(buckets)]
    assert reciprocal_rank(rankable(buckets)).item() == pytest.approx(mean([1 / rank for rank in ranks]), **CLOSE)
    assert first_rank(rankable(buckets)).item() == pytest.approx(mean(ranks), **CLOSE)


@pytest.mark.parametrize("gain", ["g", "2^g-1"])
@given(
    buckets=st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=3).filter(
        lambda buckets: any(map(any, buckets))
    ),
    k=st.integers(1, 13),
)
@settings(max_examples=40, deadline=None)
def test_ndcg_is_that_of_all_orders(gain, buckets, k):
    counts = np.array([[[bucket.count(grade) for bucket in buckets] for grade in range(4)]])
    expected = mean([ndcg(order, k, gain) for order in graded_orders(buckets)])
    assert ndcg_at(Buckets(counts), k, gain).item() == pytest.approx(expected, **CLOSE)


def test_an_unknown_gain_is_refused():
    with pytest.raises(UsageError, match="no gain is called 'squared'"):
        ndcg_at(Buckets.of([1], relevant=[1]), 1, "squared")


def test_ranks_beyond_the_gallery_count_as_misses():
    assert precision_at(Buckets.of([2], relevant=[2]), 4).item() == 0.5


def test_a_query_without_relevant_items_has_no_metric():
    nothing = Buckets.of([[0, 3]], relevant=[[0, 0]])
    for metric in (reciprocal_rank, first_rank):
        assert np.isnan(metric(nothing)).all()
    for metric in (precision_at, recall_at, hit_at, ndcg_at, lookup_precision, lookup_failure):
        assert np.isnan(metric(nothing, 1)).all()


@pytest.mark.parametrize("metric", [found_at, hit_at, ndcg_at])
def test_looking_at_no_rank_is_refused(metric):
    with pytest.raises(UsageError, match="the first 0 ranks hold nothing"):
        metric(Buckets.of([1], relevant=[1]), 0)


def test_a_lookup_that_finds_nothing_has_precision_zero_and_is_counted():
    by_distance = Buckets.of([[0, 2, 2], [0, 0, 4]], relevant=[[0, 1, 0], [0, 0, 4]])
    assert lookup_precision(by_distance, radius=1).tolist() == [0.5, 0.0]
    assert lookup_failure(by_distance, radius=1).tolist() == [0.0, 1.0]
