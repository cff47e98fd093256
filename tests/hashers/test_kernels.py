"""Anchors and kernel features, judged by loops over pairs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from deepbinaries.hashers.kernels import cluster_centres, mean_squared_distance, rbf, squared_distances


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(40, 3)) + 2


def test_the_mean_squared_distance_is_that_of_all_pairs(rows):
    assert_allclose(mean_squared_distance(rows), np.mean([[np.sum((x - y) ** 2) for x in rows] for y in rows]))


def test_kernel_features_are_those_of_each_pair(rows):
    slow = [[np.exp(-np.sum((x - a) ** 2) / 5) for a in rows[:4]] for x in rows]
    assert_allclose(rbf(rows, rows[:4], 5.0), slow)


def test_an_item_is_at_no_distance_from_itself(rows):
    assert (squared_distances(rows * 1e6, rows * 1e6).min(axis=1) >= 0).all()


def test_every_centre_is_the_mean_of_the_items_nearest_to_it(rows):
    centres = cluster_centres(rows, 5, np.random.default_rng(1))
    nearest = squared_distances(rows, centres).argmin(axis=1)
    assert_allclose(centres, [rows[nearest == cluster].mean(axis=0) for cluster in range(5)])


def test_centres_are_nearer_than_the_rows_they_began_at(rows):
    begun = rows[np.sort(np.random.default_rng(1).choice(len(rows), 5, replace=False))]
    centres = cluster_centres(rows, 5, np.random.default_rng(1))
    assert squared_distances(rows, centres).min(axis=1).sum() < squared_distances(rows, begun).min(axis=1).sum()


def test_items_that_are_all_alike_have_one_centre():
    assert cluster_centres(np.ones((6, 2)), 3, np.random.default_rng(0)).tolist() == [[1.0, 1.0]] * 3
