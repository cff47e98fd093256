"""Cross-Modality Similarity-Sensitive Hashing, judged pair by pair."""

from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose
from slow_views import slow_views
from wiki import both_ways, learnt_and_asked

from deepbinaries.codes import Codes, sign
from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import evaluate
from deepbinaries.features.inputs import Pairs
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.cmssh import CMSSH, QUANTILES, best_offsets, boosting, correlated_pair, drawn_pairs


def small(**settings) -> CMSSH:
    return CMSSH.preset("cmssh", **({"bits": 6, "similar": 300, "different": 900} | settings))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def problem(pairs, rng):
    """X, Y and drawn pairs i, j with their s."""
    X, Y = (V.astype(np.float32) for V in slow_views(pairs))
    return X, Y, *drawn_pairs(pairs.labels, 100, 200, rng)


def test_cmssh_keeps_the_contract_of_a_hasher(pairs, tmp_path):
    check_hasher(small, pairs, tmp_path)


def test_drawn_pairs_are_similar_when_they_share_a_label(pairs, rng):
    i, j, s = drawn_pairs(pairs.labels, 100, 200, rng)
    sets = [set(labels) for labels in pairs.labels.sets()]
    assert [bool(sets[one] & sets[other]) for one, other in zip(i, j, strict=True)] == [True] * 100 + [False] * 200
    assert (s == np.repeat([1, -1], [100, 200])).all()


def test_directions_are_those_of_the_weighted_sum_over_pairs(problem, rng):
    X, Y, i, j, s = problem
    w = rng.random(len(s))
    w /= w.sum()
    mx, my = sum(w[k] * X[i[k]] for k in range(len(w))), sum(w[k] * Y[j[k]] for k in range(len(w)))
    C = sum(s[k] * w[k] * np.outer(X[i[k]] - mx, Y[j[k]] - my) for k in range(len(w)))
    p, q = correlated_pair(X, Y, i, j, s * w, w, rng)
    U, _, Vt = np.linalg.svd(C)
    turned = np.sign(p @ U[:, 0])
    assert_allclose(p, turned * U[:, 0], atol=1e-3)
    assert_allclose(q, turned * Vt[0], atol=1e-3)


def test_no_other_offsets_of_the_grid_agree_more(problem, rng):
    X, Y, i, j, s = problem
    x, y, w = X[:, 0].astype(float), Y[:, 0].astype(float), rng.random(len(s))
    a, b, r = best_offsets(x, y, i, j, s * w)
    agreement = [
        float(np.sum(s * w * sign(x - one + 1e-9)[i] * sign(y - other + 1e-9)[j]))
        for one in np.quantile(x, QUANTILES)
        for other in np.quantile(y, QUANTILES)
    ]
    assert_allclose(r, max(agreement))
    assert_allclose(r, np.sum(s * w * sign(x + a)[i] * sign(y + b)[j]))


def test_each_bit_lowers_the_loss_by_the_factor_of_its_agreement(problem, rng):
    X, Y, i, j, s = problem
    w = np.where(s > 0, 0.5 / 100, 0.5 / 200)
    for p, a, q, b, alpha in islice(boosting(X, Y, i, j, s, rng), 8):
        h = sign(X @ p + a)[i] * sign(Y @ q + b)[j]
        r = np.sum(w * s * h)
        w = w * np.exp(-alpha * s * h)
        assert_allclose(w.sum(), np.sqrt(1 - r**2), rtol=1e-9)
        assert w.sum() < 1
        w /= w.sum()


def test_short_codes_are_the_beginning_of_long_ones(pairs):
    short, long = (small(bits=bits).fit(pairs).encode(pairs.texts) for bits in (4, 9))
    assert np.array_equal(short, long[:, :4])


def test_it_finds_what_it_has_not_seen(pairs, others):
    hasher = small(bits=16).fit(pairs)
    queries, gallery = (Codes.from_values(hasher.encode(side)) for side in (others.texts, pairs.images))
    about = {"query_labels": others.labels, "gallery_labels": pairs.labels}
    report = evaluate(queries, gallery, direction="text_to_image", **about)
    assert report.mean > report.chance + 0.2


@pytest.mark.parametrize(("names", "word"), [([["dog"]] * 240, "share no label"), ([[]] * 240, "share a label")])
def test_labels_that_give_one_kind_of_pairs_are_refused(pairs, names, word):
    with pytest.raises(DataError, match=word):
        small(similar=3, different=3).fit(Pairs(pairs.images, pairs.texts, Labels.from_names(names, ["dog"])))


@pytest.mark.parametrize("settings", [{"similar": 0}, {"different": 0}, {"sample": 0}])
def test_wrong_settings_are_refused_where_they_are_written(settings):
    with pytest.raises(UsageError, match=f"{next(iter(settings))}=0"):
        small(**settings)


def test_wiki_is_searched_far_better_than_by_chance(real_data):
    learnt, asked = learnt_and_asked(real_data)
    image_to_text, text_to_image = both_ways(CMSSH.preset("cmssh", bits=32).fit(learnt), learnt, asked)
    assert image_to_text > 0.21
    assert text_to_image > 0.18
