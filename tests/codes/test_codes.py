import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.codes import Codes, all_distances, concatenate
from deepbinaries.errors import UsageError


@st.composite
def bit_matrices(draw, min_rows=0):
    shape = (draw(st.integers(min_rows, 6)), draw(st.integers(1, 130)))
    seed = draw(st.integers(0, 2**32 - 1))
    return np.random.default_rng(seed).integers(0, 2, shape)


@given(bit_matrices())
def test_bits_survive_the_round_trip_through_bytes(bits):
    assert np.array_equal(Codes.from_bits(bits).to_bits(), bits)


@given(bit_matrices())
def test_signs_survive_the_round_trip_through_bytes(bits):
    assert np.array_equal(Codes.from_values(2.0 * bits - 1).to_signs(), 2 * bits - 1)


@given(bit_matrices(min_rows=1), st.integers(0, 2**32 - 1))
def test_an_xor_mask_on_both_sides_changes_no_distance(bits, seed):
    mask = np.random.default_rng(seed).integers(0, 2, bits.shape[1])
    plain, masked = Codes.from_bits(bits), Codes.from_bits(bits ^ mask)
    assert np.array_equal(all_distances(plain, plain), all_distances(masked, masked))


@given(bit_matrices(min_rows=1), st.integers(0, 2**32 - 1))
def test_a_permutation_of_bits_changes_no_distance(bits, seed):
    order = np.random.default_rng(seed).permutation(bits.shape[1])
    plain, permuted = Codes.from_bits(bits), Codes.from_bits(bits[:, order])
    assert np.array_equal(all_distances(plain, plain), all_distances(permuted, permuted))


@given(bit_matrices())
def test_columns_hold_the_same_bits_as_the_rows(bits):
    codes = Codes.from_bits(bits)
    for row in range(len(codes)):
        number = sum(int(bit) << j for j, bit in enumerate(bits[row]))
        assert sum(int(word) << (64 * w) for w, word in enumerate(codes.columns()[:, row])) == number


def test_rows_are_selected_by_slice_list_mask_and_number():
    codes = Codes.from_bits(np.eye(4, dtype=int))
    assert codes[1:3] == codes[[1, 2]] == codes[np.array([False, True, True, False])]
    assert len(codes[2]) == 1


def test_parts_are_put_together_in_order():
    codes = Codes.from_bits(np.eye(3, dtype=int))
    assert concatenate([codes[:1], codes[1:]]) == codes


def test_codes_of_two_lengths_are_not_put_together():
    with pytest.raises(UsageError, match=r"\[2, 3\]"):
        concatenate([Codes.from_bits([[0, 1]]), Codes.from_bits([[0, 1, 1]])])


def test_the_digest_tells_lengths_apart_that_share_their_bytes():
    packed = np.array([[3]], dtype=np.uint8)
    assert Codes(packed, 2).digest != Codes(packed, 3).digest
