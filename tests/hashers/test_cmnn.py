from dataclasses import replace

import numpy as np
import pytest
import torch

from deepbinaries.codes import Codes
from deepbinaries.datasets import Labels
from deepbinaries.errors import UsageError
from deepbinaries.evaluation import evaluate
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.cmnn import CMNN, CMNNSettings, PairObjective

CPU = torch.device("cpu")
SMALL = CMNNSettings(bits=16, fc=32, embed=16, maps=16, widths=(1, 2), epochs=12, batch=60)


def small(**settings) -> CMNN:
    return CMNN(replace(SMALL, **settings), device="cpu")


def score(hasher: CMNN, pairs: Pairs, others: Pairs, direction: str):
    sides = (others.images, pairs.texts) if direction == "image_to_text" else (others.texts, pairs.images)
    queries, gallery = (Codes.from_values(hasher.encode(side)) for side in sides)
    return evaluate(queries, gallery, query_labels=others.labels, gallery_labels=pairs.labels, direction=direction)


def slow_mean_of_pairs(a, c, has, margin, *, within):
    near, far = [], []
    for i in range(len(a)):
        for j in range(len(c)):
            if within and i == j:
                continue
            distance = np.sqrt(((a[i] - c[j]) ** 2).sum())
            if i == j or (has[i] & has[j]).any():
                near.append(distance**2 / 2)
            else:
                far.append(max(0.0, margin - distance) ** 2 / 2)
    return (np.mean(near) if near else 0.0) + (np.mean(far) if far else 0.0)


def slow_loss(F, G, has, settings: CMNNSettings):
    u, w, m = np.tanh(F), np.tanh(G), settings.margin * np.sqrt(2 * settings.bits)
    loss = slow_mean_of_pairs(u, w, has, m, within=False)
    loss += settings.alpha_x * slow_mean_of_pairs(u, u, has, m, within=True)
    return loss + settings.alpha_y * slow_mean_of_pairs(w, w, has, m, within=True)


def batch_of(n: int, bits: int, seed: int = 3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, bits)), rng.normal(size=(n, bits)), rng.random((n, 5)) < 0.25


def loss_of(F, G, has, settings: CMNNSettings) -> torch.Tensor:
    objective = PairObjective(Labels.from_matrix(has), settings, CPU)
    return objective.loss(torch.as_tensor(F).float(), torch.as_tensor(G).float(), torch.arange(len(has)))


@pytest.fixture(scope="module")
def learnt_from_many(many_pairs) -> CMNN:
    return small(bits=32, epochs=10, batch=128, learning_rate=3e-3).fit(many_pairs)


def test_cmnn_keeps_the_contract_of_a_hasher(pairs, tmp_path):
    check_hasher(lambda: small(epochs=2), pairs, tmp_path)


@pytest.mark.parametrize("direction", ["image_to_text", "text_to_image"])
def test_it_learns_what_it_has_not_seen(pairs, others, direction):
    report = score(small(epochs=20, learning_rate=3e-3).fit(pairs), pairs, others, direction)
    assert report.mean > report.chance + 0.2


@pytest.mark.parametrize(
    "settings",
    [
        CMNNSettings(bits=6),
        CMNNSettings(bits=6, margin=0.4, alpha_x=0.2, alpha_y=0.7),
        CMNNSettings(bits=6, alpha_x=0, alpha_y=0),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 9])
def test_the_loss_is_the_sum_over_pairs_that_the_paper_writes(settings, n):
    F, G, has = batch_of(n, 6)
    assert loss_of(F, G, has, settings).item() == pytest.approx(slow_loss(F, G, has, settings), rel=1e-5)


