"""Deep Cross-Modal Hashing: its loss judged by plain loops and finite differences, its buffers, what it learns."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from both_directions import above_chance
from numpy.testing import assert_allclose

from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Pairs, Texts
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.dcmh import DCMH, PRESETS, BufferObjective, DCMHSettings
from deepbinaries.hashers.training import TrainingSettings, learning_rate

SMALL = replace(
    PRESETS["dcmh"], bits=16, fc=32, embed=16, maps=16, widths=(1, 2), epochs=20, batch=60, learning_rate=3e-3
)
LABELS = Labels.from_names([["cat"], ["dog", "cat"], ["dog"], ["cow"], []])
ROWS = torch.tensor([1, 3])
CPU = torch.device("cpu")


def small(**settings) -> DCMH:
    return DCMH(replace(SMALL, **settings), device="cpu")


def objective(**settings) -> BufferObjective:
    """The published one."""
    return BufferObjective(LABELS, DCMHSettings(bits=3, **({"eta": 1.0, "balance_pairs": False} | settings)), CPU)


def outputs(n: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    values = np.random.default_rng(7).normal(size=(2, n, 3)).astype(np.float32)
    F, G = (torch.from_numpy(side).requires_grad_() for side in values)
    return F, G


def slow_loss(outputs, seen, others, B, rows, *, gamma, eta) -> float:
    """One side's J of a batch, entry by entry; S is written out by hand from the labels above."""
    S = [[1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 0]]
    n, M = others.shape
    total = 0.0
    for place, row in enumerate(rows):
        for j in range(n):
            theta = sum(outputs[place][m] * others[j][m] for m in range(M)) / 2
            total += np.log(1 + np.exp(theta)) - S[row][j] * theta
        total += gamma * sum((B[row][m] - outputs[place][m]) ** 2 for m in range(M))
    for m in range(M):
        column = sum(seen[j][m] for j in range(n) if j not in rows) + sum(values[m] for values in outputs)
        total += eta * column**2
    return total / (n * len(rows))


def test_dcmh_keeps_the_contract_of_a_hasher(pairs, tmp_path):
    check_hasher(lambda: small(epochs=2), pairs, tmp_path)


def test_the_loss_is_that_of_plain_loops():
    wanted = objective(gamma=0.7, eta=0.3)
    F, G = outputs()
    seen_F, seen_G, B = wanted.F.clone(), wanted.G.clone(), wanted.B.clone()
    found = float(wanted.loss(F, G, ROWS).detach())
    rows, weights = ROWS.tolist(), {"gamma": 0.7, "eta": 0.3}
    seen_F[ROWS], seen_G[ROWS] = F.detach(), G.detach()
    images = slow_loss(F.tolist(), seen_F.tolist(), seen_G.numpy(), B.tolist(), rows, **weights)
    texts = slow_loss(G.tolist(), seen_G.tolist(), seen_F.numpy(), B.tolist(), rows, **weights)
    assert found == pytest.approx(images + texts, rel=1e-5)


def test_gradients_are_those_of_finite_differences_with_what_was_seen_held_fixed():
    wanted = objective()
    F, _ = outputs()
    S, B = torch.tensor([[1.0, 1, 1, 0, 0], [0, 0, 0, 1, 0]]).double(), wanted.B[ROWS].double()
    seen, others = wanted.F.double(), wanted.G.double()
    seen[ROWS] = F.detach().double()

    def one_side(values: torch.Tensor) -> torch.Tensor:
        # `parts` takes the batch's own outputs off `seen`; a shifted batch must find itself there.
        now = seen.clone()
        now[ROWS] = values.detach()
        return wanted.parts(values, seen=now, others=others, S=S, B=B).sum()

    assert torch.autograd.gradcheck(one_side, F.detach().double().requires_grad_())


def test_outputs_of_a_batch_are_remembered_and_all_others_left_alone():
    wanted = objective()
    F, G = outputs()
    before = wanted.F.clone(), wanted.G.clone(), wanted.B.clone()
    wanted.loss(F, G, ROWS).backward()
    others = [0, 2, 4]
    assert torch.equal(wanted.F[ROWS], F.detach())
    assert torch.equal(wanted.G[ROWS], G.detach())
    assert torch.equal(wanted.F[others], before[0][others])
    assert torch.equal(wanted.G[others], before[1][others])
    assert torch.equal(wanted.B, before[2])


def test_after_an_epoch_the_codes_are_the_signs_of_both_outputs():
    wanted = objective()
    wanted.loss(*outputs(), ROWS)
    wanted.after_epoch(0, lambda: outputs())
    assert torch.equal(wanted.B, torch.where(wanted.F + wanted.G >= 0, 1.0, -1.0))


def test_a_start_at_zero_has_codes_and_no_zero_among_them():
    wanted = objective(start="zero")
    assert not wanted.F.any()
    assert torch.equal(wanted.B, torch.ones(5, 3))


