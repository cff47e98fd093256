import math

import numpy as np
import pytest
from scipy import stats

from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import over_queries, over_seeds, over_seeds_and_queries
from deepbinaries.evaluation.uncertainty import t_quantile


def scores(n, seed=0):
    return np.random.default_rng(seed).beta(2, 5, n)


def test_the_interval_of_many_queries_is_two_standard_errors_wide_on_each_side():
    values = scores(5000)
    interval = over_queries(values)
    error = values.std() / math.sqrt(len(values))
    assert interval.method == "percentile bootstrap over queries"
    assert interval.low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert interval.high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_few_queries_get_the_corrected_interval_that_scipy_gives():
    values = scores(40) ** 3  # skewed
    ours = over_queries(values, resamples=20_000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    assert ours.method == "BCa bootstrap over queries"
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=0.02)


def test_the_same_scores_give_the_same_interval_to_the_bit():
    assert over_queries(scores(600), seed=3) == over_queries(scores(600), seed=3)


def test_another_seed_draws_other_queries():
    assert over_queries(scores(600), seed=3) != over_queries(scores(600), seed=4)


def test_queries_without_a_score_are_left_out_of_the_interval():
    values = scores(50)
    assert over_queries(np.concatenate([values, [np.nan] * 5])) == over_queries(values)


def test_a_single_query_has_no_interval():
    assert math.isnan(over_queries([0.5]).low)


def test_equal_scores_have_an_interval_without_width():
    interval = over_queries([0.25] * 10)
    assert (interval.low, interval.high) == (0.25, 0.25)


def test_a_matrix_is_no_row_of_scores():
    with pytest.raises(UsageError, match="one row of numbers"):
        over_queries([[0.5]])


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 10, 29, 200])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_t_quantiles_are_those_of_scipy(level, freedom):
    assert t_quantile(level, freedom) == pytest.approx(stats.t.ppf((1 + level) / 2, freedom), rel=1e-9)


def test_the_spread_over_seeds_is_a_t_interval():
    values = [0.61, 0.63, 0.60, 0.64, 0.62]
    spread = over_seeds(values)
    low, high = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert (spread.interval.low, spread.interval.high) == pytest.approx((low, high))
    assert (spread.mean, spread.n_seeds) == (pytest.approx(0.62), 5)


def test_one_seed_has_no_spread():
    with pytest.raises(UsageError, match="a spread needs two seeds, there are 1"):
        over_seeds([0.6])


def width(interval):
    return interval.high - interval.low


def test_seeds_that_agree_on_every_query_do_not_shrink_the_noise_of_the_queries():
    values = scores(600)
    two_level = over_seeds_and_queries(np.tile(values, (5, 1)))
    assert width(two_level) == pytest.approx(width(over_queries(values)), rel=0.1)


def test_seeds_with_queries_of_their_own_do():
    values = scores(600)
    own_queries = over_seeds_and_queries(np.tile(values, (4, 1)), same_queries=False)
    assert width(own_queries) == pytest.approx(width(over_queries(values)) / 2, rel=0.15)


def test_seeds_that_differ_widen_the_interval():
    values = scores(600)
    moved = values + np.array([[-0.1], [0.0], [0.1]])
    assert width(over_seeds_and_queries(moved)) > 3 * width(over_queries(values))


def test_a_seed_that_misses_a_query_is_refused():
    with pytest.raises(DataError, match="no score for a query"):
        over_seeds_and_queries([[0.5, np.nan], [0.5, 0.5]])


def test_two_levels_need_two_seeds():
    with pytest.raises(UsageError, match="two seeds and two queries"):
        over_seeds_and_queries([0.5, 0.6])
