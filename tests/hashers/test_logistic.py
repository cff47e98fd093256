"""Kernel logistic regression: convex, so that its minimum is where the gradient is nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from deepbinaries.codes import sign
from deepbinaries.hashers import logistic as module
from deepbinaries.hashers.kernels import rbf
from deepbinaries.hashers.logistic import kernel_logistic, loss

C = 0.01


@pytest.fixture
def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    B = sign(X @ rng.normal(size=(3, 4)) + 0.5 * rng.normal(size=(60, 4)))
    return rbf(X, X[:10], 4.0), rbf(X[:10], X[:10], 4.0), B


def test_the_gradient_is_nothing_at_the_weights_found(problem):
    K, K0, B = problem
    W = kernel_logistic(K, K0, B, C)
    for w, b in zip(W.T, B.T, strict=True):
        gradient = 2 * C * K0 @ w - K.T @ (b / (1 + np.exp(b * (K @ w))))
        assert_allclose(gradient, 0, atol=1e-2)


def test_no_weights_nearby_have_a_lower_loss(problem):
    K, K0, B = problem
    w = kernel_logistic(K, K0, B, C)[:, 0]
    lowest, rng = loss(K, K0, B[:, 0], C, w), np.random.default_rng(1)
    assert all(loss(K, K0, B[:, 0], C, w + rng.normal(0, 0.1, len(w))) > lowest for _ in range(50))


def test_the_loss_never_rises_with_a_step(problem, monkeypatch):
    K, K0, B = problem
    found = []
    for steps in range(1, 12):
        monkeypatch.setattr(module, "MAX_STEPS", steps)
        found.append(loss(K, K0, B[:, 0], C, kernel_logistic(K, K0, B[:, :1], C)[:, 0]))
    assert (np.diff(found) <= 1e-12).all()
    assert found[0] < loss(K, K0, B[:, 0], C, np.zeros(10))


def test_a_bit_is_learnt_alike_alone_and_among_others(problem):
    K, K0, B = problem
    assert_allclose(kernel_logistic(K, K0, B, C)[:, [2]], kernel_logistic(K, K0, B[:, [2]], C), atol=1e-9)


def test_a_bit_that_never_changes_is_learnt(problem):
    K, K0, B = problem
    assert (K @ kernel_logistic(K, K0, np.ones_like(B), C) > 0).all()


def test_anchors_that_are_alike_do_no_harm(problem):
    K, K0, B = problem
    twice = kernel_logistic(np.hstack([K, K]), np.tile(K0, (2, 2)), B, C)
    assert_allclose(np.hstack([K, K]) @ twice, K @ kernel_logistic(K, K0, B, C), atol=0.05)
