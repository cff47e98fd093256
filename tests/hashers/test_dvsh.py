from dataclasses import replace

import numpy as np
import pytest
import torch

from deepbinaries.codes import Codes
from deepbinaries.errors import UsageError
from deepbinaries.evaluation import evaluate
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.dvsh import DVSH, DVSHSettings

CPU = torch.device("cpu")
SMALL = DVSHSettings(bits=16, hidden=24, fc=32, embed=16, maps=16, widths=(1, 2), epochs=12, batch=60)


def small(**settings) -> DVSH:
    return DVSH(replace(SMALL, **settings), device="cpu")


def score(hasher: DVSH, pairs: Pairs, others: Pairs, direction: str):
    sides = (others.images, pairs.texts) if direction == "image_to_text" else (others.texts, pairs.images)
    queries, gallery = (Codes.from_values(hasher.encode(side)) for side in sides)
    return evaluate(queries, gallery, query_labels=others.labels, gallery_labels=pairs.labels, direction=direction)


def as_vectors(some: Pairs) -> Pairs:
    noise = np.random.default_rng(4).normal(0, 0.2, (len(some), 10))
    texts = Texts.from_vectors(some.labels.matrix() + noise)
    return Pairs(Images.from_vectors(some.images.whole), texts, some.labels)


def objective_of(pairs: Pairs, **settings):
    torch.manual_seed(5)
    hasher = small(**settings)
    towers = hasher.build(hasher.inputs_.of(pairs.images, pairs.texts))
    return hasher.objective(pairs, towers, CPU)


def slow_loss(objective, F, G, pairs: Pairs, rows) -> float:
    """J written out, from the fusion network's values after every word."""
    s, tokens, has = objective.settings, pairs.texts.tokens, pairs.labels.matrix()
    z, bit = [], []
    for row in rows:
        with torch.no_grad():
            h, _ = objective.fusion(torch.from_numpy(pairs.images.whole[[row]]), torch.from_numpy(tokens[[row]]))
        h = h[0].numpy()[: int((tokens[row] != 0).sum())].astype(float)
        z.append(h.mean(axis=0))
        bit += np.maximum(0, s.mu_b - abs(h)).ravel().tolist()
    near, far = [], []
    for i, p in enumerate(rows):
        for j, q in enumerate(rows):
            cosine = z[i] @ z[j] / np.sqrt((z[i] @ z[i]) * (z[j] @ z[j]))
            if i != j and (has[p] & has[q]).any():
                near.append(max(0, s.mu_c - cosine))
            elif i != j:
                far.append(max(0, s.mu_c + cosine))
    balanced = (sum(near) / max(1, len(near)) + sum(far) / max(1, len(far))) / 2
    cosine_loss = balanced if s.balance_pairs else sum(near + far) / max(1, len(near + far))
    missed = ((np.array(z) - F) ** 2).mean() + ((np.array(z) - G) ** 2).mean()
    return cosine_loss + s.bit_weight * np.mean(bit) + s.beta * missed


@pytest.fixture(scope="module")
def learnt_from_many(many_pairs) -> DVSH:
    return small(bits=32, epochs=5, batch=128, learning_rate=3e-3).fit(many_pairs)


def test_dvsh_keeps_the_contract_of_a_hasher(pairs, tmp_path):
    check_hasher(lambda: small(epochs=2), pairs, tmp_path)


@pytest.mark.parametrize("direction", ["image_to_text", "text_to_image"])
def test_it_learns_what_it_has_not_seen(pairs, others, direction):
    report = score(small(epochs=20, learning_rate=3e-3).fit(pairs), pairs, others, direction)
    assert report.mean > report.chance + 0.2


@pytest.mark.parametrize("balance_pairs", [True, False])
@pytest.mark.parametrize("rows", [[3], [7, 2], list(range(12))])
def test_the_loss_is_what_the_paper_writes(pairs, balance_pairs, rows):
    objective = objective_of(pairs, balance_pairs=balance_pairs, beta=0.7, bit_weight=0.3, mu_c=0.4, mu_b=0.6)
    F, G = (np.random.default_rng(side).uniform(-1, 1, (len(rows), 16)) for side in (1, 2))
    loss = objective.loss(torch.tensor(F).float(), torch.tensor(G).float(), torch.tensor(rows))
    assert loss.item() == pytest.approx(slow_loss(objective, F, G, pairs, rows), rel=1e-4)


