"""Figures of codes while they are learned, judged by the evaluation room's own health."""

import numpy as np
import pytest
import torch

from deepbinaries.codes import Codes
from deepbinaries.evaluation.health import health
from deepbinaries.hashers.code_health import CodeHealth, health_figures


def random_codes(n: int, bits: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).choice([-1.0, 1.0], (n, bits))).float()


def test_the_figures_are_those_of_an_evaluation():
    codes = random_codes(128, 16)
    codes[:, :4] = 1.0
    codes[64:] = codes[:64]
    ours, theirs = CodeHealth.of(codes), health(Codes.from_values(codes.numpy()))
    assert ours.constant_share == theirs.constant_bits / 16 == 0.25
    assert ours.distinct_codes == theirs.distinct_codes
    assert ours.effective_rank == pytest.approx(theirs.effective_rank, rel=1e-4)


def test_random_codes_raise_no_warning():
    assert CodeHealth.of(random_codes(64, 32)).collapse_warning() is None


def test_one_code_for_all_is_a_collapse():
    collapsed = CodeHealth.of(torch.ones(64, 32))
    assert (collapsed.distinct_codes, collapsed.effective_rank) == (1, 0.0)
    assert "100% of the bits" in collapsed.collapse_warning()


def test_bits_that_all_repeat_one_are_a_collapse():
    repeated = random_codes(64, 1).repeat(1, 32)
    assert "effective rank of the codes fell to 1.00" in CodeHealth.of(repeated).collapse_warning()


def test_nothing_is_said_of_a_handful_of_items():
    assert CodeHealth.of(torch.ones(9, 32)).collapse_warning() is None


def test_figures_for_a_log_warn_only_where_codes_collapse():
    assert "warning" not in health_figures(random_codes(64, 32))
    assert health_figures(torch.ones(64, 32))["codes_distinct_codes"] == 1


def test_of_several_codes_the_figures_are_those_of_the_first_and_the_warning_that_of_the_worst():
    alike, fine = random_codes(64, 1).repeat(1, 32), random_codes(64, 32)
    figures = health_figures(fine, {"pictures": alike, "sentences": torch.ones(64, 32)})
    assert figures["codes_constant_share"] == 0
    assert "the codes of sentences collapse" in figures["warning"]
    assert "rank of the codes of pictures fell to 1.00" in health_figures(fine, {"pictures": alike})["warning"]
    assert "warning" not in health_figures(fine, {"pictures": fine})
