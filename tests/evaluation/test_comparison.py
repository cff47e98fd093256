import itertools

import numpy as np
import pytest

from deepbinaries.errors import UsageError
from deepbinaries.evaluation import compare, compare_table, holm
from deepbinaries.evaluation.comparison import sign_flip_p


def test_few_differences_are_flipped_in_every_way():
    differences = np.array([0.3, -0.1, 0.2, 0.05])
    flipped = [abs(np.dot(signs, differences)) for signs in itertools.product((-1, 1), repeat=4)]
    expected = np.mean([total >= abs(differences.sum()) - 1e-9 for total in flipped])
    assert sign_flip_p(differences) == expected


def test_many_differences_without_direction_are_luck():
    differences = np.random.default_rng(0).standard_normal(400)
    assert 0.05 < sign_flip_p(differences - differences.mean() + 0.01) <= 1


def test_a_p_value_is_never_zero():
    assert sign_flip_p(np.full(100, 0.5)) == 1 / 10_001


def test_drawn_flips_agree_with_all_flips():
    differences = np.random.default_rng(2).standard_normal(12) + 0.4
    assert sign_flip_p(differences, flips=4000) == pytest.approx(sign_flip_p(differences), abs=0.03)


def test_pairing_sees_a_small_difference_under_a_large_spread():
    rng = np.random.default_rng(1)
    hard_and_easy = rng.random(600)
    better = compare(hard_and_easy + 0.01 + 0.02 * rng.standard_normal(600), hard_and_easy)
    assert better.interval.low > 0
    assert better.p < 0.01


def test_queries_without_a_score_drop_out_of_both():
    assert compare([0.5, np.nan, 0.7], [0.4, np.nan, 0.5]).mean == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        ([0.1, 0.2], [0.1], "not of the same queries"),
        ([0.1, np.nan], [0.1, 0.2], "query 1 has a score from one method only"),
        ([np.nan], [np.nan], "no query has a score"),
    ],
)
def test_scores_of_different_queries_are_refused(first, second, problem):
    with pytest.raises(UsageError, match=problem):
        compare(first, second)


def test_holm_multiplies_the_smallest_most_and_keeps_the_order():
    assert holm([0.04, 0.01, 0.02, 0.9]).tolist() == pytest.approx([0.08, 0.04, 0.06, 0.9])


def test_holm_never_exceeds_one():
    assert holm([0.7, 0.8]).tolist() == [1.0, 1.0]


def test_a_table_corrects_for_its_own_length():
    reference = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    table = compare_table(reference, {"worse": reference - 0.1, "equal": reference})
    assert table["worse"].p == pytest.approx(2 / 64)
    assert table["worse"].p_holm == pytest.approx(4 / 64)
    assert table["equal"].p_holm == 1.0
