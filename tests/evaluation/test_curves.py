import numpy as np
import pytest
from hypothesis import assume, given, settings
from tie_orders import bucket_lists, rankable

from deepbinaries.evaluation import Buckets
from deepbinaries.evaluation.curves import by_radius, by_rank, default_ranks, eleven_points, found_by_rank
from deepbinaries.evaluation.metrics import found_at


def slow_eleven_points(buckets):
    """From the expected number found at every single rank."""
    N, relevant = int(buckets.items[0]), int(buckets.relevant[0])
    found = [found_at(buckets, k).item() for k in range(1, N + 1)]
    return [
        max(found[k - 1] / k for k in range(1, N + 1) if found[k - 1] >= level / 10 * relevant - 1e-9)
        for level in range(11)
    ]


@given(buckets=bucket_lists(max_buckets=6, max_items=8))
@settings(max_examples=60, deadline=None)
def test_the_curve_passes_through_the_expected_number_found_at_every_rank(buckets):
    assume(sum(R for _, R in buckets))
    ranking = rankable(buckets)
    ranks = np.arange(1, ranking.items[0] + 1)
    slow = [found_at(ranking, int(k)).item() for k in ranks]
    assert found_by_rank(ranking, ranks)[0] == pytest.approx(slow, rel=1e-12)


@given(buckets=bucket_lists(max_buckets=6, max_items=8))
@settings(max_examples=60, deadline=None)
def test_eleven_points_are_the_highest_of_the_expected_curve(buckets):
    assume(sum(R for _, R in buckets))
    assert eleven_points(rankable(buckets))[0] == pytest.approx(slow_eleven_points(rankable(buckets)), rel=1e-12)


def test_the_mean_curve_leaves_out_queries_without_relevant_items():
    ranking = Buckets.of([[1, 1], [1, 1]], relevant=[[1, 0], [0, 0]])
    ranks = default_ranks(2)
    curve = by_rank(found_by_rank(ranking, ranks), eleven_points(ranking), ranking.relevant, ranks, "skip")
    assert curve.precision.tolist() == [1.0, 0.5]
    assert curve.recall.tolist() == [1.0, 1.0]
    assert curve.eleven_points.tolist() == [1.0] * 11


def test_the_mean_curve_counts_them_as_zero_when_the_rules_say_so():
    ranking = Buckets.of([[1, 1], [1, 1]], relevant=[[1, 0], [0, 0]])
    ranks = default_ranks(2)
    curve = by_rank(found_by_rank(ranking, ranks), eleven_points(ranking), ranking.relevant, ranks, "zero")
    assert curve.precision.tolist() == [0.5, 0.25]


def test_macro_counts_queries_alike_and_micro_counts_items_alike():
    n, R = np.array([[1, 9], [9, 1]]), np.array([[1, 0], [0, 1]])
    curve = by_radius(n, R, "skip")
    assert curve.precision[0] == pytest.approx((1 / 1 + 0 / 9) / 2)
    assert curve.micro_precision[0] == pytest.approx(1 / 10)
    assert curve.recall.tolist() == [0.5, 1.0]
    assert curve.micro_recall.tolist() == [0.5, 1.0]


def test_a_query_without_relevant_items_is_in_the_pot_only_when_the_rules_say_so():
    n, R = np.array([[2, 0], [2, 0]]), np.array([[1, 0], [0, 0]])
    skipped, zero = by_radius(n, R, "skip"), by_radius(n, R, "zero")
    assert (skipped.precision[0], skipped.micro_precision[0], skipped.recall[0]) == (0.5, 0.5, 1.0)
    assert (zero.precision[0], zero.micro_precision[0], zero.recall[0]) == (0.25, 0.25, 0.5)


def test_a_radius_with_nothing_in_it_fails_and_has_no_micro_precision():
    curve = by_radius(np.array([[0, 2]]), np.array([[0, 1]]), "skip")
    assert curve.failures.tolist() == [1.0, 0.0]
    assert curve.precision.tolist() == [0.0, 0.5]
    assert np.isnan(curve.micro_precision[0])


def test_a_large_gallery_is_looked_at_from_the_first_rank_to_the_last():
    ranks = default_ranks(85_000)
    assert ranks[0] == 1
    assert ranks[-1] == 85_000
    assert len(ranks) <= 200
    assert (np.diff(ranks) > 0).all()
