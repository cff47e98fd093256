"""Quantised Correlation Hashing, in our reading of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from slow_views import slow_views
from wiki import both_ways, learnt_and_asked

from deepbinaries.codes import Codes
from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import evaluate
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.covariances import covariances
from deepbinaries.hashers.qch import QCH, polar, quantise, whitening


def small(**settings) -> QCH:
    return QCH.preset("qch", **({"bits": 6} | settings))


@pytest.mark.parametrize("settings", [{}, {"bits": 32}, {"labels": False}])
def test_qch_keeps_the_contract_of_a_hasher(pairs, tmp_path, settings):
    check_hasher(lambda: small(**settings), pairs, tmp_path)


@pytest.mark.parametrize("bits", [4, 16, 48])  # fewer than both views have features, than one has, than none
@pytest.mark.parametrize("labels", [True, False])
def test_the_objective_never_falls(pairs, bits, labels):
    entries = []
    small(bits=bits, labels=labels).fit(pairs, log=entries.append)
    objective = np.array([entry["objective"] for entry in entries])
    assert (np.diff(objective) >= -1e-5 * objective[-1]).all()
    assert objective[-1] > objective[0]


def test_without_correlation_each_view_is_turned_to_lose_least(pairs):
    """ITQ: no other orthogonal matrix W has a smaller |sgn(ZW) - ZW|."""
    X, _ = slow_views(pairs)
    T = whitening(X.T @ X, len(X))
    W = np.linalg.lstsq(T, small(bits=24, correlation=0.0).fit(pairs).learnt_["images.projection"], rcond=None)[0]
    assert_allclose(W.T @ W, np.eye(24), atol=1e-6)
    Z, rng = X @ T, np.random.default_rng(0)
    loss = np.linalg.norm(np.where(Z @ W >= 0, 1, -1) - Z @ W)
    for _ in range(20):
        other = polar(rng.normal(size=W.shape))
        assert np.linalg.norm(np.where(Z @ other >= 0, 1, -1) - Z @ other) > loss


def test_whitened_features_have_unit_covariance(pairs):
    S = covariances(pairs)
    T = whitening(S.Sxx, S.n)
    assert_allclose(T.T @ S.Sxx @ T / S.n, np.eye(T.shape[1]), atol=1e-9)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
def test_no_isometry_is_nearer_than_the_polar_one(shape):
    rng = np.random.default_rng(0)
    A = rng.normal(size=shape)
    W = polar(A)
    assert_allclose(W.T @ W if shape[0] > shape[1] else W @ W.T, np.eye(3), atol=1e-12)
    assert all(np.sum(polar(rng.normal(size=shape)) * A) < np.sum(W * A) for _ in range(50))


def test_quantised_sums_are_those_of_whole_matrices(pairs):
    X = pairs.images.whole
    mean, W = X.mean(axis=0, dtype=float), np.random.default_rng(0).normal(size=(X.shape[1], 5))
    Z = (X - mean) @ W
    B = np.where(Z >= 0, 1, -1)
    fits, XB = quantise(X, mean, W)
    assert_allclose(fits, np.sum(B * Z), rtol=1e-5)
    assert_allclose(XB, (X - mean).T @ B, atol=1e-3)


@pytest.mark.parametrize("direction", ["image_to_text", "text_to_image"])
def test_it_finds_what_it_has_not_seen(pairs, others, direction):
    hasher = small(bits=16).fit(pairs)
    sides = (others.images, pairs.texts) if direction == "image_to_text" else (others.texts, pairs.images)
    queries, gallery = (Codes.from_values(hasher.encode(side)) for side in sides)
    report = evaluate(queries, gallery, query_labels=others.labels, gallery_labels=pairs.labels, direction=direction)
    assert report.mean > report.chance + 0.2


def test_views_that_share_nothing_are_refused():
    images = Images.from_vectors(np.array([[1.0], [-1.0], [1.0], [-1.0]]))
    texts = Texts.from_vectors(np.array([[1.0], [1.0], [0.0], [0.0]]))
    with pytest.raises(DataError, match="nothing in common"):
        small(labels=False).fit(Pairs(images, texts, Labels.from_names([["dog"]] * 4)))


def test_no_iterations_are_refused():
    with pytest.raises(UsageError, match="iterations=0"):
        small(iterations=0)


def test_it_is_well_above_chance_on_wiki(real_data):
    learnt, asked = learnt_and_asked(real_data)
    assert min(both_ways(small(bits=32).fit(learnt), learnt, asked)) > 0.18
