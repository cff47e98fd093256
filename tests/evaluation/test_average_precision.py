"""Every formula against every order of ties."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score
from tie_orders import average_precision as of_one_order
from tie_orders import bucket_lists, mean, orders, rankable

from deepbinaries.errors import UsageError
from deepbinaries.evaluation import Buckets, average_precision, chance
from deepbinaries.evaluation.average_precision import mean_over_queries
from deepbinaries.evaluation.hits_divisor import hypergeometric

DIVISORS = ("relevant", "min", "hits")
CLOSE = {"rel": 1e-12, "abs": 1e-14}

cutoffs = st.none() | st.integers(1, 18)


@pytest.mark.parametrize("divide_by", DIVISORS)
@given(buckets=bucket_lists(), cutoff=cutoffs)
@settings(max_examples=80, deadline=None)
def test_the_expected_best_and_worst_values_are_those_of_all_orders(divide_by, buckets, cutoff):
    assume(sum(R for _, R in buckets))
    scores = [of_one_order(order, cutoff, divide_by) for order in orders(buckets)]
    found = {
        ties: average_precision(rankable(buckets), cutoff=cutoff, divide_by=divide_by, ties=ties).item()
        for ties in ("expected", "best", "worst")
    }
    assert found["expected"] == pytest.approx(mean(scores), **CLOSE)
    assert found["best"] == pytest.approx(max(scores), **CLOSE)
    assert found["worst"] == pytest.approx(min(scores), **CLOSE)


def test_a_sweep_of_random_rankings_agrees_with_all_their_orders():
    rng = np.random.default_rng(1)
    for _ in range(150):
        n = rng.integers(0, 6, rng.integers(1, 4))
        R = rng.integers(0, n + 1)
        if not R.sum():
            continue
        cutoff = int(rng.integers(1, n.sum() + 2))
        every_order = list(orders(list(zip(n.tolist(), R.tolist(), strict=True))))
        for divide_by in DIVISORS:
            scores = [of_one_order(order, cutoff, divide_by) for order in every_order]
            found = [
                average_precision(Buckets.of(n, relevant=R), cutoff=cutoff, divide_by=divide_by, ties=ties).item()
                for ties in ("worst", "expected", "best")
            ]
            assert found == pytest.approx([min(scores), mean(scores), max(scores)], **CLOSE)


@given(buckets=bucket_lists(max_buckets=9, max_items=40), cutoff=cutoffs, divide_by=st.sampled_from(DIVISORS))
@settings(max_examples=150, deadline=None)
def test_worst_is_at_most_expected_is_at_most_best(buckets, cutoff, divide_by):
    assume(sum(R for _, R in buckets))
    worst, expected, best = (
        average_precision(rankable(buckets), cutoff=cutoff, divide_by=divide_by, ties=ties).item()
        for ties in ("worst", "expected", "best")
    )
    assert worst <= expected + 1e-12
    assert expected <= best + 1e-12


@given(relevant=st.lists(st.booleans(), min_size=1, max_size=30).filter(any), cutoff=cutoffs)
@settings(max_examples=100, deadline=None)
def test_without_ties_the_three_values_are_one(relevant, cutoff):
    ranking = Buckets.of([1] * len(relevant), relevant=relevant)
    scores = [average_precision(ranking, cutoff=cutoff, ties=ties).item() for ties in ("worst", "expected", "best")]
    assert scores == pytest.approx([of_one_order(relevant, cutoff)] * 3, **CLOSE)


@given(relevant=st.lists(st.booleans(), min_size=1, max_size=200).filter(any))
@settings(max_examples=50, deadline=None)
def test_without_ties_scikit_learn_agrees(relevant):
    ranking = Buckets.of([1] * len(relevant), relevant=relevant)
    theirs = average_precision_score(relevant, -np.arange(len(relevant)))
    assert average_precision(ranking).item() == pytest.approx(theirs, **CLOSE)


@pytest.mark.parametrize("divide_by", DIVISORS)
@given(buckets=bucket_lists(max_buckets=3, max_items=3), cutoff=cutoffs)
@settings(max_examples=50, deadline=None)
def test_chance_is_the_mean_over_all_orders_of_the_whole_gallery(divide_by, buckets, cutoff):
    N, relevant = (sum(column) for column in zip(*buckets, strict=True))
    assume(relevant)
    scores = [of_one_order(order, cutoff, divide_by) for order in orders([(N, relevant)])]
    assert chance(rankable(buckets), cutoff=cutoff, divide_by=divide_by).item() == pytest.approx(mean(scores), **CLOSE)


@pytest.mark.parametrize(("N", "relevant"), [(1, 1), (2, 1), (1000, 100), (85_000, 9000), (7, 7)])
def test_chance_over_the_whole_gallery_is_the_printed_formula(N, relevant):
    a = (relevant - 1) / (N - 1) if N > 1 else 0
    H = sum(1 / r for r in range(1, N + 1))
    assert chance(Buckets.of([N], relevant=[relevant])).item() == pytest.approx((a * N + (1 - a) * H) / N, rel=1e-12)


@given(nearer=st.lists(st.booleans(), max_size=12), farther=st.lists(st.booleans(), max_size=12), cutoff=cutoffs)
@settings(max_examples=80, deadline=None)
@pytest.mark.parametrize("divide_by", ["relevant", "min"])
def test_moving_a_relevant_item_up_never_lowers_the_score(divide_by, nearer, farther, cutoff):
    worse, better = [*nearer, False, True, *farther], [*nearer, True, False, *farther]
    before, after = (
        average_precision(Buckets.of([1] * len(order), relevant=order), cutoff=cutoff, divide_by=divide_by).item()
        for order in (worse, better)
    )
    assert after >= before - 1e-15


def test_many_queries_are_scored_as_each_alone():
    rankings = [[(2, 1), (3, 0), (1, 1)], [(1, 0), (0, 0), (4, 4)], [(5, 0), (0, 0), (0, 0)]]
    together = Buckets.of(
        [[n for n, _ in ranking] for ranking in rankings], relevant=[[R for _, R in ranking] for ranking in rankings]
    )
    for divide_by in DIVISORS:
        alone = [average_precision(rankable(ranking), cutoff=4, divide_by=divide_by).item() for ranking in rankings]
        np.testing.assert_array_equal(average_precision(together, cutoff=4, divide_by=divide_by), alone)


def test_a_query_without_relevant_items_has_no_score():
    assert np.isnan(average_precision(Buckets.of([3], relevant=[0]))).all()


def test_finding_nothing_before_the_cut_scores_zero():
    nothing_found = Buckets.of([5, 5], relevant=[0, 5])
    for divide_by in DIVISORS:
        assert average_precision(nothing_found, cutoff=3, divide_by=divide_by).item() == 0.0


def test_a_cut_on_the_edge_of_a_bucket_leaves_the_divisor_no_choice():
    ranking = Buckets.of([2, 3], relevant=[1, 3])
    assert average_precision(ranking, cutoff=2, divide_by="hits").item() == pytest.approx((1 + 1 / 2) / 2)


def test_hypergeometric_weights_are_those_of_scipy_also_for_large_buckets():
    from scipy.stats import hypergeom

    n, R, m = 60_000, 9000, 5000
    x = np.arange(0, 5001)
    np.testing.assert_allclose(hypergeometric(n, R, m), hypergeom.pmf(x, n, R, m), rtol=1e-8, atol=1e-15)


def test_a_large_bucket_loses_no_digits_that_matter():
    n, R, C, P = 1000, 300, 1_000_000, 90_000
    exact = sum((P + 1 + (R - 1) / (n - 1) * (j - 1)) / (C + j) for j in range(1, n + 1)) * R / n
    ranking = Buckets.of([C - P, P, n], relevant=[0, P, R])
    before = average_precision(Buckets.of([C - P, P], relevant=[0, P])).item() * P
    assert average_precision(ranking).item() * (P + R) - before == pytest.approx(exact, abs=1e-8)


def test_queries_without_a_score_are_left_out_or_count_as_zero():
    per_query = np.array([0.6, np.nan, 0.3])
    assert mean_over_queries(per_query, "skip") == pytest.approx(0.45)
    assert mean_over_queries(per_query, "zero") == pytest.approx(0.3)


def test_an_unknown_order_of_ties_is_refused():
    with pytest.raises(UsageError, match="no order of ties is called 'random'"):
        average_precision(Buckets.of([1], relevant=[1]), ties="random")
