"""The nearest spelling is the one a reader would have guessed."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.language.spelling import edits, nearest

short = st.text(alphabet="abc", max_size=6)


@cache
def edits_by_definition(a, b):
    if not a or not b:
        return len(a) + len(b)
    ways = [
        edits_by_definition(a[:-1], b) + 1,
        edits_by_definition(a, b[:-1]) + 1,
        edits_by_definition(a[:-1], b[:-1]) + (a[-1] != b[-1]),
    ]
    if len(a) > 1 and len(b) > 1 and a[-2:] == b[-1] + b[-2]:
        ways.append(edits_by_definition(a[:-2], b[:-2]) + 1)
    return min(ways)


@given(short, short)
def test_edits_follow_their_definition(a, b):
    assert edits(a, b) == edits_by_definition(a, b)


@pytest.mark.parametrize(
    ("mistyped", "meant"), [("dgo", "dog"), ("bycicle", "bicycle"), ("elefant", "elephant"), ("umbrela", "umbrella")]
)
def test_a_mistyped_word_is_recognised(mistyped, meant):
    assert nearest(mistyped, ["a", "circle", "left", "bread", "dog", "bicycle", "elephant", "umbrella"]) == meant


def test_the_first_of_equally_near_words_wins():
    assert nearest("cot", ["cat", "cut"]) == "cat"
    assert nearest("cot", ["cut", "cat"]) == "cut"


def test_a_nearer_word_further_down_wins():
    assert nearest("mountian", ["fountain", "mountain"]) == "mountain"


def test_a_foreign_word_has_no_near_one():
    assert nearest("weihnachtsmarkt", ["watchtower", "market", "white"]) is None


def test_a_word_of_two_letters_is_not_guessed():
    assert nearest("xy", ["xyz", "x"]) is None
