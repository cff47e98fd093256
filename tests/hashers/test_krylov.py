"""Outermost vectors of matrices that are only multiplied with, judged by numpy's dense decompositions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from deepbinaries.hashers.krylov import BLOCK, leading_pair, smallest_eigenvectors


@given(rows=st.integers(1, 30), columns=st.integers(1, 30), seed=st.integers(0, 1000))
def test_the_leading_pair_is_that_of_a_dense_decomposition(rows, columns, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rows, columns))
    u, s, v = leading_pair(A.__matmul__, A.T.__matmul__, columns, rng=rng)
    assert_allclose(s, np.linalg.svd(A, compute_uv=False)[0], rtol=1e-10)
    assert_allclose(A @ v, s * u, atol=1e-9 * s)
    assert_allclose(A.T @ u, s * v, atol=1e-9 * s)


def test_the_largest_entry_of_the_left_vector_is_positive():
    A = -np.diag([1.0, 5.0, 2.0])
    u, _, v = leading_pair(A.__matmul__, A.T.__matmul__, 3, rng=np.random.default_rng(0))
    assert_allclose((u, v), ([0, 1, 0], [0, -1, 0]), atol=1e-9)


@pytest.mark.parametrize("n", [3, BLOCK, BLOCK + 1, 150])
def test_the_smallest_eigenvectors_are_those_of_a_dense_decomposition(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    Q = root @ root.T
    e, F = smallest_eigenvectors(Q.__matmul__, n, min(n, 5), rng=rng)
    assert_allclose(e, np.linalg.eigvalsh(Q)[: len(e)], atol=1e-6 * n)
    assert_allclose(F.T @ F, np.eye(len(e)), atol=1e-9)
    assert_allclose(Q @ F, F * e, atol=1e-6 * np.linalg.norm(Q, 2))


def test_a_value_that_occurs_many_times_is_found_as_often():
    Q = np.diag(np.repeat([0.0, 1.0, 2.0], [BLOCK, 40, 40]))
    e, F = smallest_eigenvectors(Q.__matmul__, len(Q), BLOCK + 5, rng=np.random.default_rng(0))
    assert_allclose(e, np.repeat([0.0, 1.0], [BLOCK, 5]), atol=1e-9)
    assert_allclose(F.T @ F, np.eye(BLOCK + 5), atol=1e-9)


def test_a_few_vectors_of_a_large_matrix_need_a_small_part_of_it():
    asked = []

    def times(V):
        asked.append(V.shape[1])
        return np.linspace(0, 1, 2000)[:, None] ** 0.5 * V

    smallest_eigenvectors(times, 2000, 4, rng=np.random.default_rng(0))
    assert sum(asked) < 1000
