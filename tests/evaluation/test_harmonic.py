import math

import numpy as np
import pytest

from deepbinaries.evaluation.harmonic import TABLE_SIZE, harmonic, harmonic_between

EDGES = [0, 1, 2, TABLE_SIZE - 1, TABLE_SIZE, TABLE_SIZE + 1, 1000, 200_000]


@pytest.mark.parametrize("k", EDGES)
def test_harmonic_numbers_equal_the_exact_sum(k):
    exact = math.fsum(1 / i for i in range(1, k + 1))
    assert harmonic(np.array([k]))[0] == pytest.approx(exact, rel=4e-16, abs=0)


@pytest.mark.parametrize("start", EDGES)
@pytest.mark.parametrize("count", [0, 1, 3, 1000])
def test_a_difference_keeps_its_digits_far_from_the_start(start, count):
    exact = math.fsum(1 / r for r in range(start + 1, start + count + 1))
    # Below the table's end two numbers of size ~5 are subtracted; beyond it nothing is lost.
    absolute = 2e-15 if start < TABLE_SIZE else 0
    assert harmonic_between(np.array([start]), np.array([count]))[0] == pytest.approx(exact, rel=5e-16, abs=absolute)


def test_a_difference_is_right_ten_million_ranks_down():
    exact = math.fsum(1 / r for r in range(10_000_001, 10_000_011))
    assert harmonic_between(np.array([10_000_000]), 10)[0] == pytest.approx(exact, rel=5e-16, abs=0)
