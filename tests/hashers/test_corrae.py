"""The Correspondence Autoencoder: its J judged by plain numpy, its parts by what they must not depend on."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from both_directions import above_chance
from numpy.testing import assert_allclose

from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.corrae import PRESETS, REBUILT, CorrAE, CorrAESettings, median, standardise
from deepbinaries.hashers.views import matrix

SMALL = CorrAESettings(bits=16, fc=32, epochs=30, pretrain=5, batch=60, learning_rate=1e-2)
CPU = torch.device("cpu")


def small(**settings) -> CorrAE:
    return CorrAE(replace(SMALL, **settings), device="cpu")


def of_vectors(pairs: Pairs) -> Pairs:
    """The same pairs with texts that are vectors, not words."""
    rng = np.random.default_rng(3)
    vectors = pairs.labels.matrix() @ rng.normal(size=(10, 7)) + 5
    return Pairs(pairs.images, Texts.from_vectors(vectors), pairs.labels)


def untrained(pairs: Pairs, **settings):
    """Networks and the objective of some pairs, before the first step."""
    hasher = small(**settings)
    pairs = Pairs(pairs.images, hasher.read(pairs.texts), pairs.labels)
    torch.manual_seed(0)
    from deepbinaries.hashers.deep import Inputs

    towers = hasher.build(Inputs.of(pairs.images, pairs.texts))
    return hasher, pairs, towers, hasher.objective(pairs, towers, CPU)


def slow_layers(layers, vectors: np.ndarray) -> np.ndarray:
    for layer in layers:
        if isinstance(layer, torch.nn.Linear):
            vectors = vectors @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        else:
            vectors = 1 / (1 + np.exp(-vectors))
    return vectors


@pytest.mark.parametrize("preset", PRESETS)
def test_corrae_keeps_the_contract_of_a_hasher(pairs, tmp_path, preset):
    check_hasher(
        lambda: CorrAE.preset(preset, device="cpu", bits=8, fc=16, epochs=2, pretrain=1, batch=60), pairs, tmp_path
    )


@pytest.mark.parametrize("form", REBUILT)
def test_it_learns_what_it_has_not_seen_in_both_directions(pairs, others, form):
    assert min(above_chance(small(form=form).fit(pairs), pairs, others)) > 0.1


def test_texts_that_are_vectors_are_learnt_too(pairs, others):
    learnt, asked = of_vectors(pairs), of_vectors(others)
    assert min(above_chance(small().fit(learnt), learnt, asked)) > 0.1


def test_labels_are_not_looked_at(pairs):
    shuffled = Pairs(pairs.images, pairs.texts, pairs.labels.select(np.arange(len(pairs))[::-1]))
    one, other = (small(epochs=2).fit(some).encode(pairs.images) for some in (pairs, shuffled))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("form", REBUILT)
def test_the_loss_is_that_of_the_formula(pairs, form):
    _, pairs, towers, objective = untrained(pairs, form=form, alpha=0.3, pretrain=0)
    rows = np.array([5, 7, 100])
    x, y = (
        (matrix(side)[rows] - tower.shift.numpy()) * tower.scale.numpy()
        for side, tower in ((pairs.images, towers.image), (pairs.texts, towers.text))
    )
    sigmoid = torch.nn.Sigmoid()
    p, q = (
        slow_layers([tower.first, sigmoid, tower.last, sigmoid], side)
        for tower, side in ((towers.image, x), (towers.text, y))
    )
    codes, sides = {"image": p, "text": q}, {"image": x, "text": y}
    rebuilt = [
        ((slow_layers(decoder, codes[code]) - sides[side]) ** 2).mean()
        for decoder, (code, side) in zip(towers.helper.decoders, REBUILT[form], strict=True)
    ]
    regions = torch.from_numpy(np.array(pairs.images.regions[rows], dtype=np.float32))
    F, G = towers.image(regions), towers.text(torch.from_numpy(pairs.texts.features[rows]))
    found = objective.loss(F, G, torch.from_numpy(rows))
    assert float(found.detach()) == pytest.approx(0.7 * sum(rebuilt) + 0.3 * ((p - q) ** 2).mean(), rel=1e-5)


def test_the_gradient_is_that_of_finite_differences(pairs):
    _, _, towers, objective = untrained(pairs, pretrain=0)
    towers.double()
    objective.images, objective.texts = objective.images.double(), objective.texts.double()
    F, G = (side.requires_grad_() for side in torch.rand(2, 3, 16, dtype=torch.float64) - 0.5)
    assert torch.autograd.gradcheck(lambda F, G: objective.loss(F, G, torch.arange(3)), (F, G))


def test_without_alpha_the_two_sides_are_plain_autoencoders(pairs):
    """Other texts change nothing of what is learnt from pictures."""
    turned = Pairs(pairs.images, pairs.texts[np.arange(len(pairs))[::-1]], pairs.labels)
    towers = [small(alpha=0.0, threshold="half", epochs=3).fit(some).encode(pairs.images) for some in (pairs, turned)]
    assert np.array_equal(*towers)


def test_with_alpha_they_are_not(pairs):
    turned = Pairs(pairs.images, pairs.texts[np.arange(len(pairs))[::-1]], pairs.labels)
    settings = {"alpha": 0.5, "threshold": "half", "epochs": 3, "pretrain": 0}
    towers = [small(**settings).fit(some).encode(pairs.images) for some in (pairs, turned)]
    assert not np.allclose(*towers)


def test_an_alpha_near_one_gives_a_code_that_hardly_varies_and_the_log_says_so(pairs):
    last = {}
    for alpha in (0.2, 0.9999):
        entries = []
        small(alpha=alpha, pretrain=0).fit(pairs, log=entries.append)
        last[alpha] = entries[-1]
    assert last[0.9999]["code_variance"] < 0.1 * last[0.2]["code_variance"]
    assert {"reconstruction", "correlation", "codes_effective_rank"} <= set(last[0.2])


def test_pretraining_is_a_training_without_alpha(pairs):
    hasher = small(epochs=3, pretrain=3, alpha=0.9).fit(pairs)
    alone = small(epochs=3, pretrain=0, alpha=0.0).fit(pairs)
    assert np.array_equal(hasher.encode(pairs.images), alone.encode(pairs.images))


def test_each_bit_is_positive_for_half_of_all_pictures_and_texts_together(pairs):
    hasher = small(epochs=3).fit(pairs)
    both = np.vstack([hasher.encode(pairs.images), hasher.encode(pairs.texts)])
    assert ((both > 0).mean(0) <= 0.5).all()  # equal sentences have equal values, and may lie on the threshold
    assert ((both >= 0).mean(0) >= 0.5).all()


def test_both_sides_have_one_threshold_a_bit(pairs):
    towers = small(epochs=2).fit(pairs).towers_
    assert torch.equal(towers.image.threshold, towers.text.threshold)
    assert towers.image.threshold.shape == (16,)


def test_validation_sees_codes_with_the_thresholds_of_its_epoch(pairs, others):
    entries = []
    hasher = small(epochs=8).fit(pairs, validation=others, log=entries.append)
    from deepbinaries.hashers.validation import validate

    found = validate(hasher.encode, pairs, others)
    assert found["validation_image_to_text"] == entries[-1]["validation_image_to_text"]


def test_the_median_of_an_odd_number_of_rows_is_the_middle_one():
    assert median(torch.tensor([[3.0, 1.0], [1.0, 1.0], [2.0, 5.0]])).tolist() == [2.0, 1.0]


def test_words_are_weighed_by_how_rare_they_are_and_have_unit_variance_together():
    counts = torch.tensor([[1.0, 2.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    shift, scale = standardise(counts, counts=True)
    assert shift.tolist() == [1.0, 0.5, 0.5]
    assert scale[0] == 0  # everybody has this word
    assert float(scale[1] / scale[2]) == pytest.approx(np.log(4) / np.log(2))
    assert float(((counts - shift) * scale).var(0, correction=0).mean()) == pytest.approx(1.0)


def test_features_are_brought_to_unit_variance_one_by_one(pairs):
    _, pairs, towers, _ = untrained(of_vectors(pairs))
    for tower, side in ((towers.image, pairs.images), (towers.text, pairs.texts)):
        vectors = tower.standardised(torch.from_numpy(matrix(side)))
        assert_allclose(vectors.mean(0), 0, atol=1e-4)
        assert_allclose(vectors.var(0, correction=0), 1, atol=1e-3)


def test_a_constant_feature_is_left_out(pairs):
    regions = np.array(pairs.images.regions, dtype=np.float32)
    regions[:, -1, 3] = 7
    _, _, towers, _ = untrained(Pairs(Images(regions), pairs.texts, pairs.labels))
    assert towers.image.scale[3] == 0


def test_a_killed_run_resumes_to_the_identical_model_though_it_was_pretraining(pairs, tmp_path):
    class KilledError(Exception):
        pass

    def kill(entry):
        if entry["epoch"] == 3:
            raise KilledError

    whole = small(epochs=6, pretrain=4).fit(pairs)
    with pytest.raises(KilledError):
        small(epochs=6, pretrain=4).fit(pairs, checkpoints=tmp_path, log=kill)
    resumed = small(epochs=6, pretrain=4).fit(pairs, checkpoints=tmp_path)
    assert np.array_equal(whole.encode(pairs.texts), resumed.encode(pairs.texts))


def test_the_decoders_are_not_kept(pairs):
    hasher = small(epochs=1).fit(pairs)
    assert not [name for name in hasher.towers_.state_dict() if "helper" in name]


def test_a_batch_of_one_row_at_the_end_is_trained_on(pairs):
    entries = []
    small(epochs=2, batch=239).fit(pairs, log=entries.append)
    assert all(np.isfinite(entry["loss"]) for entry in entries)


def test_sentences_of_another_vocabulary_are_refused(pairs):
    hasher = small(epochs=1).fit(pairs)
    with pytest.raises(DataError, match="features"):
        hasher.encode(Texts(np.full((1, 6), 50, dtype=np.int32), 100))


@pytest.mark.parametrize("nonsense", [{"form": "none"}, {"threshold": "mean"}, {"alpha": 1.0}, {"pretrain": -1}])
def test_nonsense_settings_are_refused_where_they_are_written(nonsense):
    with pytest.raises(UsageError):
        CorrAESettings(**nonsense)
