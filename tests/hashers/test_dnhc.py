"""DNH-C: divide-and-encode judged bit by bit, its triplets by a loop over all of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from both_directions import above_chance

from deepbinaries.datasets import Labels
from deepbinaries.errors import UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.dnhc import DNHC, DivideAndEncode, DNHCSettings, TripletRanking, snap

SMALL = DNHCSettings(bits=16, slice=4, embed=16, maps=16, widths=(1, 2), epochs=20, batch=60, learning_rate=3e-3)
# Items 0 and 1 share a label, 2 and 3 another; 4 is like nobody and has no label.
LABELS = torch.tensor([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0]], dtype=torch.bool)


def small(**settings) -> DNHC:
    return DNHC(replace(SMALL, **settings), device="cpu")


def ranking(labels: torch.Tensor = LABELS, **settings) -> TripletRanking:
    return TripletRanking(labels, replace(SMALL, **settings))


def outputs(n: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    F, G = torch.from_numpy(np.random.default_rng(seed).uniform(-0.5, 0.5, (2, n, 16))).float()
    return F, G


def slow_triplets(F: np.ndarray, G: np.ndarray, labels: np.ndarray, margin: float, i: int, j: int) -> list[float]:
    """The losses of all triplets of an anchor and a positive, one for each negative."""
    found = []
    for k in range(len(G)):
        if not (labels[i] & labels[k]).any():
            near, far = ((F[i] - G[j]) ** 2).sum(), ((F[i] - G[k]) ** 2).sum()
            found.append(max(0.0, margin - far + near))
    return found


def slow_loss(F: torch.Tensor, G: torch.Tensor, labels: torch.Tensor, margin: float, take) -> float:
    """Both directions, each the mean over (anchor, positive) of what `take` makes of their triplets."""
    total, labels = 0.0, labels.numpy()
    for A, C in ((F.numpy(), G.numpy()), (G.numpy(), F.numpy())):
        n = range(len(A))
        losses = [slow_triplets(A, C, labels, margin, i, j) for i in n for j in n if (labels[i] & labels[j]).any()]
        kept = [take(some) for some in losses if some]
        total += sum(kept) / max(len(kept), 1)
    return total


def test_dnhc_keeps_the_contract_of_a_hasher(pairs, tmp_path):
    check_hasher(lambda: small(epochs=2), pairs, tmp_path)


def test_it_learns_what_it_has_not_seen_in_both_directions(pairs, others):
    assert min(above_chance(small().fit(pairs), pairs, others)) > 0.2


def test_texts_that_are_vectors_are_learnt_too(pairs, others):
    learnt, asked = (
        Pairs(some.images, Texts.from_vectors(some.labels.matrix().astype(np.float32)), some.labels)
        for some in (pairs, others)
    )
    assert min(above_chance(small().fit(learnt), learnt, asked)) > 0.2


def test_the_hardest_negatives_give_the_loss_of_a_slow_loop():
    F, G = outputs(5)
    found = ranking(mining="hard", margin=2.0).loss(F, G, torch.arange(5))
    assert float(found) == pytest.approx(slow_loss(F, G, LABELS, 2.0, max), rel=1e-5)


def test_random_negatives_give_the_loss_over_all_of_them_on_average():
    F, G = outputs(5)
    torch.manual_seed(0)
    found = ranking(negatives=20_000, margin=2.0).loss(F, G, torch.arange(5))
    assert float(found) == pytest.approx(slow_loss(F, G, LABELS, 2.0, np.mean), rel=0.01)


def test_negatives_are_drawn_from_all_that_share_no_label_and_from_no_other():
    S = (LABELS.float() @ LABELS.float().T > 0).float()
    drawn = ranking(negatives=100).drawn(S)
    assert [sorted(set(of_anchor.flatten().tolist())) for of_anchor in drawn] == [
        [2, 3, 4],
        [2, 3, 4],
        [0, 1, 4],
        [0, 1, 4],
        [0, 1, 2, 3, 4],
    ]


@pytest.mark.parametrize("mining", ["random", "hard"])
def test_an_anchor_that_is_similar_to_all_is_left_out(mining):
    F, G = outputs(3)
    labels = torch.tensor([[1, 1], [1, 0], [0, 1]], dtype=torch.bool)  # the first is similar to everybody
    found = ranking(labels, mining=mining, negatives=1).loss(F, G, torch.arange(3))
    # The second and the third have one negative each, so nothing depends on what is drawn.
    assert float(found) == pytest.approx(slow_loss(F, G, labels, 1.0, max), rel=1e-5)


@pytest.mark.parametrize("mining", ["random", "hard"])
@pytest.mark.parametrize("labels", [LABELS[:1], LABELS[:2], LABELS[4:], LABELS[1:3] & False])
def test_a_batch_without_triplets_costs_nothing_and_moves_nothing(labels, mining):
    F, G = outputs(len(labels))
    F.requires_grad_()
    loss = ranking(labels, mining=mining).loss(F, G, torch.arange(len(labels)))
    loss.backward()
    assert float(loss.detach()) == 0
    assert not F.grad.any()


def test_the_gradient_is_that_of_finite_differences():
    F, G = (side.double().requires_grad_() for side in outputs(5))
    objective = ranking(mining="hard", margin=4.0)
    assert torch.autograd.gradcheck(lambda F, G: objective.loss(F, G, torch.arange(5)), (F, G))


@pytest.mark.parametrize(("bits", "margin"), [(16, 1.0), (64, 1.0), (128, 2.0)])
def test_the_margin_grows_with_codes_beyond_64_bits(bits, margin):
    assert ranking(bits=bits).margin == margin


def test_every_bit_comes_of_its_own_slice_alone():
    torch.manual_seed(0)
    layer = DivideAndEncode(7, SMALL).eval().requires_grad_(False)
    features = torch.randn(3, 7)
    units = torch.relu(layer.units(features))
    expected = [
        [float(torch.sigmoid(units[i, 4 * m : 4 * m + 4] @ layer.weights[m] + layer.bias[m])) - 0.5 for m in range(16)]
        for i in range(3)
    ]
    assert torch.allclose(layer(features), torch.tensor(expected), atol=1e-6)


def test_snapped_values_have_no_gradient_and_the_others_have_all_of_it():
    bits = torch.tensor([0.1, 0.45, 0.55, 0.9], requires_grad=True)
    snapped = snap(bits, 0.2)
    snapped.sum().backward()
    assert snapped.tolist() == pytest.approx([0.0, 0.45, 0.55, 1.0])
    assert bits.grad.tolist() == [0, 1, 1, 0]


def test_an_epsilon_of_a_half_snaps_nothing():
    bits = torch.tensor([0.0, 0.3, 1.0])
    assert torch.equal(snap(bits, 0.5), bits)


def test_a_training_that_snaps_keeps_the_signs_of_its_codes(pairs):
    hasher = small(epsilon=0.2, epochs=3).fit(pairs)
    values = hasher.encode(pairs.images)
    hasher.towers_.train()
    snapped = hasher.towers_.image(torch.from_numpy(np.array(pairs.images.regions, dtype=np.float32)))
    assert ((snapped >= 0).numpy() == (values >= 0)).all()


def test_a_batch_of_one_row_at_the_end_is_trained_on(pairs):
    entries = []
    small(epochs=2, batch=239).fit(pairs, log=entries.append)
    assert all(np.isfinite(entry["loss"]) for entry in entries)


def test_a_killed_run_resumes_to_the_identical_model(pairs, tmp_path):
    class KilledError(Exception):
        pass

    def kill(entry):
        if entry["epoch"] == 3:
            raise KilledError

    whole = small(epochs=4).fit(pairs)
    with pytest.raises(KilledError):
        small(epochs=4).fit(pairs, checkpoints=tmp_path, log=kill)
    resumed = small(epochs=4).fit(pairs, checkpoints=tmp_path)
    assert np.array_equal(whole.encode(pairs.images), resumed.encode(pairs.images))


def test_two_thousand_pairs_of_twenty_labels_beat_their_density_by_a_tenth():
    rng = np.random.default_rng(0)
    has = rng.random((2400, 20)) < 0.1
    has[np.arange(2400), rng.integers(0, 20, 2400)] = True
    sides = (has @ rng.normal(size=(20, width)) + rng.normal(size=(2400, width)) for width in (48, 32))
    images, texts = (side.astype(np.float32) for side in sides)
    pairs = Pairs(Images.from_vectors(images), Texts.from_vectors(texts), Labels.from_matrix(has))
    learnt, asked = pairs.select(np.arange(2000)), pairs.select(np.arange(2000, 2400))
    entries = []
    hasher = DNHC.preset("dnh-c", device="cpu", bits=32, slice=10, epochs=6).fit(learnt, log=entries.append)
    assert min(above_chance(hasher, learnt, asked)) > 0.1
    assert entries[-1]["codes_constant_share"] <= 0.5
    assert entries[-1]["loss_images"] + entries[-1]["loss_texts"] == pytest.approx(entries[-1]["loss"], rel=1e-4)


@pytest.mark.parametrize("nonsense", [{"mining": "gold"}, {"epsilon": 0.0}, {"epsilon": 0.6}, {"slice": 0}])
def test_nonsense_settings_are_refused_where_they_are_written(nonsense):
    with pytest.raises(UsageError):
        DNHCSettings(**nonsense)


@pytest.mark.parametrize("nonsense", [{"negatives": 0}, {"margin": -1.0}])
def test_triplets_of_nothing_are_refused(nonsense):
    with pytest.raises(UsageError):
        DNHCSettings(**nonsense)
