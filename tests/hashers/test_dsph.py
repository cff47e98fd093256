"""Deep Semantic-aware Proxy Hashing: its loss judged by plain loops, the margin by known codes, what it learns."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from both_directions import above_chance

from deepbinaries.datasets import Labels
from deepbinaries.errors import UsageError
from deepbinaries.features.inputs import Pairs, Texts
from deepbinaries.hashers import check_hasher
from deepbinaries.hashers.deep import Inputs
from deepbinaries.hashers.dsph import DSPH, PRESETS, DSPHSettings, Proxies, ProxyObjective, keepable_cosine

SMALL = replace(
    PRESETS["dsph"], bits=16, fc=32, embed=16, maps=16, widths=(1, 2), epochs=20, batch=60, learning_rate=3e-3
)
CPU = torch.device("cpu")
# Rows 0 and 1 have nothing in common and several labels each; row 2 has one, row 3 none.
LABELS = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=torch.bool)


def small(**settings) -> DSPH:
    return DSPH(replace(SMALL, **settings), device="cpu")


def objective(**settings) -> ProxyObjective:
    torch.manual_seed(3)
    return ProxyObjective(LABELS, Proxies(4, 5), DSPHSettings(bits=5, zeta=0.1, **settings))


def outputs(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    values = np.random.default_rng(7).normal(size=(2, n, 5))
    F, G = (torch.from_numpy(side).requires_grad_() for side in values)
    return F, G


def slow_loss(F, G, P, L, *, alpha: float, zeta: float, several: bool) -> float:
    """J of a batch, pair by pair."""

    def cosine(a, b) -> float:
        return float(a @ b / np.sqrt(a @ a) / np.sqrt(b @ b))

    def mean(values: list[float]) -> float:
        return sum(values) / max(1, len(values))

    n, C = L.shape
    total = 0.0
    for X in (F, G):
        total += mean([1 - cosine(X[i], P[c]) for i, c in product(range(n), range(C)) if L[i, c]])
        total += mean([max(0, cosine(X[i], P[c]) - zeta) for i, c in product(range(n), range(C)) if not L[i, c]])
    for X, Y in ((F, F), (G, G), (F, G)):
        apart = [(i, j) for i, j in product(range(n), range(n)) if not (L[i] & L[j]).any()]
        if several:
            apart = [(i, j) for i, j in apart if L[i].sum() > 1 and L[j].sum() > 1]
        total += alpha * mean([max(0, cosine(X[i], Y[j]) - zeta) for i, j in apart])
    return total


def test_dsph_keeps_the_contract_of_a_hasher(pairs, tmp_path):
    check_hasher(lambda: small(epochs=2), pairs, tmp_path)


@pytest.mark.parametrize("irrelevant", ["several", "all"])
@pytest.mark.parametrize("rows", [[0, 1, 2, 3], [2], [3]])
def test_the_loss_is_that_of_plain_loops(rows, irrelevant):
    wanted = objective(alpha=0.7, irrelevant=irrelevant)
    F, G = outputs(len(rows))
    found = wanted.loss(F.float(), G.float(), torch.tensor(rows))
    P = wanted.proxies.points.detach().double().numpy()
    arrays = F.detach().numpy(), G.detach().numpy(), P, LABELS[rows].numpy()
    slow = slow_loss(*arrays, alpha=0.7, zeta=0.1, several=irrelevant == "several")
    assert float(found.detach()) == pytest.approx(slow, rel=1e-5)


def test_gradients_are_those_of_finite_differences():
    wanted = objective()
    wanted.labels, wanted.proxies = wanted.labels.double(), wanted.proxies.double()
    assert torch.autograd.gradcheck(lambda F, G: wanted.loss(F, G, torch.arange(4)), outputs(4))


def test_an_output_of_zeros_has_a_finite_gradient():
    F = torch.zeros(4, 5, requires_grad=True)
    objective().loss(F, F, torch.arange(4)).backward()
    assert torch.isfinite(F.grad).all()


@pytest.mark.parametrize(
    ("length", "information", "distance"),
    [(7, 4, 3), (8, 4, 4), (16, 5, 8), (15, 5, 7), (16, 7, 6), (32, 6, 16), (64, 7, 32), (128, 8, 64)],
)
def test_the_margin_is_that_of_well_known_codes(length, information, distance):
    """Hamming, BCH and Reed-Muller codes; a distance beyond half the length is of no use."""
    assert keepable_cosine(2**information, length) == 1 - 2 * distance / length


def test_more_labels_than_codes_keep_no_distance():
    assert keepable_cosine(1000, 4) == 1.0


def test_labels_that_no_item_carries_have_no_proxy(pairs):
    more = Labels.from_matrix(np.hstack([pairs.labels.matrix(), np.zeros((len(pairs), 3), dtype=bool)]))
    towers = small().build(Inputs.of(pairs.images, pairs.texts))
    small().objective(Pairs(pairs.images, pairs.texts, more), towers, CPU)
    assert towers.helper.points.shape == (10, 16)


def test_the_optimiser_moves_the_proxies(pairs):
    hasher, towers = small(), small().build(Inputs.of(pairs.images, pairs.texts))
    wanted = hasher.objective(pairs, towers, CPU)
    before = wanted.proxies.points.detach().clone()
    wanted.loss(torch.ones(3, 16), torch.ones(3, 16), torch.arange(3)).backward()
    hasher.optimiser(towers, CPU).step()
    assert not torch.equal(wanted.proxies.points, before)


def test_proxies_are_not_kept(pairs):
    assert not any("helper" in name for name in small(epochs=1).fit(pairs).towers_.state_dict())


def test_it_finds_what_it_has_not_seen_in_both_directions(pairs, others):
    assert min(above_chance(small().fit(pairs), pairs, others)) > 0.3


def test_its_codes_do_not_collapse(pairs):
    entries = []
    small().fit(pairs, log=entries.append)
    assert "warning" not in entries[-1]


def test_texts_may_be_vectors(pairs, others):
    learnt, asked = (
        Pairs(some.images, Texts.from_vectors(some.labels.matrix() * 1.0), some.labels) for some in (pairs, others)
    )
    assert min(above_chance(small(epochs=40).fit(learnt), learnt, asked)) > 0.3


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
    parts = [entries[0][f"loss_{name}"] for name in ("proxies", "other_proxies", "irrelevant")]
    assert sum(parts) == pytest.approx(entries[0]["loss"], rel=1e-5)
    assert entries[0]["codes_items"] == len(pairs)


@pytest.mark.parametrize("nonsense", [{"alpha": -1.0}, {"irrelevant": "none"}, {"zeta": 1.0}])
def test_nonsense_settings_are_refused_where_they_are_written(nonsense):
    with pytest.raises(UsageError, match=next(iter(nonsense))):
        DSPHSettings(**nonsense)
