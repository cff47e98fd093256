"""Codes that are longer than what the views have in common."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from deepbinaries.errors import UsageError
from deepbinaries.hashers.padding import pad

Rx, Ry = np.diag([1.0, 2.0, 4.0, 8.0]), np.diag([1.0, 3.0])
Wx, Wy = np.eye(4)[:, :1], np.eye(2)[:, :1]


def padded(bits: int, padding: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return pad(Wx, Wy, Rx, Ry, bits, padding=padding, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("bits", [1, 3, 9])
@pytest.mark.parametrize("padding", ["noise", "constant"])
def test_codes_have_the_length_that_is_asked_for(bits, padding):
    assert [W.shape for W in padded(bits, padding)] == [(4, bits), (2, bits)]


def test_directions_that_were_found_stay_first():
    for W, found in zip(padded(9, "noise"), (Wx, Wy), strict=True):
        assert np.array_equal(W[:, :1], found)


def test_noise_of_pictures_is_uncorrelated_while_there_is_room():
    W, _ = padded(4, "noise")
    assert_allclose(W.T @ Rx @ Rx.T @ W, np.eye(4), atol=1e-12)


def test_noise_varies_as_much_as_what_was_found():
    for W, R in zip(padded(9, "noise"), (Rx, Ry), strict=True):
        assert_allclose(np.diagonal(W.T @ R @ R.T @ W), np.ones(9), atol=1e-12)


def test_too_many_directions_are_cut():
    found, _ = pad(np.eye(4), np.eye(4), Rx, Rx, 2, padding="noise", rng=np.random.default_rng(0))
    assert np.array_equal(found, np.eye(4)[:, :2])


def test_an_unknown_padding_is_refused():
    with pytest.raises(UsageError, match="did you mean 'noise'"):
        padded(3, "nois")
