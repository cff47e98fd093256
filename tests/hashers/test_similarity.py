"""S as a matrix and through label sets: both must be the same S."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError
from deepbinaries.hashers.similarity import (
    LabelSimilarity,
    ahead,
    by_label_set,
    by_row,
    decompose,
    label_matrix,
    row_keys,
    similarity,
)

label_rows = st.lists(st.sets(st.integers(0, 4)), min_size=1, max_size=12)


def matrix_of(rows, n_labels=5) -> torch.Tensor:
    return torch.tensor([[label in row for label in range(n_labels)] for row in rows])


@given(label_rows)
def test_two_items_are_similar_when_their_sets_meet(rows):
    labels = matrix_of(rows)
    assert similarity(labels, labels).tolist() == [[float(bool(a & b)) for b in rows] for a in rows]


def test_masks_of_many_words_mean_what_the_matrix_means():
    rng = np.random.default_rng(0)
    labels = Labels.from_matrix(rng.random((30, 130)) < 0.02)
    matrix, masks = torch.from_numpy(labels.matrix()), torch.from_numpy(labels.masks().T.copy())
    assert masks.dtype == torch.uint64
    assert masks.shape == (30, 3)
    expected = similarity(matrix, matrix)
    assert torch.equal(similarity(masks, masks), expected)
    assert torch.equal(similarity(masks.view(torch.int64), masks.view(torch.int64)), expected)


def test_the_highest_bit_of_a_word_is_a_label_like_the_others():
    highest = torch.tensor([[-(2**63)], [1]])
    assert similarity(highest, highest).tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("labels", [torch.rand(3, 2), torch.zeros(3).bool()])
def test_what_is_no_table_of_labels_is_refused(labels):
    with pytest.raises(DataError, match="rows of booleans"):
        label_matrix(labels)


@given(label_rows)
def test_products_and_mean_over_label_sets_are_those_of_the_matrix(rows):
    labels = matrix_of(rows)
    dense = similarity(labels, labels)
    X = torch.arange(3.0 * len(rows)).reshape(len(rows), 3)
    for S in (by_label_set(labels), by_row(dense)):
        assert torch.equal(S @ X, dense @ X)
        assert torch.equal(S.T @ X, dense.T @ X)
        assert S.mean().item() == pytest.approx(dense.mean().item())


@given(label_rows)
def test_the_embedding_is_the_best_picture_of_the_centred_similarity(rows):
    labels = matrix_of(rows)
    n, bits = len(rows), 3
    centring = np.eye(n) - 1 / n
    w, U = np.linalg.eigh(centring @ similarity(labels, labels).double().numpy() @ centring)
    w = np.maximum(w, 0)
    w[w < 1e-5] = 0
    w[:-bits] = 0
    P = by_label_set(labels).embedding(bits).double().numpy()
    if not w.any():
        assert P.shape == (n, 0)
        return
    assert np.linalg.norm(P) == pytest.approx(np.sqrt(n * bits), rel=1e-5)
    if n > bits and np.isclose(*np.linalg.eigvalsh(centring @ similarity(labels, labels).numpy() @ centring)[-4:-2]):
        return  # the third and the fourth direction are equally good, either may be taken
    np.testing.assert_allclose(P @ P.T, (U * w) @ U.T * (n * bits / w.sum()), atol=1e-3)


def test_what_labels_cannot_tell_apart_adds_no_direction_however_many_sets_there_are():
    rng = np.random.default_rng(0)
    first_class = torch.arange(301) < 100
    extra = torch.from_numpy(rng.random((301, 5)) < 0.5)  # each class has extra labels of its own
    labels = torch.cat(
        [first_class[:, None], ~first_class[:, None], extra & first_class[:, None], extra & ~first_class[:, None]],
        dim=1,
    )
    S = by_label_set(labels)
    assert len(S.between) > 40
    assert S.embedding(8).shape == (301, 1)


@pytest.mark.parametrize("whole", [by_label_set, LabelSimilarity])
def test_a_selection_of_items_has_the_similarity_of_their_labels(whole):
    labels = matrix_of([{0}, {0, 1}, {2}, {0}, {3}])
    rows = torch.tensor([3, 4, 0])
    some = whole(labels).select(rows)
    assert len(some.between) == 2
    assert torch.equal(some @ torch.eye(3), similarity(labels[rows], labels[rows]))


@pytest.mark.parametrize("n_batches", [0, 1, 9])  # none, fewer than wait at once, more
def test_batches_prepared_ahead_come_in_order_with_their_embedding(n_batches):
    labels = matrix_of([{0}, {0, 1}, {2}, {0}, {3}])
    batches = [torch.randperm(5, generator=torch.Generator().manual_seed(seed))[:3] for seed in range(n_batches)]
    found = list(ahead(LabelSimilarity(labels), batches, "cpu", bits=2, power=0.3, workers=2))
    assert len(found) == n_batches
    for rows, (S, P) in zip(batches, found, strict=True):
        assert torch.equal(S @ torch.eye(3), similarity(labels[rows], labels[rows]))
        assert torch.equal(P, S.embedding(2, 0.3))


def test_no_more_batches_are_prepared_than_will_soon_be_wanted():
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield torch.tensor([0, 1])

    prepared = ahead(LabelSimilarity(matrix_of([{0}, {1}])), endless(), "cpu", bits=2, workers=1)
    next(prepared)
    assert len(taken) == 3
    prepared.close()


def test_equal_rows_have_equal_keys_and_others_do_not():
    rows = torch.from_numpy(np.random.default_rng(0).choice([-1.0, 1.0], (500, 64))).float()
    keys = row_keys(torch.cat([rows, rows]))
    assert torch.equal(keys[:500], keys[500:])
    assert len(keys.unique()) == 500


def failing(times: int):
    """A decomposition that does not converge at first, and keeps what it was asked for."""
    asked = []

    def svd(matrix):
        asked.append(matrix)
        if len(asked) <= times:
            raise torch.linalg.LinAlgError("no convergence")
        return torch.linalg.svd(matrix)

    return svd, asked


@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_decomposition_that_does_not_converge_is_tried_in_double_precision_and_with_a_nudge(times):
    matrix = torch.diag(torch.tensor([3.0, 2.0]))
    svd, asked = failing(times)
    U, values, V = decompose(svd, matrix)
    torch.testing.assert_close(U @ torch.diag(values) @ V, matrix)
    assert U.dtype == torch.float32
    assert [asked_for.dtype for asked_for in asked] == [torch.float32, torch.float64, torch.float64][: times + 1]


def test_outputs_that_are_not_finite_are_named():
    svd, _ = failing(3)
    with pytest.raises(DataError, match="not finite; lower the learning rate"):
        decompose(svd, torch.tensor([[torch.nan]]))
