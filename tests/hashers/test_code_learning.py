"""The updates against brute force and against dense, obvious versions of themselves."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from deepbinaries.errors import UsageError
from deepbinaries.hashers.code_learning import (
    ROUTINES,
    UPDATES,
    CodeBatch,
    CodeHealth,
    Routine,
    by_label_set,
    make_update,
    sign,
    sign_or_keep,
    similarity,
    start_all,
    update_all,
)
from deepbinaries.hashers.rotations import filled_up, polar_factor, rotation
from deepbinaries.hashers.updates import sweep, target_deviation

seeds = st.integers(0, 2**32 - 1)


def labels_of(n: int, n_labels: int, rng: np.random.Generator, share: float = 0.3) -> Tensor:
    """Labels that overlap: every label is carried by about this share of the items."""
    return torch.from_numpy(rng.random((n, n_labels)) < share)


def batch_of(labels: Tensor, bits: int, rng: np.random.Generator, eta: float = 0.1, dtype=torch.float64) -> CodeBatch:
    """Random codes and outputs for the items of some labels."""
    shape = (len(labels), bits)
    B, H = (torch.from_numpy(rng.choice([-1.0, 1.0], shape)).to(dtype) for _ in range(2))
    F, G = (torch.from_numpy(rng.standard_normal(shape)).to(dtype) for _ in range(2))
    return CodeBatch(B=B, H=H, F=F, G=G, S=similarity(labels, labels).to(dtype), eta=eta)


def overlapping(n: int, bits: int, seed: int = 0, **settings) -> CodeBatch:
    rng = np.random.default_rng(seed)
    return batch_of(labels_of(n, 6, rng), bits, rng, **settings)


def trace_objective(batch: CodeBatch, S: Tensor) -> float:
    """The paper's objective at the codes of a batch."""
    trace = torch.trace(batch.B.T @ S @ batch.H)
    return float(-trace + batch.eta * ((batch.B - batch.F).square().sum() + (batch.H - batch.G).square().sum()))


def gram_objective(batch: CodeBatch) -> float:
    """J, written out with n x n matrices."""
    M, s = batch.B.shape[1], batch.S.mean()
    T = target_deviation(M) * (batch.S - s) / (s * (1 - s)).sqrt()
    fit = (batch.B @ batch.H.T - M * T).square().sum()
    return float(fit - 2 * batch.eta * ((batch.B * batch.F).sum() + (batch.H * batch.G).sum()))


def all_bits(n: int) -> list[Tensor]:
    """Every way to give n items one bit."""
    return [torch.tensor(values, dtype=torch.float64) for values in product([-1.0, 1.0], repeat=n)]


def dense_spectral(batch: CodeBatch) -> tuple[Tensor, np.ndarray]:
    """Z and P of `spectral` with n x n matrices, zero-filled columns and a full square rotation."""
    n, M = batch.F.shape
    S = batch.S.double().numpy()
    centring = np.eye(n) - 1 / n
    w, U = np.linalg.eigh(centring @ S @ centring)
    w, U = np.where(w > 1e-9, w, 0)[::-1][:M], U[:, ::-1][:, :M]
    P = np.zeros((n, M))
    P[:, : len(w)] = U * np.sqrt(w)
    P *= np.sqrt(n * M) / np.linalg.norm(P)
    U, _, V = np.linalg.svd(P.T @ (batch.F + batch.G).double().numpy() / 2)
    return torch.from_numpy(P @ U @ V), P


# Signs


def test_zero_is_plus_one_when_encoding_and_the_old_bit_when_training():
    zeros = torch.zeros(2)
    assert sign(zeros).tolist() == [1.0, 1.0]
    assert sign_or_keep(zeros, torch.tensor([-1.0, 1.0])).tolist() == [-1.0, 1.0]


def test_a_value_that_is_no_number_keeps_the_old_bit():
    assert sign_or_keep(torch.tensor([torch.nan]), torch.tensor([-1.0])).tolist() == [-1.0]


