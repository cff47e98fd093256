import json

import pytest

from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import Rules

NAMES = {
    "map@all": Rules(),
    "map@50/min": Rules(cutoff=50, divide_by="min"),
    "map@500/all": Rules(cutoff=500, divide_by="relevant"),
    "map@5000/found": Rules(cutoff=5000, divide_by="hits"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_variant_is_known_by_its_name_and_says_it(name):
    assert Rules.named(name) == NAMES[name]
    assert NAMES[name].name == name


@pytest.mark.parametrize(
    "name", ["map", "map@0/min", "map@50", "map@50/relevant", "map@-1/min", "MAP@all", "map@all/min"]
)
def test_a_name_that_leaves_a_choice_open_is_refused(name):
    with pytest.raises(UsageError, match="no variant is called"):
        Rules.named(name)


def test_rules_print_everything_that_changes_the_number():
    assert str(Rules()) == (
        "MAP[all, /relevant, ties=expected, empty=skip, ranking=hamming, relevance=shared label, gallery=database]"
    )


@pytest.mark.parametrize(
    "other",
    [
        {"cutoff": 5},
        {"divide_by": "min"},
        {"ties": "by_row"},
        {"empty": "zero"},
        {"ranking": "cosine"},
        {"relevance": "shared label without person"},
        {"gallery": "clean"},
        {"itself": "left out"},
    ],
)
def test_two_rules_that_differ_never_print_alike(other):
    assert str(Rules(**other)) != str(Rules())


def test_rules_survive_json():
    rules = Rules(cutoff=500, divide_by="hits", ties="worst", empty="zero", gallery="clean", relevance="same item")
    assert Rules.from_json(json.loads(json.dumps(rules.to_json()))) == rules


def test_rules_with_one_left_out_are_refused():
    content = Rules().to_json()
    del content["ties"]
    with pytest.raises(DataError, match="a rule left out changes what a score means"):
        Rules.from_json(content)


def test_something_that_is_no_dictionary_is_refused():
    with pytest.raises(DataError, match="these name list"):
        Rules.from_json(["ties"])


@pytest.mark.parametrize("cutoff", [0, -1, 2.5, True, "500"])
def test_a_cutoff_that_is_no_number_of_ranks_is_refused(cutoff):
    with pytest.raises(UsageError, match="is no number of ranks"):
        Rules(cutoff=cutoff)


def test_an_unknown_choice_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match="no choice of ties is called 'by_id'; Known: best, by_row, expected, worst"):
        Rules(ties="by_id")


def test_rules_must_say_what_is_relevant():
    with pytest.raises(UsageError, match="relevance is not said"):
        Rules(relevance=" ")
