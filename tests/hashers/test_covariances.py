"""Covariances and shared directions, judged by whole matrices and by a generalised eigenproblem."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from slow_views import slow_views

from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers import views
from deepbinaries.hashers.covariances import covariances, root, share, shared_directions

REGULARISATION = 0.05


def directions(X: np.ndarray, Y: np.ndarray, regularisation: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    Rx, Ry = (root(S, share(S, regularisation)) for S in (X.T @ X, Y.T @ Y))
    return shared_directions(X.T @ Y, Rx, Ry)


@pytest.mark.parametrize("block", [1, 7, 240, 1000])
def test_blocks_of_any_size_give_the_same_covariances(pairs, monkeypatch, block):
    X, Y = slow_views(pairs)
    L = pairs.labels.matrix() / np.sqrt(pairs.labels.sizes())[:, None]
    monkeypatch.setattr(views, "BLOCK", block)
    S = covariances(pairs)
    for found, expected in zip(
        (S.Sxx, S.Syy, S.Sxy, S.XL, S.YL), (X.T @ X, Y.T @ Y, X.T @ Y, X.T @ L, Y.T @ L), strict=True
    ):
        assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


@given(st.floats(-1e5, 1e5))
def test_a_large_mean_costs_no_digits(shift):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)).astype(np.float32).astype(np.float64)
    moved = Texts.from_vectors(X + shift)
    S = covariances(Pairs(Images.from_vectors(X), moved, Labels.from_names([["a"]] * 50)))
    assert_allclose(S.Syy, (X - X.mean(axis=0)).T @ (X - X.mean(axis=0)), atol=1e-8)


def test_correlations_are_the_eigenvalues(pairs):
    """Of [[0, Sxy], [Sxy', 0]] a = s blkdiag(Sxx + ex I, Syy + ey I) a."""
    X, Y = slow_views(pairs)
    loose = [S + REGULARISATION * np.trace(S) / len(S) * np.eye(len(S)) for S in (X.T @ X, Y.T @ Y)]
    across = np.zeros((X.shape[1] + Y.shape[1],) * 2)
    across[: X.shape[1], X.shape[1] :] = X.T @ Y
    s = scipy.linalg.eigh(across + across.T, scipy.linalg.block_diag(*loose))[0][::-1]
    _, _, found = directions(X, Y, REGULARISATION)
    assert_allclose(found, s[: len(found)], atol=1e-10)


def test_directions_are_orthonormal_in_the_covariance(pairs):
    X, Y = slow_views(pairs)
    Wx, Wy, s = directions(X, Y, 0.0)
    assert_allclose(Wx.T @ X.T @ X @ Wx, np.eye(len(s)), atol=1e-9)
    assert_allclose(Wx.T @ X.T @ Y @ Wy, np.diag(s), atol=1e-9)


def test_correlations_do_not_change_under_a_linear_map_of_a_view(pairs):
    X, Y = slow_views(pairs)
    mapped = X @ np.random.default_rng(0).normal(size=(X.shape[1], X.shape[1]))
    assert_allclose(directions(X, Y, 0.0)[2], directions(mapped, Y, 0.0)[2], atol=1e-8)


def test_swapped_views_swap_their_directions(pairs):
    X, Y = slow_views(pairs)
    Wx, Wy, _ = directions(X, Y, REGULARISATION)
    other_y, other_x, _ = directions(Y, X, REGULARISATION)
    assert_allclose(np.abs(Wx), np.abs(other_x), atol=1e-8)
    assert_allclose(np.abs(Wy), np.abs(other_y), atol=1e-8)


def test_features_that_sum_to_one_have_a_direction_less():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    Y = np.exp(X[:, :5] + rng.normal(size=(400, 5)))
    Y = (Y / Y.sum(axis=1, keepdims=True)).astype(np.float32).astype(float)  # to one up to the last digit
    _, _, s = directions(X - X.mean(axis=0), Y - Y.mean(axis=0), 1e-6)
    assert len(s) == 4


def test_a_view_that_never_changes_asks_for_regularisation():
    with pytest.raises(DataError, match="larger regularisation"):
        root(np.zeros((2, 2)), 0.0)