def test_the_gradient_is_that_of_finite_differences():
    settings = CMNNSettings(bits=4, margin=0.7)
    F, G, has = batch_of(5, 4)
    at = torch.tensor(F, dtype=torch.float32, requires_grad=True)
    loss_of(at, G, has, settings).backward()
    for row, bit in [(0, 0), (2, 3), (4, 1)]:
        step = np.zeros_like(F)
        step[row, bit] = 1e-5
        slope = (slow_loss(F + step, G, has, settings) - slow_loss(F - step, G, has, settings)) / 2e-5
        assert float(at.grad[row, bit]) == pytest.approx(slope, abs=1e-4)


def test_equal_codes_of_dissimilar_items_have_a_finite_gradient():
    values = torch.ones(3, 4, requires_grad=True)
    loss_of(values, values, np.eye(3, dtype=bool), CMNNSettings(bits=4)).backward()
    assert values.grad.isfinite().all()


def test_without_labels_a_picture_still_belongs_to_its_own_text():
    F = np.array([[0.3, -0.2]])
    assert loss_of(F, F, np.zeros((1, 2), dtype=bool), CMNNSettings(bits=2)).item() == 0


def test_no_step_is_longer_than_the_gradients_clip(pairs):
    hasher = small(clip=1e-3)
    towers = hasher.build(hasher.inputs_.of(pairs.images, pairs.texts))
    optimiser = hasher.optimiser(towers, CPU)
    for parameter in towers.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimiser.step()
    length = torch.stack([parameter.grad.square().sum() for parameter in towers.parameters()]).sum().sqrt()
    assert float(length) == pytest.approx(1e-3, rel=1e-3)


def test_values_start_near_zero_where_tanh_is_steep(pairs):
    hasher = small()
    towers = hasher.build(hasher.inputs_.of(pairs.images, pairs.texts))
    whole = torch.from_numpy(np.array(pairs.images.regions)).float()
    assert towers.image(whole).abs().max().item() < 0.5


def test_the_log_tells_the_parts_of_the_loss_and_the_health_of_the_codes(pairs):
    entries = []
    small(epochs=2).fit(pairs, log=entries.append)
    last = entries[-1]
    parts = last["loss_cross"] + 0.5 * last["loss_images"] + 0.5 * last["loss_texts"]
    assert last["loss"] == pytest.approx(parts, rel=1e-5)
    assert last["codes_items"] == len(pairs)


def test_a_last_batch_of_one_pair_is_learnt_from(pairs):
    values = small(epochs=1, batch=60).fit(pairs.select(np.arange(61))).encode(pairs.images)
    assert np.isfinite(values).all()


def test_texts_that_are_vectors_are_learnt(pairs, others):
    def vectors(some: Pairs) -> Pairs:
        noise = np.random.default_rng(4).normal(0, 0.2, (len(some), 10))
        texts = Texts.from_vectors(some.labels.matrix() + noise)
        return Pairs(Images.from_vectors(some.images.whole), texts, some.labels)

    hasher = small(epochs=20, learning_rate=3e-3).fit(vectors(pairs))
    report = score(hasher, vectors(pairs), vectors(others), "text_to_image")
    assert report.mean > report.chance + 0.2


@pytest.mark.parametrize("direction", ["image_to_text", "text_to_image"])
def test_with_twenty_labels_it_beats_the_density_by_far(learnt_from_many, many_pairs, other_pairs, direction):
    report = score(learnt_from_many, many_pairs, other_pairs, direction)
    assert report.mean > report.chance + 0.1


def test_with_twenty_labels_most_bits_vary(learnt_from_many, many_pairs):
    codes = np.where(learnt_from_many.encode(many_pairs.images) >= 0, 1, -1)
    assert (abs(codes.mean(axis=0)) > 0.98).mean() < 0.5


@pytest.mark.parametrize("nonsense", [{"margin": 0.0}, {"alpha_x": -1.0}, {"alpha_y": np.nan}, {"clip": 0.0}])
def test_nonsense_settings_are_refused_where_they_are_written(nonsense):
    with pytest.raises(UsageError):
        CMNNSettings(**nonsense)
