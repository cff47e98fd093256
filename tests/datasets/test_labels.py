import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError

label_sets = st.lists(st.sets(st.integers(0, 129)), max_size=8)


@given(label_sets)
def test_sets_survive(sets):
    labels = Labels.from_columns(sets, [str(j) for j in range(130)])
    assert labels.sets() == [tuple(sorted(of_item)) for of_item in sets]


@given(label_sets)
def test_masks_share_a_bit_exactly_when_sets_share_a_label(sets):
    masks = Labels.from_columns(sets, [str(j) for j in range(130)]).masks()
    for a in range(len(sets)):
        for b in range(len(sets)):
            assert bool((masks[:, a] & masks[:, b]).any()) == bool(sets[a] & sets[b])


@given(label_sets)
def test_the_matrix_and_the_sets_agree(sets):
    labels = Labels.from_columns(sets, [str(j) for j in range(130)])
    assert Labels.from_matrix(labels.matrix(), labels.names).sets() == labels.sets()


@given(label_sets.filter(bool), st.integers(0, 99))
def test_selected_rows_keep_their_sets(sets, seed):
    rows = np.random.default_rng(seed).integers(0, len(sets), 5)
    labels = Labels.from_columns(sets, [str(j) for j in range(130)])
    assert labels.select(rows).sets() == [labels.sets()[row] for row in rows]


@given(label_sets.filter(bool))
def test_chance_is_the_share_of_relevant_pairs(sets):
    labels = Labels.from_columns(sets, [str(j) for j in range(130)])
    rows = np.arange(len(sets))
    assert labels.chance(rows, rows) == pytest.approx(np.mean([bool(a & b) for a in sets for b in sets]))


def test_ignoring_a_label_takes_it_out_of_every_set():
    labels = Labels.from_names([["dog", "person"], ["person"], ["cat"]])
    assert [labels.without(["person"]).of(row) for row in range(3)] == [("dog",), (), ("cat",)]


def test_ignoring_an_unknown_label_proposes_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'person'"):
        Labels.from_names([["person"]]).without(["persn"])


def test_a_label_outside_the_list_is_refused_with_its_row():
    with pytest.raises(DataError, match="row 1 carries the label 'cow'"):
        Labels.from_names([["cat"], ["cow"]], names=["cat", "dog"])


def test_a_label_number_outside_the_list_is_refused_with_its_row():
    with pytest.raises(DataError, match="row 2 carries label 7, but there are 3"):
        Labels.from_columns([[0], [], [1, 7]], ["a", "b", "c"])


def test_a_matrix_with_other_numbers_is_refused():
    with pytest.raises(DataError, match="0 and 1 only"):
        Labels.from_matrix(np.array([[0, 2]]))


def test_a_text_in_the_place_of_a_set_is_refused_before_it_falls_into_letters():
    with pytest.raises(DataError, match=r"row 0 is the text 'cat'.*give \['cat'\]"):
        Labels.from_names(["cat", "dog"])


def test_rows_count_from_the_end_and_masks_select():
    labels = Labels.from_names([["a"], ["b"], ["c"]])
    assert labels.of(-1) == ("c",)
    assert labels.select(np.array([True, False, True])).sets() == [(0,), (2,)]
    assert len(labels.select([])) == 0
    with pytest.raises(IndexError):
        labels.of(3)


def test_counts_are_items_and_not_mentions():
    assert Labels.from_names([["a", "a"], ["a", "b"]]).counts().tolist() == [2, 1]
