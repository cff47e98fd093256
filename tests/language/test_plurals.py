"""Plurals are folded only where the captions prove the singular."""

import pytest

from deepbinaries.language.plurals import singular


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("dogs", "dog"),
        ("boxes", "box"),
        ("babies", "baby"),
        ("buses", "bus"),
        ("benches", "bench"),
        ("potatoes", "potato"),
        ("houses", "house"),
        ("shoes", "shoe"),
        ("ties", "tie"),
        ("cookies", "cookie"),
        ("glasses", "glasses"),
    ],
)
def test_a_plural_is_folded_into_a_singular_in_use(plural, expected):
    assert singular(plural, {plural: 10, expected: 10}) == expected


@pytest.mark.parametrize(
    "word", ["glass", "bus", "grass", "tennis", "sheep", "christmas", "stairs", "clothes", "s", ""]
)
def test_a_word_without_a_singular_in_use_stays(word):
    assert singular(word, {word: 10}) == word


@pytest.mark.parametrize(
    ("plural", "expected"), [("men", "man"), ("women", "woman"), ("children", "child"), ("people", "person")]
)
def test_an_irregular_plural_needs_no_proof(plural, expected):
    assert singular(plural, {}) == expected


def test_shorts_are_not_several_short():
    assert singular("shorts", {"shorts": 10, "short": 50}) == "shorts"


def test_caves_are_not_a_cafe():
    assert singular("caves", {"caves": 10, "cave": 1, "cafe": 50}) == "cave"


def test_uses_are_not_several_us():
    assert singular("uses", {"uses": 10, "us": 50}) == "uses"


def test_a_typing_error_does_not_make_a_word_a_plural():
    assert singular("tennis", {"tennis": 990, "tenni": 1}) == "tennis"
