"""Concepts are words that could be labels, and nothing else."""

import random

import pytest

from deepbinaries.datasets import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.language.concepts import mine_concepts
from deepbinaries.language.stop_words import STOP_WORDS
from deepbinaries.language.tokens import words

HOLIDAY = [
    ["Two dogs on the beach.", "A dog runs."],
    ["A dog and three men."],
    ["A man at the beach"],
    ["The women look at 2 boats"],
    ["a woman in a boat"],
    [],
]


def test_concepts_are_folded_counted_by_item_and_ordered_by_count_then_name():
    concepts = mine_concepts(HOLIDAY)
    assert concepts.names == ("beach", "boat", "dog", "man", "woman")
    assert concepts.counts == (2, 2, 2, 2, 2)


def test_each_item_carries_its_concepts_in_the_order_of_the_names():
    sets = mine_concepts(HOLIDAY).sets
    assert sets == (("beach", "dog"), ("dog", "man"), ("beach", "man"), ("boat", "woman"), ("boat", "woman"), ())


def test_concepts_become_labels():
    concepts = mine_concepts(HOLIDAY)
    labels = Labels.from_names(concepts.sets, concepts.names)
    assert labels.names == concepts.names
    assert labels.counts().tolist() == list(concepts.counts)


def test_the_more_frequent_concept_comes_first():
    assert mine_concepts([["owl"], ["owl cat"], ["owl cat"], [], [], []]).names == ("owl", "cat")


def test_the_order_of_items_does_not_change_the_names():
    shuffled = random.Random(0).sample(HOLIDAY, len(HOLIDAY))
    assert mine_concepts(shuffled).names == mine_concepts(HOLIDAY).names


def test_a_word_in_more_than_the_maximum_share_is_no_concept():
    captions = [["owl cat"], ["owl cat"], ["owl"], []]
    assert mine_concepts(captions, maximum_share=0.5).names == ("cat",)
    assert mine_concepts(captions, maximum_share=0.75).names == ("owl", "cat")


def test_a_word_at_exactly_the_minimum_share_is_a_concept():
    # In binary arithmetic 0.07 * 100 is more than 7.
    captions = [["owl"]] * 7 + [["cat"]] * 6 + [[]] * 87
    assert mine_concepts(captions, minimum_share=0.07).names == ("owl",)


def test_a_word_of_a_single_item_is_no_concept():
    assert mine_concepts([["owl cat"], ["owl"], [], []], minimum_share=0).names == ("owl",)


def test_at_most_the_maximum_number_of_concepts_stays():
    concepts = mine_concepts(HOLIDAY, maximum=2)
    assert concepts.names == ("beach", "boat")
    assert concepts.sets[0] == ("beach",)


def test_stop_words_numbers_and_single_letters_are_no_concepts():
    captions = [["the large others 42 3d x owl"], ["the large other 42 3d x owl"], [], []]
    assert mine_concepts(captions).names == ("owl",)


def test_a_stop_list_of_ones_own_replaces_ours():
    captions = [["der Hund"], ["der Hund"], [], []]
    assert mine_concepts(captions, stop_words={"der"}).names == ("hund",)


def test_captions_without_a_concept_are_refused_with_what_to_do():
    with pytest.raises(DataError, match="of 2; give more captions"):
        mine_concepts([["owl"], ["cat"]])


def test_no_captions_at_all_are_refused():
    with pytest.raises(DataError, match="of 0; give more captions"):
        mine_concepts([])


def test_an_item_that_is_one_text_is_named():
    with pytest.raises(UsageError, match="item 1: str was given"):
        mine_concepts([["owl"], "cat"])


@pytest.mark.parametrize(
    "nonsense", [{"maximum": 0}, {"minimum_share": -0.1}, {"maximum_share": 1.1}, {"minimum_share": 0.6}]
)
def test_bounds_that_leave_no_concept_are_refused(nonsense):
    with pytest.raises(UsageError, match="leave no concept"):
        mine_concepts(HOLIDAY, **nonsense)


def test_every_stop_word_is_spelt_as_words_are():
    assert [word for word in STOP_WORDS if words(word) != [word]] == []