@pytest.mark.parametrize("name", [name for name in UPDATES if name != "relaxed"])
def test_codes_hold_nothing_but_minus_and_plus_one(name):
    batch = replace(overlapping(24, 8), F=torch.zeros(24, 8).double(), G=torch.zeros(24, 8).double())
    for codes in make_update(name)(batch):
        assert set(codes.unique().tolist()) <= {-1.0, 1.0}


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_changes_nothing_it_is_given(name):
    batch = overlapping(12, 1)
    before = [part.clone() for part in (batch.B, batch.H, batch.F, batch.G, batch.S)]
    make_update(name)(batch)
    assert all(map(torch.equal, before, (batch.B, batch.H, batch.F, batch.G, batch.S)))


@pytest.mark.parametrize("name", UPDATES)
def test_the_same_batch_gives_the_same_codes(name):
    batch = overlapping(40, 16, dtype=torch.float32)
    first, second = make_update(name)(batch), make_update(name)(batch)
    assert all(map(torch.equal, first, second))


@pytest.mark.parametrize("name", UPDATES)
def test_a_batch_of_one_item_is_no_trouble(name):
    B, H = make_update(name)(batch_of(torch.tensor([[True]]), 4, np.random.default_rng(0)))
    assert B.shape == H.shape == (1, 4)


# Printed and centred


@given(seed=seeds, n=st.integers(1, 4), eta=st.sampled_from([0.0, 1e-4, 2.0]))
def test_printed_finds_the_best_bits_of_images_and_then_of_sentences(seed, n, eta):
    rng = np.random.default_rng(seed)
    batch = batch_of(labels_of(n, 3, rng), 1, rng, eta=eta)
    B, H = make_update("printed")(batch)
    of_images = [trace_objective(replace(batch, B=bits[:, None]), batch.S) for bits in all_bits(n)]
    of_sentences = [trace_objective(replace(batch, B=B, H=bits[:, None]), batch.S) for bits in all_bits(n)]
    assert trace_objective(replace(batch, B=B), batch.S) == pytest.approx(min(of_images))
    assert trace_objective(replace(batch, B=B, H=H), batch.S) == pytest.approx(min(of_sentences))


@given(seed=seeds)
def test_centred_finds_the_best_bits_under_the_centred_similarity(seed):
    rng = np.random.default_rng(seed)
    batch = batch_of(labels_of(4, 3, rng), 1, rng)
    centred = batch.S - batch.S.mean()
    B, H = make_update("centred")(batch)
    best = min(trace_objective(replace(batch, B=bits[:, None]), centred) for bits in all_bits(4))
    assert trace_objective(replace(batch, B=B), centred) == pytest.approx(best)
    best = min(trace_objective(replace(batch, B=B, H=bits[:, None]), centred) for bits in all_bits(4))
    assert trace_objective(replace(batch, B=B, H=H), centred) == pytest.approx(best)


def codes_after_epochs(name: str, labels: Tensor, bits: int, epochs: int) -> Tensor:
    """B after Algorithm 1 with random outputs instead of networks."""
    rng = np.random.default_rng(0)
    whole, update = batch_of(labels, bits, rng, eta=1e-4), make_update(name)
    for _ in range(epochs):
        for rows in torch.from_numpy(rng.permutation(len(labels))).split(64):
            parts = {part: getattr(whole, part)[rows] for part in "BHFG"}
            whole.B[rows], whole.H[rows] = update(CodeBatch(**parts, S=whole.S[rows][:, rows], eta=1e-4))
    return whole.B


def connected_labels() -> Tensor:
    """Labels of 256 items that hang together: every item has one, and many have several."""
    labels = labels_of(256, 6, np.random.default_rng(1))
    labels[:, 0] |= ~labels.any(1)
    return labels


def test_printed_collapses_to_one_code_when_labels_connect_the_items():
    labels = connected_labels()
    assert CodeHealth.of(codes_after_epochs("printed", labels, 32, epochs=8)).distinct_codes == 1


