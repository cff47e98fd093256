import numpy as np
import pytest

from deepbinaries.codes import Codes, all_distances
from deepbinaries.errors import UsageError
from deepbinaries.evaluation import agreement, health


@pytest.fixture
def healthy():
    return Codes.from_bits(np.random.default_rng(0).integers(0, 2, (4000, 32)))


def test_random_codes_are_healthy(healthy):
    report = health(healthy)
    assert report.warnings() == []
    assert report.notes() == []
    assert report.effective_rank == pytest.approx(32, rel=0.01)
    assert report.distinct_codes == 4000


def test_the_quantities_of_four_items_are_those_counted_by_hand():
    report = health(Codes.from_bits([[0, 0, 1], [0, 0, 1], [0, 1, 1], [1, 1, 1]]))
    assert report.constant_bits == 1
    assert report.mean_imbalance == pytest.approx((0.5 + 0 + 1) / 3)
    assert report.worst_imbalance == 1.0
    # Bits 0 and 1: p = 1/4 and 1/2, together 1/4, so the covariance is 1/8.
    assert report.max_correlation == pytest.approx((1 / 8) / np.sqrt(3 / 16 * 1 / 4))
    assert (report.distinct_codes, report.unique_share) == (3, 0.5)
    assert report.collision == pytest.approx((4 + 1 + 1) / 16)


def test_correlation_is_that_of_numpy(healthy):
    bits = healthy.to_bits()
    bits[:, 1] = bits[:, 0] ^ (np.arange(4000) % 5 == 0)
    report = health(Codes.from_bits(bits))
    theirs = abs(np.corrcoef(bits.T.astype(float)))[np.triu_indices(32, k=1)]
    assert report.mean_correlation == pytest.approx(theirs.mean())
    assert report.max_correlation == pytest.approx(theirs.max())


def test_more_than_half_of_the_bits_constant_is_a_warning(healthy):
    bits = healthy.to_bits()
    bits[:, :17] = 1
    (warning,) = health(Codes.from_bits(bits)).warnings()
    assert warning == "17 of 32 bits are the same for every item: the codes collapsed"


def test_exactly_half_is_a_note(healthy):
    bits = healthy.to_bits()
    bits[:, :16] = 1
    report = health(Codes.from_bits(bits))
    assert report.warnings() == []
    assert "16 of 32 bits are the same for every item" in report.notes()


def test_one_bit_said_thirty_two_times_is_a_warning():
    bits = np.repeat(np.arange(100)[:, None] % 2, 32, axis=1)
    report = health(Codes.from_bits(bits))
    assert report.effective_rank == pytest.approx(1.0)
    assert report.warnings() == ["the effective rank is 1.00: 32 bits say no more than one or two would"]
    assert "two bits repeat each other (correlation 1.00)" in report.notes()


def test_constant_codes_have_no_rank_and_say_so():
    report = health(Codes.from_bits(np.ones((10, 8), dtype=int)))
    assert report.effective_rank == 0.0
    assert len(report.warnings()) == 2
    assert report.to_json()["max_correlation"] is None


def test_a_bit_that_is_nearly_constant_is_noted(healthy):
    bits = healthy.to_bits()
    bits[:, 0] = np.arange(4000) < 80
    assert health(Codes.from_bits(bits)).notes() == [
        "the least balanced bit is one-sided by 0.96 (0 is even, 1 constant)"
    ]


def test_codes_that_few_items_have_to_themselves_are_noted():
    rng = np.random.default_rng(1)
    few = rng.integers(0, 2, (20, 32))
    notes = health(Codes.from_bits(few[rng.integers(0, 20, 2000)])).notes()
    assert "only 0.0% of the items have a code of their own" in notes
    assert any(note.startswith("two random items have the same code with probability 0.0") for note in notes)


def test_too_few_items_to_judge_are_not_judged():
    report = health(Codes.from_bits([[0, 1]]))
    assert report.constant_bits == 2
    assert report.warnings() == report.notes() == []


def test_no_codes_have_no_health():
    with pytest.raises(UsageError, match="no codes to look at"):
        health(Codes.from_bits(np.zeros((0, 8), dtype=int)))


def test_agreement_is_the_mean_over_true_pairs_less_the_mean_over_all_others():
    rng = np.random.default_rng(2)
    images, texts = (Codes.from_bits(rng.integers(0, 2, (9, 20))) for _ in range(2))
    matrix = all_distances(images, texts)
    others = matrix[~np.eye(9, dtype=bool)]
    assert agreement(images, texts) == pytest.approx(np.diag(matrix).mean() - others.mean())


def test_one_pair_has_nothing_to_be_compared_with():
    one = Codes.from_bits([[0, 1]])
    assert np.isnan(agreement(one, one))
