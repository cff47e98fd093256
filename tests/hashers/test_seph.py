"""Semantics-Preserving Hashing, judged by whole matrices, finite differences and the paper's own inequality."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from wiki import both_ways, learnt_and_asked

from deepbinaries.codes import Codes
from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import evaluate
from deepbinaries.features.inputs import Pairs
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers import seph as module
from deepbinaries.hashers.seph import SePH, SePHSettings, objective, semantic_values

ALPHA = 0.01


def small(preset: str = "seph-km", **settings) -> SePH:
    return SePH.preset(preset, **({"bits": 6, "n_anchors": 30, "steps": 30} | settings))


def slow_objective(H: np.ndarray, L: np.ndarray) -> float:
    """f with P and Q written out."""
    off = ~np.eye(len(H), dtype=bool)
    A = np.where(off, L @ L.T, 0)
    N = np.where(off, 1 / (1 + np.sum((H[:, None] - H) ** 2, axis=2) / 4), 0)
    P, Q = A / A.sum(), N / N.sum()
    some = P > 0
    return float(np.sum(P[some] * np.log(P[some] / Q[some])) + ALPHA / H.size * np.sum((np.abs(H) - 1) ** 2))


@pytest.fixture
def problem() -> tuple[np.ndarray, np.ndarray]:
    """Values of twelve items and their label sets at length 1."""
    rng = np.random.default_rng(0)
    L = rng.random((12, 3)) < 0.5
    L[:, 0] |= ~L.any(axis=1)
    return rng.normal(size=(12, 4)), L / np.sqrt(L.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("preset", ["seph-km", "seph-rnd"])
def test_seph_keeps_the_contract_of_a_hasher(pairs, tmp_path, preset):
    check_hasher(lambda: small(preset), pairs, tmp_path)


@pytest.mark.parametrize("rows", [1, 5, 1000])
def test_the_objective_is_that_of_whole_matrices(problem, monkeypatch, rows):
    monkeypatch.setattr(module, "ROWS", rows)
    assert_allclose(objective(*problem, ALPHA)[0], slow_objective(*problem), rtol=1e-12)


@pytest.mark.parametrize("rows", [5, 1000])
def test_the_gradient_is_that_of_finite_differences(problem, monkeypatch, rows):
    monkeypatch.setattr(module, "ROWS", rows)
    H, L = problem
    slow = np.empty_like(H)
    for place in np.ndindex(H.shape):
        step = np.zeros_like(H)
        step[place] = 1e-5
        slow[place] = (slow_objective(H + step, L) - slow_objective(H - step, L)) / 2e-5
    assert_allclose(objective(H, L, ALPHA)[1], slow, atol=1e-8)


def test_more_steps_never_end_higher(pairs):
    found = [
        semantic_values(pairs, SePHSettings(bits=6, steps=steps), np.random.default_rng(0))[1]
        for steps in (1, 5, 20, 60)
    ]
    assert (np.diff(found) <= 0).all()
    assert found[-1] < found[0] / 2


def test_the_value_told_is_that_of_the_codes_kept(pairs):
    H, f = semantic_values(pairs, SePHSettings(bits=6, steps=20), np.random.default_rng(0))
    L = pairs.labels.matrix() / np.sqrt(pairs.labels.sizes())[:, None]
    assert_allclose(slow_objective(H.astype(float), L), f, rtol=1e-4)


def test_random_anchors_are_the_same_items_in_both_views(pairs):
    learnt = small("seph-rnd").fit(pairs).learnt_
    X = pairs.images.whole.astype(float)
    rows = [int(np.argmin(np.sum((X - anchor) ** 2, axis=1))) for anchor in learnt["images.anchors"]]
    words = [[np.sum(pairs.texts.tokens[row] == word) for word in range(3, 13)] for row in rows]
    assert_allclose(learnt["images.anchors"], X[rows])
    assert_allclose(learnt["texts.anchors"], words)


def test_a_unified_bit_is_the_likelier_one_by_the_paper_s_rule(pairs, others):
    hasher = small().fit(pairs)
    p1, p2 = (1 / (1 + np.exp(-hasher.encode(side).astype(float))) for side in (others.images, others.texts))
    pi = hasher.learnt_["prior"]
    ones = p1 * p2 / pi >= (1 - p1) * (1 - p2) / (1 - pi)
    assert np.array_equal(hasher.encode_pair(others.images, others.texts) >= 0, ones)


def test_as_many_pictures_as_texts_are_needed(pairs):
    with pytest.raises(DataError, match="are no pairs"):
        small().fit(pairs).encode_pair(pairs.images[:3], pairs.texts[:2])


def test_unified_codes_need_something_learnt(pairs):
    with pytest.raises(UsageError, match="learnt nothing"):
        small().encode_pair(pairs.images, pairs.texts)


def test_there_are_no_more_anchors_than_items(pairs):
    hasher = small(n_anchors=500).fit(pairs.select(np.arange(20)))
    assert hasher.learnt_["texts.anchors"].shape == (20, 10)


def test_it_finds_what_it_has_not_seen(pairs, others):
    hasher = small(bits=16).fit(pairs)
    queries, gallery = (Codes.from_values(hasher.encode(side)) for side in (others.texts, pairs.images))
    about = {"query_labels": others.labels, "gallery_labels": pairs.labels}
    report = evaluate(queries, gallery, direction="text_to_image", **about)
    assert report.mean > report.chance + 0.2


def test_items_that_share_no_label_are_refused(pairs):
    own = Labels.from_matrix(np.eye(len(pairs), dtype=int))
    with pytest.raises(DataError, match="no two items share a label"):
        small().fit(Pairs(pairs.images, pairs.texts, own))


@pytest.mark.parametrize(
    "settings", [{"n_anchors": 0}, {"steps": 0}, {"sample": 0}, {"alpha": -1.0}, {"regularisation": -1.0}]
)
def test_wrong_settings_are_refused_where_they_are_written(settings):
    with pytest.raises(UsageError, match=f"{next(iter(settings))}="):
        small(**settings)


def test_an_unknown_kind_of_anchors_is_refused_by_name():
    with pytest.raises(UsageError, match="kind of anchors"):
        small(anchors="grid")


def test_unified_codes_find_more_on_wiki(real_data):
    learnt, asked = learnt_and_asked(real_data)
    hasher = small(bits=16, n_anchors=200, steps=100, sample=1500).fit(learnt)
    image_to_text, text_to_image = both_ways(hasher, learnt, asked, unified=True)
    assert image_to_text > 0.24
    assert text_to_image > 0.58
    assert text_to_image > both_ways(hasher, learnt, asked)[1] + 0.2
