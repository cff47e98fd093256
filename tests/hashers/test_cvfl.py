"""Cross-View Feature Learning, judged by the equation that its map has to fulfil."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from slow_views import slow_views
from wiki import both_ways, learnt_and_asked

from deepbinaries.errors import UsageError
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.cvfl import CVFL, laplacian, smooth_ridge
from deepbinaries.hashers.plsr import pls


@pytest.mark.parametrize("preset", ["cvfl", "cvfl-lap"])
def test_cvfl_keeps_the_contract_of_a_hasher(pairs, tmp_path, preset):
    check_hasher(lambda: CVFL.preset(preset), pairs, tmp_path)


def test_without_a_laplacian_it_is_ridge_regression(pairs):
    X, Y = slow_views(pairs)
    stacked = np.vstack([Y, np.sqrt(3.0) * np.eye(Y.shape[1])])
    expected = np.linalg.lstsq(stacked, np.vstack([X, np.zeros((Y.shape[1], X.shape[1]))]), rcond=None)[0]
    assert_allclose(smooth_ridge(Y.T @ Y, Y.T @ X, 3.0), expected, atol=1e-9)


def test_with_hardly_a_ridge_it_is_plsr_with_all_components(pairs):
    X, Y = slow_views(pairs)
    expected, _ = pls(Y.T @ Y, Y.T @ X, 100)
    smooth = 1e-9 * laplacian(X.T @ X, 0)
    assert_allclose(smooth_ridge(Y.T @ Y, Y.T @ X, 1e-9, smooth), expected, atol=1e-6)


@pytest.mark.parametrize("neighbours", [0, 3])
def test_the_map_fulfils_its_equation(pairs, neighbours):
    X, Y = slow_views(pairs)
    Lv = 5.0 * laplacian(X.T @ X, neighbours)
    A = smooth_ridge(Y.T @ Y, Y.T @ X, 2.0, Lv)
    assert_allclose((Y.T @ Y + 2.0 * np.eye(Y.shape[1])) @ A + A @ Lv, Y.T @ X, atol=1e-8)


def test_the_laplacian_is_one(pairs):
    X, _ = slow_views(pairs)
    L = laplacian(X.T @ X, 3)
    assert_allclose(L, L.T)
    assert_allclose(L.sum(axis=0), np.zeros(len(L)), atol=1e-12)
    assert (L - np.diag(np.diagonal(L)) <= 0).all()


def test_each_feature_keeps_its_neighbours(pairs):
    X, _ = slow_views(pairs)
    ties = (laplacian(X.T @ X, 3) < 0).sum(axis=1)
    assert ties.min() >= 3
    assert ties.max() < X.shape[1] - 1


def test_affinities_are_those_of_columns(pairs):
    X, _ = slow_views(pairs)
    distance = np.array([[np.sum((one - other) ** 2) for other in X.T] for one in X.T])
    assert_allclose(-laplacian(X.T @ X, 0)[0, 1:], np.exp(-distance / distance.mean())[0, 1:], atol=1e-9)


def test_a_ridge_of_zero_is_refused():
    with pytest.raises(UsageError, match="without a ridge"):
        CVFL.preset("cvfl", ridge=0.0)


@pytest.mark.parametrize(("preset", "expected"), [("cvfl", [0.2175, 0.1787]), ("cvfl-lap", [0.2167, 0.1773])])
def test_it_reaches_on_wiki_what_it_should(real_data, preset, expected):
    learnt, asked = learnt_and_asked(real_data)
    assert_allclose(both_ways(CVFL.preset(preset).fit(learnt), learnt, asked), expected, atol=0.001)
