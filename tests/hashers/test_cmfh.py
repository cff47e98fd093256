"""Collective Matrix Factorisation Hashing, judged by the same steps on whole matrices."""

from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose
from slow_views import slow_views
from wiki import both_ways, learnt_and_asked

from deepbinaries.codes import Codes
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import evaluate
from deepbinaries.features.inputs import Images, Pairs
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.cmfh import CMFH, CMFHSettings, factorise
from deepbinaries.hashers.covariances import covariances


def small(**settings) -> CMFH:
    return CMFH.preset("cmfh", **({"bits": 6} | settings))


def slow_factorise(X: np.ndarray, Y: np.ndarray, settings: CMFHSettings, iterations: int):
    """V, P_1, P_2 and f, with every matrix written out and the same start."""
    rng, M = np.random.default_rng(settings.seed), settings.bits
    mu, gamma, weights = settings.prediction, settings.regularisation, (settings.image_weight, settings.text_weight)
    views = (X, Y)
    A = [rng.random((view.shape[1], M)) for view in views]
    P = [rng.random((view.shape[1], M)) for view in views]
    V = X @ A[0] + Y @ A[1]
    for _ in range(iterations):
        U = [
            np.linalg.solve(V.T @ V + gamma / weight * np.eye(M), V.T @ view)
            for weight, view in zip(weights, views, strict=True)
        ]
        H = sum(weight * Ut @ Ut.T for weight, Ut in zip(weights, U, strict=True)) + (2 * mu + gamma) * np.eye(M)
        towards = sum(
            view @ (weight * Ut.T + mu * Pt) for view, weight, Ut, Pt in zip(views, weights, U, P, strict=True)
        )
        V = towards @ np.linalg.inv(H)
        P = [np.linalg.solve(view.T @ view + gamma / mu * np.eye(view.shape[1]), view.T @ V) for view in views]
    f = gamma * np.sum(V**2)
    for weight, view, Ut, Pt in zip(weights, views, U, P, strict=True):
        f += weight * np.sum((view - V @ Ut) ** 2) + mu * np.sum((V - view @ Pt) ** 2)
        f += gamma * (np.sum(Ut**2) + np.sum(Pt**2))
    return V, P, f


@pytest.mark.parametrize("preset", ["cmfh", "cmfh-scaled"])
def test_cmfh_keeps_the_contract_of_a_hasher(pairs, tmp_path, preset):
    check_hasher(lambda: CMFH.preset(preset, bits=6), pairs, tmp_path)


def test_sums_of_products_give_what_the_items_give(pairs):
    X, Y = slow_views(pairs)
    settings = CMFHSettings(bits=6)
    V, P, f = slow_factorise(X, Y, settings, 10)
    *_, state = islice(factorise(covariances(pairs), settings), 10)
    assert_allclose(X @ state.A[0] + Y @ state.A[1], V, atol=1e-8)
    assert_allclose(state.P[1], P[1], atol=1e-8)
    assert_allclose(state.objective, f, rtol=1e-8)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_objective_never_rises(pairs, seed):
    found = [state.objective for state in islice(factorise(covariances(pairs), CMFHSettings(bits=6, seed=seed)), 40)]
    assert (np.diff(found) <= 1e-9 * found[0]).all()


def test_it_ends_when_nothing_changes(pairs):
    entries = []
    small(iterations=1000, size=0.3).fit(pairs, log=entries.append)
    assert len(entries) < 1000
    assert 0 <= entries[-2]["objective"] - entries[-1]["objective"] <= 1e-6 * entries[-2]["objective"]


def test_unified_values_are_those_of_the_latent_matrix(pairs):
    X, Y = slow_views(pairs)
    hasher = small(iterations=10).fit(pairs)
    V, _, _ = slow_factorise(X, Y, hasher.settings, 10)
    assert_allclose(hasher.encode_pair(pairs.images, pairs.texts), V, atol=1e-4)


def test_views_that_are_scaled_learn_the_same_from_any_scale(pairs):
    larger = Pairs(Images(np.array(pairs.images.regions) * np.float16(8)), pairs.texts, pairs.labels)
    values = [CMFH.preset("cmfh-scaled", bits=6).fit(some).encode(some.images) for some in (pairs, larger)]
    assert_allclose(*values, atol=1e-5)


def test_it_finds_what_it_has_not_seen(pairs, others):
    hasher = small(bits=16).fit(pairs)
    queries, gallery = (Codes.from_values(hasher.encode(side)) for side in (others.texts, pairs.images))
    about = {"query_labels": others.labels, "gallery_labels": pairs.labels}
    report = evaluate(queries, gallery, direction="text_to_image", **about)
    assert report.mean > report.chance + 0.2


def test_as_many_pictures_as_texts_are_needed(pairs):
    with pytest.raises(DataError, match="are no pairs"):
        small().fit(pairs).encode_pair(pairs.images[:3], pairs.texts[:2])


def test_unified_codes_need_something_learnt(pairs):
    with pytest.raises(UsageError, match="learnt nothing"):
        small().encode_pair(pairs.images, pairs.texts)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"iterations": 0}, "iterations=0"), ({"prediction": 0.0}, "is zero"), ({"size": -1.0}, "size=-1")],
)
def test_wrong_settings_are_refused_where_they_are_written(settings, message):
    with pytest.raises(UsageError, match=message):
        small(**settings)


def test_unified_codes_find_more_on_wiki(real_data):
    learnt, asked = learnt_and_asked(real_data)
    hasher = small(bits=32).fit(learnt)
    image_to_text, text_to_image = both_ways(hasher, learnt, asked, unified=True)
    assert image_to_text > 0.225
    assert text_to_image > 0.50
    assert text_to_image > both_ways(hasher, learnt, asked)[1] + 0.2