def test_one_step_lowers_the_loss():
    wanted = objective()
    F, G = outputs()
    loss = wanted.loss(F, G, ROWS)
    loss.backward()
    after = wanted.loss(F - 0.01 * F.grad, G - 0.01 * G.grad, ROWS)
    assert after < loss


def test_balanced_pairs_weigh_the_same_whether_similar_or_not():
    labels = Labels.from_names([["cat"], ["dog"], ["cow"], ["hen"]])
    wanted = BufferObjective(labels, DCMHSettings(bits=3, gamma=0, eta=0, balance_pairs=True, start="zero"), CPU)
    F = torch.zeros(4, 3, requires_grad=True)
    wanted.loss(F, F, torch.arange(4)).backward()  # theta is 0: every pair costs log 2
    assert float(wanted.figures.sums["pairs"]) == pytest.approx(2 * np.log(2))
    wanted.G += torch.eye(4, 3)
    S = torch.eye(4)
    one = wanted.parts(F, seen=wanted.F, others=wanted.G, S=S, B=wanted.B).sum()
    (slope,) = torch.autograd.grad(one, F)
    # Row 0 is pulled to the one item that is like it and pushed from three with a third of the weight each.
    assert_allclose(slope[0], [-1 / 32, 1 / 96, 1 / 96], rtol=1e-5)


def test_scores_that_overflow_an_exponential_cost_what_they_should():
    wanted = objective(gamma=0.0, eta=0.0)
    F = torch.full((2, 3), 300.0)
    assert torch.isfinite(wanted.loss(F, -F, ROWS))


def test_a_batch_of_one_row_learns():
    wanted = objective()
    F, G = outputs(1)
    wanted.loss(F, G, torch.tensor([4])).backward()
    assert torch.isfinite(F.grad).all()


def test_it_finds_what_it_has_not_seen_in_both_directions(pairs, others):
    assert min(above_chance(small().fit(pairs), pairs, others)) > 0.2


def test_its_codes_do_not_collapse(pairs):
    entries = []
    small().fit(pairs, log=entries.append)
    assert "warning" not in entries[-1]


def test_the_published_steps_learn_vectors(pairs, others):
    sizes = {"bits": 16, "fc": 32, "epochs": 60, "batch": 16}
    hasher = DCMH.preset("dcmh-paper", device="cpu", **sizes).fit(vectors(pairs))
    assert min(above_chance(hasher, vectors(pairs), vectors(others))) > 0.1


def vectors(pairs: Pairs) -> Pairs:
    """The same with a vector a text, as in datasets of features."""
    return Pairs(pairs.images, Texts.from_vectors(pairs.labels.matrix() * 1.0), pairs.labels)


def test_texts_may_be_vectors(pairs, others):
    assert min(above_chance(small().fit(vectors(pairs)), vectors(pairs), vectors(others))) > 0.2


def test_a_killed_run_resumes_to_the_identical_model(pairs, tmp_path):
    class KilledError(Exception):
        pass

    def kill(entry):
        if entry["epoch"] == 3:
            raise KilledError

    with pytest.raises(KilledError):
        small(epochs=4).fit(pairs, checkpoints=tmp_path, log=kill)
    resumed, whole = small(epochs=4).fit(pairs, checkpoints=tmp_path), small(epochs=4).fit(pairs)
    assert np.array_equal(whole.encode(pairs.images), resumed.encode(pairs.images))
    assert np.array_equal(whole.encode(pairs.texts), resumed.encode(pairs.texts))


def test_the_log_tells_the_parts_of_the_loss_and_how_the_codes_are(pairs):
    entries = []
    small(epochs=1).fit(pairs, log=entries.append)
    parts = [entries[0][f"loss_{name}"] for name in ("pairs", "quantised", "balanced")]
    assert sum(parts) == pytest.approx(entries[0]["loss"], rel=1e-5)
    assert entries[0]["codes_items"] == len(pairs)


def test_the_published_learning_rate_falls_evenly_in_its_logarithm():
    settings = TrainingSettings(schedule="log", learning_rate=10**-1.5)
    rates = [learning_rate(settings, step, 3) for step in range(3)]
    assert_allclose(np.log10(rates), [-1.5, -2.25, -3.0])


@pytest.mark.parametrize("nonsense", [{"gamma": -1.0}, {"eta": np.inf}, {"start": "one"}, {"optimiser": "magic"}])
def test_nonsense_settings_are_refused_where_they_are_written(nonsense):
    with pytest.raises(UsageError, match=next(iter(nonsense))):
        DCMHSettings(**nonsense)


def test_text_vectors_that_are_not_finite_are_refused_by_their_row(pairs):
    vectors = pairs.labels.matrix().astype(np.float32)
    vectors[7, 0] = np.nan
    with pytest.raises(DataError, match="row 7 of the text features holds a number that is not finite"):
        small().fit(Pairs(pairs.images, Texts.from_vectors(vectors), pairs.labels))
