import pytest

from deepbinaries.datasets.labels import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import PairedItems, SharedLabels, own_rows


def test_the_grade_is_the_number_of_shared_labels():
    labels = Labels.from_names([["a", "b", "c"], ["b", "c"], ["c"], []])
    assert SharedLabels.of(labels, labels).grades(0).tolist() == [3, 2, 1, 0]


def test_labels_beyond_the_first_64_count():
    names = [f"label {i:03}" for i in range(130)]
    labels = Labels.from_names([[names[0], names[129]], [names[129]], [names[64]]], names)
    relevance = SharedLabels.of(labels, labels)
    assert relevance.grades(0).tolist() == [2, 1, 0]
    assert relevance.highest_grade == 2


def test_labels_numbered_differently_are_refused():
    cats, dogs = Labels.from_names([["cat"]]), Labels.from_names([["dog"]])
    with pytest.raises(DataError, match="different names or another order"):
        SharedLabels.of(cats, dogs)


def test_a_picture_has_all_its_five_sentences():
    pairs = PairedItems.from_ids(["p", "q"], ["p"] * 5 + ["q"] * 5)
    assert pairs.grades(1).tolist() == [0] * 5 + [1] * 5
    assert (pairs.n_queries, pairs.n_gallery, pairs.highest_grade) == (2, 10, 1)


def test_a_query_is_found_at_its_own_row_of_the_gallery():
    assert own_rows(["c", "nowhere", "a"], ["a", "b", "c"]).tolist() == [2, -1, 0]


def test_a_gallery_with_an_id_twice_has_no_own_rows():
    with pytest.raises(UsageError, match="holds an id twice"):
        own_rows(["a"], ["a", "a"])