def test_the_gradient_of_the_fusion_network_is_that_of_finite_differences(pairs):
    objective, rows = objective_of(pairs), list(range(8))
    F, G = (np.random.default_rng(side).uniform(-1, 1, (8, 16)) for side in (1, 2))
    objective.loss(torch.tensor(F).float(), torch.tensor(G).float(), torch.tensor(rows)).backward()
    weight = objective.fusion.last.weight
    slope, found = weight.grad[2, 3].item(), []
    for step in (1e-3, -2e-3):
        weight.data[2, 3] += step
        found.append(slow_loss(objective, F, G, pairs, rows))
    assert slope == pytest.approx((found[0] - found[1]) / 2e-3, abs=2e-4)


def test_the_hashing_networks_teach_the_fusion_network_too(pairs):
    objective = objective_of(pairs, beta=1.0, bit_weight=0.0, mu_c=0.0)
    F = torch.ones(1, 16)  # one pair alone: nothing is left of J but what the two networks miss of z
    objective.loss(F, F, torch.tensor([0])).backward()
    assert float(objective.fusion.last.weight.grad.abs().max()) > 0


def test_words_that_are_not_there_change_nothing(pairs):
    hasher = small(epochs=1).fit(pairs)
    longer = Texts(np.pad(pairs.texts.tokens, [(0, 0), (0, 5)]), pairs.texts.n_words)
    assert np.allclose(hasher.encode(pairs.texts), hasher.encode(longer), atol=1e-6)


def test_a_sentence_without_words_has_a_code(pairs):
    hasher = small(epochs=1).fit(pairs)
    nothing = Texts(np.zeros((1, 6), dtype=np.int32), pairs.texts.n_words)
    assert hasher.encode(nothing).tolist() == [[0.0] * 16]


def test_a_sentence_without_words_does_not_break_training(pairs):
    tokens = pairs.texts.tokens.copy()
    tokens[:5] = 0
    hasher = small(epochs=1).fit(Pairs(pairs.images, Texts(tokens, pairs.texts.n_words), pairs.labels))
    assert np.isfinite(hasher.encode(pairs.images)).all()


def test_the_fusion_network_is_not_kept(pairs, tmp_path):
    hasher = small(epochs=1).fit(pairs)
    hasher.save(tmp_path)
    assert not any("helper" in name for name in hasher.towers_.state_dict())


def test_a_killed_run_resumes_to_the_identical_model_fusion_network_and_all(pairs, tmp_path):
    whole = small(epochs=3).fit(pairs)

    class KilledError(Exception):
        pass

    def kill(entry):
        if entry["epoch"] == 2:
            raise KilledError

    with pytest.raises(KilledError):
        small(epochs=3).fit(pairs, checkpoints=tmp_path, log=kill)
    resumed = small(epochs=3).fit(pairs, checkpoints=tmp_path)
    assert np.array_equal(whole.encode(pairs.images), resumed.encode(pairs.images))
    assert np.array_equal(whole.encode(pairs.texts), resumed.encode(pairs.texts))


def test_the_text_cnn_can_take_the_place_of_the_lstm(pairs, others):
    report = score(small(text="cnn", epochs=20, learning_rate=3e-3).fit(pairs), pairs, others, "text_to_image")
    assert report.mean > report.chance + 0.2


@pytest.mark.parametrize("direction", ["image_to_text", "text_to_image"])
def test_texts_that_are_vectors_are_learnt(pairs, others, direction):
    hasher = small(epochs=20, learning_rate=3e-3).fit(as_vectors(pairs))
    report = score(hasher, as_vectors(pairs), as_vectors(others), direction)
    assert report.mean > report.chance + 0.2


def test_the_log_tells_the_parts_of_the_loss_and_the_health_of_the_codes(pairs):
    entries = []
    small(epochs=2).fit(pairs, log=entries.append)
    last = entries[-1]
    parts = last["loss_cosine"] + 0.1 * last["loss_bit"] + last["loss_image"] + last["loss_text"]
    assert last["loss"] == pytest.approx(parts, rel=1e-5)
    assert last["codes_items"] == len(pairs)


@pytest.mark.parametrize("direction", ["image_to_text", "text_to_image"])
def test_with_twenty_labels_it_beats_the_density_by_far(learnt_from_many, many_pairs, other_pairs, direction):
    report = score(learnt_from_many, many_pairs, other_pairs, direction)
    assert report.mean > report.chance + 0.1


def test_with_twenty_labels_most_bits_vary(learnt_from_many, many_pairs):
    codes = np.where(learnt_from_many.encode(many_pairs.images) >= 0, 1, -1)
    assert (abs(codes.mean(axis=0)) > 0.98).mean() < 0.5


@pytest.mark.parametrize("nonsense", [{"text": "bow"}, {"mu_c": -0.1}, {"beta": np.inf}, {"bit_weight": -1.0}])
def test_nonsense_settings_are_refused_where_they_are_written(nonsense):
    with pytest.raises(UsageError):
        DVSHSettings(**nonsense)
