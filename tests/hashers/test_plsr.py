"""Partial least squares, judged by NIPALS on the items themselves and by least squares."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from slow_views import slow_views
from wiki import both_ways, learnt_and_asked

from deepbinaries.errors import DataError, UsageError
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.plsr import PLSR, pls


def small(**settings) -> PLSR:
    return PLSR.preset("plsr", **({"components": 4} | settings))


def nipals(Y: np.ndarray, X: np.ndarray, components: int) -> np.ndarray:
    """B with Y B near X, by Wold's iteration over items."""
    F, E = Y.copy(), X.copy()
    W, P, Q = [], [], []
    for _ in range(components):
        u = E[:, E.var(axis=0).argmax()]
        for _ in range(5000):
            w = F.T @ u / np.linalg.norm(F.T @ u)
            t = F @ w
            q = E.T @ t / (t @ t)
            u = E @ q / (q @ q)
        p = F.T @ t / (t @ t)
        F, E = F - np.outer(t, p), E - np.outer(t, q)
        W, P, Q = [*W, w], [*P, p], [*Q, q]
    W, P, Q = (np.array(some).T for some in (W, P, Q))
    return W @ np.linalg.solve(P.T @ W, Q.T)


def test_plsr_keeps_the_contract_of_a_hasher(pairs, tmp_path):
    check_hasher(small, pairs, tmp_path)


def test_it_is_nipals(pairs):
    X, Y = slow_views(pairs)
    found, _ = pls(Y.T @ Y, Y.T @ X, 4, tolerance=1e-9)
    assert_allclose(found, nipals(Y, X, 4), atol=1e-7)


def test_all_components_are_least_squares(pairs):
    X, Y = slow_views(pairs)
    found, used = pls(Y.T @ Y, Y.T @ X, 100)
    assert used == np.linalg.matrix_rank(Y)
    assert_allclose(found, np.linalg.lstsq(Y, X, rcond=None)[0], atol=1e-8)


def test_it_ends_where_a_view_has_no_further_direction(pairs):
    X, Y = slow_views(pairs)
    Y = np.hstack([Y, Y[:, :3] @ np.ones((3, 2))])  # two features that say nothing new
    found, used = pls(Y.T @ Y, Y.T @ X, 100)
    assert used == np.linalg.matrix_rank(Y)
    assert_allclose(Y @ found, Y @ np.linalg.lstsq(Y, X, rcond=None)[0], atol=1e-6)


def test_more_components_never_predict_worse(pairs):
    X, Y = slow_views(pairs)
    errors = [np.linalg.norm(X - Y @ pls(Y.T @ Y, Y.T @ X, k)[0]) for k in range(1, 11)]
    assert (np.diff(errors) <= 1e-9).all()


def test_sentences_come_to_lie_near_their_pictures(pairs, others):
    hasher = small(components=10).fit(pairs)
    images, texts = hasher.encode(others.images), hasher.encode(others.texts)
    assert np.linalg.norm(images - texts) < 0.7 * np.linalg.norm(images)


def test_values_are_as_wide_as_what_is_predicted(pairs):
    assert small().fit(pairs).bits == pairs.images.width
    assert small(direction="image_to_text").fit(pairs).encode(pairs.images).shape == (len(pairs), 10)


def test_views_that_share_nothing_are_refused():
    with pytest.raises(DataError, match="nothing in common"):
        pls(np.eye(2), np.zeros((2, 3)), 1)


@pytest.mark.parametrize(
    ("settings", "message"), [({"components": 0}, "components=0"), ({"direction": "up"}, "text_to_image")]
)
def test_wrong_settings_are_refused_where_they_are_written(settings, message):
    with pytest.raises(UsageError, match=message):
        small(**settings)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"components": 5}, [0.2237, 0.1779]), ({"components": 9, "direction": "image_to_text"}, [0.2599, 0.2109])],
)
def test_it_reaches_on_wiki_what_it_should(real_data, settings, expected):
    learnt, asked = learnt_and_asked(real_data)
    assert_allclose(both_ways(small(**settings).fit(learnt), learnt, asked), expected, atol=0.001)