def test_printed_keeps_a_code_a_class_when_classes_are_disjoint():
    classes = torch.eye(4).bool()[torch.arange(256) % 4]
    codes = codes_after_epochs("printed", classes, 32, epochs=8)
    assert CodeHealth.of(codes).distinct_codes == 4
    assert all(len(codes[start::4].unique(dim=0)) == 1 for start in range(4))


@pytest.mark.parametrize("name", ["gram", "spectral"])
def test_the_coupled_updates_do_not_collapse_where_printed_does(name):
    labels = connected_labels()
    assert CodeHealth.of(codes_after_epochs(name, labels, 32, epochs=8)).collapse_warning() is None


# Gram


@given(seed=seeds)
@settings(max_examples=50)
def test_gram_never_raises_its_objective(seed):
    rng = np.random.default_rng(seed)
    batch = batch_of(labels_of(12, 4, rng), 6, rng)
    if not 0 < batch.S.mean() < 1:
        return
    B, H = make_update("gram")(batch)
    after_images, after_both = replace(batch, B=B), replace(batch, B=B, H=H)
    assert gram_objective(after_images) <= gram_objective(batch) + 1e-9
    assert gram_objective(after_both) <= gram_objective(after_images) + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_every_bit_of_a_gram_sweep_is_the_best_of_all_assignments(seed):
    batch = overlapping(8, 3, seed)
    swept, _ = make_update("gram")(batch)
    B = batch.B.clone()
    for m in range(3):
        candidates = []
        for bits in all_bits(8):
            B[:, m] = bits
            candidates.append((gram_objective(replace(batch, B=B)), bits))
        B[:, m] = min(candidates, key=lambda candidate: candidate[0])[1]
    assert torch.equal(swept, B)


def test_a_tie_in_a_sweep_keeps_the_bit():
    B = torch.tensor([[-1.0], [1.0]])
    assert torch.equal(sweep(B, torch.ones(2, 1), Q=torch.zeros(2, 1)), B)


def test_gram_in_float32_takes_the_decisions_of_float64():
    exact = overlapping(64, 32, eta=0.3)
    single = replace(exact, **{part: getattr(exact, part).float() for part in "BHFGS"})
    for in_double, in_single in zip(make_update("gram")(exact), make_update("gram")(single), strict=True):
        assert (in_double != in_single).double().mean() < 0.002


@pytest.mark.parametrize("name", ["gram", "spectral", "relaxed"])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_batch_all_similar_or_all_dissimilar_keeps_its_codes(name, share):
    rng = np.random.default_rng(0)
    batch = batch_of(labels_of(16, 3, rng, share), 8, rng)
    B, H = make_update(name)(batch)
    assert torch.equal(B, batch.B)
    assert torch.equal(H, batch.H)


# Spectral


@pytest.mark.parametrize(("n", "bits"), [(40, 16), (40, 64), (10, 3)])
def test_spectral_over_label_sets_equals_the_dense_computation(n, bits):
    batch = overlapping(n, bits, eta=0.3)
    Z, _ = dense_spectral(batch)
    B, H = make_update("spectral")(batch)
    assert torch.equal(B, sign(Z + 0.3 * batch.F))
    assert torch.equal(H, sign(Z + 0.3 * batch.G))


def test_spectral_in_float32_takes_the_decisions_of_float64():
    exact = overlapping(64, 32, eta=0.3)
    single = replace(exact, **{part: getattr(exact, part).float() for part in "BHFGS"})
    for in_double, in_single in zip(make_update("spectral")(exact), make_update("spectral")(single), strict=True):
        assert (in_double != in_single).double().mean() < 0.005


def test_spectral_follows_the_items_when_their_order_changes():
    batch = overlapping(48, 16)
    order = torch.from_numpy(np.random.default_rng(3).permutation(48))
    shuffled = replace(batch, **{part: getattr(batch, part)[order] for part in "BHFG"}, S=batch.S[order][:, order])
    for codes, of_shuffled in zip(make_update("spectral")(batch), make_update("spectral")(shuffled), strict=True):
        assert torch.equal(codes[order], of_shuffled)


