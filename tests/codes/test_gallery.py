import numpy as np
import pytest

from deepbinaries.codes import Codes, Gallery, top_k, top_k_with_ties, within
from deepbinaries.errors import DataError, UsageError

CODES = Codes.from_bits([[0, 0], [0, 1], [1, 0], [1, 1]])
QUERY = Codes.from_bits([[0, 0]])


def test_rows_are_numbered_through_all_segments():
    gallery = Gallery([CODES[:1].columns(), CODES[:0].columns(), CODES[1:].columns()], bits=2)
    assert len(gallery) == 4
    assert top_k(QUERY, gallery, k=4).rows.tolist() == [[0, 1, 2, 3]]


def test_a_hidden_row_is_found_by_no_search():
    gallery = Gallery.of(CODES).without([0])
    assert top_k(QUERY, gallery, k=4).rows.tolist() == [[1, 2, 3]]
    assert within(QUERY, gallery, radius=1).rows.tolist() == [1, 2]


def test_hiding_adds_up():
    assert top_k(QUERY, Gallery.of(CODES).without([0]).without([2]).only([0, 1, 2]), k=4).rows.tolist() == [[1]]


def test_hiding_leaves_the_gallery_it_started_from_alone():
    gallery = Gallery.of(CODES)
    gallery.without([0])
    assert gallery.n_visible == 4


def test_a_gallery_of_hidden_rows_gives_no_rows():
    gallery = Gallery.of(CODES).only([])
    assert top_k(QUERY, gallery, k=1).rows.shape == (1, 0)
    assert top_k_with_ties(QUERY, gallery, k=1).offsets.tolist() == [0, 0]


def test_a_gallery_without_segments_gives_no_rows():
    assert top_k(QUERY, Gallery([], bits=2), k=1).rows.shape == (1, 0)


def test_everything_at_the_last_distance_is_given_on_request():
    found = top_k_with_ties(QUERY, CODES, k=2)
    assert (found.rows.tolist(), found.distances.tolist()) == ([0, 1, 2], [0, 1, 1])


def test_a_memory_map_is_used_where_it_lies(tmp_path):
    np.save(tmp_path / "columns.npy", CODES.columns())
    mapped = np.load(tmp_path / "columns.npy", mmap_mode="r")
    assert np.shares_memory(Gallery([mapped], bits=2).segments[0], mapped)


@pytest.mark.parametrize("rows", [[-1], [4], [0.5], [[True]]])
def test_rows_that_are_not_there_cannot_be_hidden(rows):
    with pytest.raises(UsageError, match="from 0 to 3"):
        Gallery.of(CODES).without(rows)


def test_truth_values_for_other_rows_are_refused():
    with pytest.raises(UsageError, match="each of 4 rows"):
        Gallery([CODES.columns()], bits=2, hidden=np.zeros(3, dtype=bool))


def test_a_segment_of_another_width_is_refused_by_number():
    with pytest.raises(DataError, match=r"segment 1: .* shape \(1, n\)"):
        Gallery([CODES.columns(), np.zeros((2, 3), dtype=np.uint64)], bits=2)


def test_a_bit_set_in_the_padding_of_a_segment_is_refused_with_its_row():
    with pytest.raises(DataError, match="segment 0: row 1 has a bit set beyond bit 1"):
        Gallery([np.array([[3, 4]], dtype=np.uint64)], bits=2)


def test_a_length_outside_1_to_1024_is_refused():
    with pytest.raises(UsageError, match="bits=0"):
        Gallery([], bits=0)
