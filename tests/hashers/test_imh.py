"""Inter-Media Hashing, judged by the whole matrix Q and its dense decomposition."""

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
from deepbinaries.hashers import imh as module
from deepbinaries.hashers.imh import IMH, Graph


def small(**settings) -> IMH:
    return IMH.preset("imh", **({"bits": 6} | settings))


def slow_graph(X: np.ndarray, k: int) -> np.ndarray:
    """W, whole: each row's k nearest, then made symmetric."""
    W = np.zeros((len(X), len(X)))
    for row, x in enumerate(X):
        squares = np.sum((X - x) ** 2, axis=1)
        squares[row] = np.inf
        W[row, np.argsort(squares)[:k]] = 1
    return (W + W.T) / 2


def slow_weights(X: np.ndarray, Y: np.ndarray, bits: int) -> list[np.ndarray]:
    """W_x and W_y with the method's own constants, the constant vector taken out by hand."""
    n, Q, P = len(X), np.zeros((len(X), len(X))), []
    for V in (X, Y):
        S = V.T @ V
        P.append(np.linalg.solve(S + 0.01 * np.trace(S) / len(S) * np.eye(len(S)), V.T))
        W = slow_graph(V, 10)
        Q += np.eye(n) - V @ P[-1] + np.diag(W.sum(axis=1)) - W
    balanced = np.linalg.svd(np.eye(n) - 1 / n)[0][:, : n - 1]  # all that is orthogonal to the constant vector
    _, F = np.linalg.eigh(balanced.T @ Q @ balanced)
    return [one @ balanced @ F[:, :bits] for one in P]


@pytest.fixture
def spread(pairs) -> Pairs:
    """The pictures as both views: sentences of few words have equally near neighbours, of which any would do."""
    words = np.random.default_rng(0).normal(size=(24, 8))
    texts = type(pairs.texts).from_vectors(np.tanh(pairs.images.whole @ words))
    return Pairs(pairs.images, texts, pairs.labels)


def centred(V: np.ndarray) -> np.ndarray:
    return V.astype(np.float64) - V.astype(np.float64).mean(axis=0)


def test_imh_keeps_the_contract_of_a_hasher(pairs, tmp_path):
    check_hasher(small, pairs, tmp_path)


def test_projections_are_those_of_the_dense_decomposition(spread):
    hasher = small().fit(spread)
    slow = slow_weights(centred(spread.images.whole), centred(spread.texts.features.astype(np.float32)), 6)
    signs = np.sign(slow[0][np.abs(slow[0]).argmax(axis=0), np.arange(6)])
    assert_allclose(hasher.learnt_["images.projection"], slow[0] * signs, atol=1e-5)
    assert_allclose(hasher.learnt_["texts.projection"], slow[1] * signs, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_the_graph_is_that_of_all_distances(pairs, monkeypatch, rows):
    X, _ = slow_views(pairs)
    monkeypatch.setattr(module, "ROWS", rows)
    W, V = slow_graph(X, 3), np.random.default_rng(0).normal(size=(len(X), 2))
    assert_allclose(Graph.of(X, 3).laplacian_times(V), (np.diag(W.sum(axis=1)) - W) @ V, atol=1e-10)


def test_two_items_are_each_other_s_neighbours():
    assert Graph.of(np.array([[0.0], [5.0]]), 10).laplacian_times(np.array([[1.0], [0.0]])).tolist() == [[1.0], [-1.0]]


@pytest.mark.parametrize("side", ["images", "texts"])
def test_every_bit_splits_the_training_items_in_halves(spread, side):
    values = small().fit(spread).encode(getattr(spread, side))
    assert_allclose((values >= 0).mean(axis=0), 0.5, atol=0.01)


def test_texts_of_the_same_words_have_the_same_bits_alone_and_among_others(pairs):
    hasher = small().fit(pairs)
    together = hasher.encode(pairs.texts) >= 0
    assert np.array_equal(together, np.vstack([hasher.encode(pairs.texts[row]) >= 0 for row in range(len(pairs))]))


def test_labels_are_not_looked_at(pairs):
    shuffled = Pairs(pairs.images, pairs.texts, pairs.labels.select(np.arange(len(pairs))[::-1]))
    assert np.array_equal(*(small().fit(some).encode(pairs.images) for some in (pairs, shuffled)))


def test_it_learns_from_a_sample_where_there_are_more_pairs(pairs):
    assert not np.allclose(*(small(sample=n).fit(pairs).encode(pairs.images) for n in (100, 240)))


def test_it_finds_what_it_has_not_seen(pairs, others):
    hasher = small(bits=12).fit(pairs)
    queries, gallery = (Codes.from_values(hasher.encode(side)) for side in (others.texts, pairs.images))
    about = {"query_labels": others.labels, "gallery_labels": pairs.labels}
    report = evaluate(queries, gallery, direction="text_to_image", **about)
    assert report.mean > report.chance + 0.2


def test_as_many_pairs_as_bits_are_too_few(pairs):
    with pytest.raises(DataError, match="6 pairs teach fewer than 6 bits"):
        small().fit(pairs.select(np.arange(6)))


def test_pictures_that_are_all_alike_ask_for_regularisation(pairs):
    blank = Images(np.zeros_like(pairs.images.regions))
    with pytest.raises(DataError, match="larger regularisation"):
        small(regularisation=0.0).fit(Pairs(blank, pairs.texts, pairs.labels))


@pytest.mark.parametrize("settings", [{"neighbours": 0}, {"smoothness": -1.0}, {"sample": 0}, {"regularisation": -1.0}])
def test_wrong_settings_are_refused_where_they_are_written(settings):
    with pytest.raises(UsageError, match=f"{next(iter(settings))}="):
        small(**settings)


def test_wiki_is_searched_as_well_as_expected(real_data):
    learnt, asked = learnt_and_asked(real_data)
    found = both_ways(IMH.preset("imh", bits=16).fit(learnt), learnt, asked)
    assert_allclose(found, (0.1665, 0.1530), atol=0.002)