def test_the_rotation_is_orthogonal_and_no_other_brings_the_embedding_nearer():
    rng = np.random.default_rng(0)
    labels = labels_of(48, 6, rng)
    P, target = by_label_set(labels).embedding(64).double(), torch.from_numpy(rng.standard_normal((48, 64)))
    R = rotation(P, target)
    torch.testing.assert_close(R @ R.T, torch.eye(len(R)).double())
    nearest = (P @ R - target).norm()
    for _ in range(50):
        other = torch.from_numpy(np.linalg.qr(rng.standard_normal((64, 64)))[0])[: len(R)]
        nudged, _ = torch.linalg.qr((R + 0.05 * torch.from_numpy(rng.standard_normal(R.shape))).T)
        assert nearest <= (P @ other - target).norm()
        assert nearest <= (P @ (nudged.T * (nudged.T * R).sum(1, keepdim=True).sign()) - target).norm()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-5])
def test_the_polar_factor_by_products_is_that_of_the_decomposition(smallest, dtype):
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((size, 24)))[0] for size in (24, 64))
    values = np.geomspace(1, smallest, 24)
    found = polar_factor(torch.from_numpy(50 * U * values @ V.T).to(dtype)).double().numpy()
    accuracy = 10 * torch.finfo(dtype).eps / smallest  # no method knows more of a small singular value's directions
    np.testing.assert_allclose(found, U @ V.T, atol=max(accuracy, 1e-9))


def test_rows_of_zeros_change_nothing_in_the_polar_factor_of_the_others():
    A = torch.from_numpy(np.random.default_rng(0).standard_normal((5, 16)))
    found = polar_factor(filled_up(A))
    torch.testing.assert_close(found[:5], polar_factor(A))
    assert not found[5:].any()


def test_the_polar_factor_of_nothing_is_nothing():
    assert not polar_factor(torch.zeros(2, 3)).any()


def test_spectral_ignores_the_old_codes():
    batch = overlapping(32, 16)
    B, _ = make_update("spectral")(batch)
    again, _ = make_update("spectral")(replace(batch, B=-batch.B, H=-batch.H))
    assert torch.equal(B, again)


# Relaxed


def dense_relaxed(batch: CodeBatch, power: float = 0.375) -> Tensor:
    """The targets of `relaxed` with n x n matrices, zero-filled columns and a full square rotation."""
    n, M = batch.F.shape
    S = batch.S.double().numpy()
    w, U = np.linalg.eigh(S - S.mean())
    w, U = np.where(w > 1e-9, w, 0)[::-1][:M], U[:, ::-1][:, :M]
    P = np.zeros((n, M))
    P[:, : len(w)] = U * w**power
    P *= np.sqrt(n * M) / np.linalg.norm(P)
    U, _, V = np.linalg.svd(P.T @ sign(batch.F + batch.G).double().numpy())
    return torch.from_numpy(P @ U @ V)


@pytest.mark.parametrize(("n", "bits"), [(40, 16), (40, 64), (10, 3)])
@pytest.mark.parametrize("power", [0.375, 0.5])
def test_relaxed_over_label_sets_equals_the_dense_computation(n, bits, power):
    batch = overlapping(n, bits)
    B, H = make_update("relaxed", power=power)(batch)
    torch.testing.assert_close(B, dense_relaxed(batch, power), atol=1e-6, rtol=1e-6)
    assert torch.equal(B, H)


def test_relaxed_lets_items_with_many_labels_stay_near_to_everything():
    labels = torch.tensor([[True, True], [True, False], [False, True]]).repeat(8, 1)
    batch = batch_of(labels, 8, np.random.default_rng(0))
    Z, _ = make_update("relaxed")(batch)
    nearness = Z @ Z.T
    both, first, second = 0, 1, 2
    assert min(nearness[both, first], nearness[both, second]) > nearness[first, second]


def test_a_power_outside_its_range_is_refused():
    with pytest.raises(UsageError, match=r"power=-0.5 is outside 0..1"):
        make_update("relaxed", power=-0.5)


