import numpy as np
import pytest

from deepbinaries.codes import Codes, pack, sign, unpack
from deepbinaries.errors import DataError, UsageError


def test_zero_counts_as_plus_one():
    assert sign([[-0.0, 0.0, -1e-30, 1e-30]]).tolist() == [[1.0, 1.0, -1.0, 1.0]]


def test_infinities_have_a_sign():
    assert sign([[-np.inf, np.inf]]).tolist() == [[-1.0, 1.0]]


def test_sign_keeps_the_precision_of_its_input():
    assert sign(np.zeros((1, 1), dtype=np.float32)).dtype == np.float32


def test_a_nan_is_refused_with_its_row_and_column():
    values = np.zeros((4, 3))
    values[2, 1] = np.nan
    with pytest.raises(DataError, match="row 2 column 1 is a NaN"):
        pack(values)


def test_signing_truth_values_is_refused_since_false_is_not_below_zero():
    with pytest.raises(DataError, match="from_bits"):
        sign(np.array([[True, False]]))


def test_bit_j_lies_in_byte_j_over_8_least_significant_first():
    bits = np.zeros((1, 10), dtype=np.uint8)
    bits[0, [0, 9]] = 1
    assert Codes.from_bits(bits).packed.tolist() == [[1, 2]]


def test_unpack_undoes_pack():
    values = np.random.default_rng(0).normal(size=(5, 13))
    assert unpack(pack(values), 13).tolist() == (values >= 0).astype(int).tolist()


@pytest.mark.parametrize("bits", [0, 1025, -3])
def test_lengths_outside_1_to_1024_are_refused(bits):
    with pytest.raises(UsageError, match=f"bits={bits}"):
        Codes(np.zeros((1, 1), dtype=np.uint8), bits)


def test_a_bit_set_in_the_padding_is_refused_with_its_row():
    with pytest.raises(DataError, match="row 1 has a bit set beyond bit 4"):
        Codes(np.array([[31], [32]], dtype=np.uint8), 5)


def test_packed_rows_of_the_wrong_width_are_refused():
    with pytest.raises(DataError, match="uint8 rows of 2 bytes"):
        Codes(np.zeros((3, 1), dtype=np.uint8), 9)


def test_bits_other_than_0_and_1_are_refused():
    with pytest.raises(DataError, match="from_values"):
        Codes.from_bits([[0, 2]])
