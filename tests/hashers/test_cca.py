"""Canonical correlation analysis as a way to compare pictures and sentences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from wiki import both_ways, learnt_and_asked

from deepbinaries.errors import UsageError
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.cca import CCA
from deepbinaries.hashers.cvh import CVH


def small(**settings) -> CCA:
    return CCA.preset("cca", **({"bits": 6} | settings))


def test_cca_keeps_the_contract_of_a_hasher(pairs, tmp_path):
    check_hasher(small, pairs, tmp_path)


def test_cvh_is_the_sign_of_cca(pairs):
    values, codes = (hasher.fit(pairs).encode(pairs.texts) for hasher in (small(), CVH.preset("cvh", bits=6)))
    assert np.array_equal(values >= 0, codes >= 0)


def test_values_of_a_pair_are_correlated_and_those_of_different_directions_are_not(pairs):
    hasher = small(regularisation=0.0).fit(pairs)
    images, texts = (hasher.encode(side).astype(float) for side in (pairs.images, pairs.texts))
    across = images.T @ texts
    assert_allclose(across, np.diag(np.diagonal(across)), atol=1e-4)
    assert (np.diagonal(across) > 0.5).all()


def test_values_beyond_the_shared_directions_are_zero_and_told(pairs):
    entries = []
    values = small(bits=64).fit(pairs, log=entries.append).encode(pairs.images)
    assert not values[:, 10:].any()
    assert "10 directions in common" in entries[0]["warning"]


def test_scaled_directions_count_by_their_correlation(pairs):
    plain, scaled = (small(scale=scale).fit(pairs).encode(pairs.images) for scale in ("none", "correlation"))
    shares = scaled[0] / plain[0]
    assert_allclose(scaled, plain * shares, rtol=1e-3, atol=1e-5)
    assert (np.diff(shares) < 0).all()


def test_an_order_of_the_pairs_changes_nothing(pairs):
    shuffled = pairs.select(np.random.default_rng(0).permutation(len(pairs)))
    values, others = (small().fit(some).encode(pairs.images) for some in (pairs, shuffled))
    assert_allclose(values, others, atol=1e-5)


def test_an_unknown_scale_is_refused():
    with pytest.raises(UsageError, match="did you mean 'correlation'"):
        small(scale="correlations")


def test_seven_directions_reach_on_wiki_what_they_should(real_data):
    learnt, asked = learnt_and_asked(real_data)
    hasher = small(bits=7, regularisation=1e-6).fit(learnt)
    assert_allclose(both_ways(hasher, learnt, asked), [0.2397, 0.2272], atol=0.001)
    assert_allclose(both_ways(hasher, asked, asked), [0.246, 0.201], atol=0.001)