# Whole sets


@pytest.mark.parametrize("name", UPDATES)
def test_the_whole_set_update_equals_the_dense_one(name):
    rng = np.random.default_rng(0)
    labels = labels_of(120, 5, rng)
    batch = batch_of(labels, 8, rng)
    dense = make_update(name)(batch)
    over_sets = update_all(make_update(name), labels, batch.B, batch.H, batch.F, batch.G, batch.eta)
    for of_items, of_sets in zip(dense, over_sets, strict=True):
        torch.testing.assert_close(of_sets, of_items, atol=1e-5, rtol=1e-5)  # bits that differ, differ by 2


@pytest.mark.parametrize("name", ["printed", "centred", "gram"])
def test_the_start_of_a_whole_set_is_an_objective_at_rest(name):
    labels = labels_of(60, 4, np.random.default_rng(0))
    B, H = start_all(make_update(name), labels, 8, np.random.default_rng(1))
    zeros = torch.zeros_like(B)
    again = make_update(name)(CodeBatch(B=B, H=H, F=zeros, G=zeros, S=similarity(labels, labels), eta=0.0))
    assert all(map(torch.equal, (B, H), again))


def test_the_spectral_start_is_a_rotation_of_the_dense_embedding():
    labels = labels_of(50, 5, np.random.default_rng(0))
    batch = replace(batch_of(labels, 12, np.random.default_rng(0)), eta=0.0)
    _, P = dense_spectral(batch)
    R, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((12, 12)))
    B, H = start_all(make_update("spectral"), labels, 12, np.random.default_rng(1))
    assert torch.equal(B, H)
    gram_of_rotated, ours = P @ P.T, by_label_set(labels).embedding(12).double()
    np.testing.assert_allclose(ours @ ours.T, gram_of_rotated, atol=1e-4)
    assert torch.equal(B, sign(ours @ torch.from_numpy(R[: ours.shape[1]])).float())


@pytest.mark.parametrize("name", ["spectral", "relaxed"])
def test_a_whole_set_of_one_label_starts_from_random_codes(name):
    B, H = start_all(make_update(name), torch.ones(40, 1).bool(), 16, np.random.default_rng(0))
    assert CodeHealth.of(B).distinct_codes == CodeHealth.of(H).distinct_codes == 40


@pytest.mark.parametrize("name", UPDATES)
def test_the_same_seed_starts_the_same_codes(name):
    labels = labels_of(30, 4, np.random.default_rng(0))
    first = start_all(make_update(name), labels, 8, np.random.default_rng(5))
    second = start_all(make_update(name), labels, 8, np.random.default_rng(5))
    assert all(map(torch.equal, first, second))


def test_projected_targets_are_equal_for_equal_labels_and_as_even_as_these_allow():
    labels = torch.eye(2).bool()[torch.tensor([0, 0, 0, 1, 1])]
    B, H = start_all(make_update("projection"), labels, 16, np.random.default_rng(0))
    assert torch.equal(B, H)
    assert (B.sum(0).abs() == 1).all()
    assert len(B.unique(dim=0)) == 2


# Names


def test_an_unknown_update_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match="did you mean 'gram'.*centred, gram, printed, projection, relaxed, spectral"):
        make_update("gramm")


def test_an_unknown_setting_of_an_update_is_refused():
    with pytest.raises(UsageError, match="'q'"):
        make_update("gram", q=1)


def test_a_target_deviation_of_nothing_is_refused():
    with pytest.raises(UsageError, match="r=0"):
        make_update("gram", r=0)


def test_only_the_fixed_routine_starts_from_the_whole_set_and_never_updates():
    assert ROUTINES["n"] == Routine(random_batches=True, update_batches=False, whole_set_every=None, start="whole set")
    assert [name for name, routine in ROUTINES.items() if not routine.random_batches] == ["s"]
    assert {name: routine.whole_set_every for name, routine in ROUTINES.items()}["e2"] == 5
