"""Semantic Correlation Maximisation, judged by the whole similarity matrix and by the plain form of the sequence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from slow_views import slow_views
from wiki import both_ways, learnt_and_asked

from deepbinaries.codes import sign
from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.covariances import covariances, shared_directions
from deepbinaries.hashers.cvh import CVH
from deepbinaries.hashers.scm import SCM, semantic_correlation

RIDGE = 0.1
PUBLISHED = {16: (0.2210, 0.2134), 32: (0.2337, 0.2366), 64: (0.2442, 0.2479), 128: (0.2596, 0.2573)}


def small(preset: str = "scm-seq", **settings) -> SCM:
    return SCM.preset(preset, **({"bits": 6, "ridge": RIDGE} | settings))


def slow_correlation(X: np.ndarray, Y: np.ndarray, labels: Labels) -> np.ndarray:
    """X'(2 L^ L^' - 1 1')Y with every matrix written out."""
    L = labels.matrix() / np.sqrt(labels.sizes())[:, None]
    return X.T @ (2 * L @ L.T - 1) @ Y


def slow_sequence(X: np.ndarray, Y: np.ndarray, labels: Labels, M: int) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """The bits of both views, (n, M), and the leading values: the residual itself, whitened anew for each bit."""
    Rx, Ry = (np.linalg.cholesky(V.T @ V + RIDGE * np.eye(V.shape[1])) for V in (X, Y))
    C, bits, leading = M * slow_correlation(X, Y, labels), [], []
    for _ in range(M):
        U, s, Vt = np.linalg.svd(np.linalg.inv(Rx) @ C @ np.linalg.inv(Ry).T)
        u, v = (side * np.sign(U[np.abs(U[:, 0]).argmax(), 0]) for side in (U[:, 0], Vt[0]))
        bx, by = sign(X @ np.linalg.solve(Rx.T, u)), sign(Y @ np.linalg.solve(Ry.T, v))
        C = C - np.outer(X.T @ bx, Y.T @ by)
        bits.append((bx, by))
        leading.append(float(s[0]))
    return np.array([bx for bx, _ in bits]).T, np.array([by for _, by in bits]).T, leading


@pytest.mark.parametrize("preset", ["scm-seq", "scm-orth"])
def test_scm_keeps_the_contract_of_a_hasher(pairs, tmp_path, preset):
    check_hasher(lambda: small(preset), pairs, tmp_path)


def test_the_correlation_is_that_of_the_whole_similarity_matrix(pairs):
    assert_allclose(
        semantic_correlation(covariances(pairs)), slow_correlation(*slow_views(pairs), pairs.labels), atol=1e-6
    )


def test_bits_of_the_sequence_are_those_of_its_plain_form(pairs):
    hasher = small(bits=24).fit(pairs)
    bx, by, _ = slow_sequence(*slow_views(pairs), pairs.labels, 24)
    assert (sign(hasher.encode(pairs.images)) == bx).all()
    assert (sign(hasher.encode(pairs.texts)) == by).all()


def test_the_first_bit_of_both_forms_is_the_same(pairs):
    seq, orth = (sign(small(preset).fit(pairs).encode(pairs.texts))[:, 0] for preset in ("scm-seq", "scm-orth"))
    assert abs(seq @ orth) == len(pairs)


def test_items_that_are_similar_to_themselves_alone_have_the_codes_of_cvh(pairs):
    own = Pairs(pairs.images, pairs.texts, Labels.from_matrix(np.eye(len(pairs), dtype=int)))
    hasher = small("scm-orth", ridge=0.0, regularisation=0.05).fit(own)
    assert_allclose(
        hasher.encode(own.images), CVH.preset("cvh", bits=6, regularisation=0.05).fit(own).encode(own.images), atol=1e-4
    )


@pytest.mark.parametrize("preset", ["scm-seq", "scm-orth"])
def test_swapped_views_swap_their_bits(pairs, preset):
    X, Y = slow_views(pairs)
    one = Pairs(Images.from_vectors(X), Texts.from_vectors(Y), pairs.labels)
    other = Pairs(Images.from_vectors(Y), Texts.from_vectors(X), pairs.labels)
    bits, swapped = (
        sign(small(preset).fit(some).encode(side)) for some, side in ((one, one.images), (other, other.texts))
    )
    assert (np.abs(np.sum(bits * swapped, axis=0)) == len(pairs)).all()


def test_the_fallback_takes_correlated_directions_once_the_leading_value_rises():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 40, 5))
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    labels = Labels.from_columns(rng.integers(0, 3, (40, 1)).tolist(), "abc")
    noise = Pairs(Images.from_vectors(X), Texts.from_vectors(Y), labels)
    *_, leading = slow_sequence(X, Y, labels, 12)
    kept = 1 + int(np.argmax(np.diff(leading) > 0))
    values, all_sequence = (
        small(bits=12, fallback=fallback).fit(noise).encode(noise.images) for fallback in ("cca", "none")
    )
    assert_allclose(values[:, :kept], all_sequence[:, :kept], atol=1e-5)
    correlated = shared_directions(X.T @ Y, *(np.linalg.cholesky(V.T @ V + RIDGE * np.eye(5)) for V in (X, Y)))[0]
    assert_allclose(values[:, kept : kept + 5], X @ correlated, atol=1e-5)


def test_bits_beyond_the_labels_are_filled_up_and_told(pairs):
    entries = []
    few = Pairs(pairs.images, pairs.texts, Labels.from_matrix(pairs.labels.matrix()[:, :4]))
    assert small("scm-orth").fit(few, log=entries.append).encode(pairs.texts).shape == (len(pairs), 6)
    assert "4 directions in common" in entries[0]["warning"]


def test_labels_that_tell_nothing_apart_are_refused(pairs):
    alike = Pairs(pairs.images, pairs.texts, Labels.from_names([["dog"]] * len(pairs)))
    with pytest.raises(DataError, match="tell no pair from another"):
        small().fit(alike)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"form": "sequential"}, "form"),
        ({"fallback": "pca"}, "fallback"),
        ({"ridge": -1.0}, "ridge=-1"),
        ({"padding": "zero"}, "padding"),
    ],
)
def test_wrong_settings_are_refused_where_they_are_written(settings, word):
    with pytest.raises(UsageError, match=word):
        small(**settings)


@pytest.mark.parametrize("bits", PUBLISHED)
def test_wiki_is_searched_as_well_as_published(real_data, bits):
    learnt, asked = learnt_and_asked(real_data)
    found = both_ways(SCM.preset("scm-seq", bits=bits).fit(learnt), learnt, asked)
    assert_allclose(found, PUBLISHED[bits], atol=0.0005)


@pytest.mark.parametrize(("padding", "bits"), [("noise", 16), ("noise", 32), ("constant", 32)])
def test_the_sequence_finds_more_on_wiki_than_uncorrelated_bits(real_data, padding, bits):
    learnt, asked = learnt_and_asked(real_data)
    found = both_ways(SCM.preset("scm-orth", bits=bits, padding=padding).fit(learnt), learnt, asked)
    assert (np.array(found) < PUBLISHED[bits]).all()
    assert max(found) > 0.13
