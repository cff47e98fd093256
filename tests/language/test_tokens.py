"""A sentence becomes words the same way everywhere, whatever script or trick it is written in."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.errors import DataError, UsageError
from deepbinaries.language.tokens import MAX_WORD, TokenSettings, collapse, each_sentence, split, words


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("A Dog.", ["a", "dog"]),
        ("one man, in a (white) cap;no hat!", ["one", "man", "in", "a", "white", "cap", "no", "hat"]),
        ("a tee-shirt", ["a", "tee", "shirt"]),
        ("you can't stop", ["you", "can't", "stop"]),
        ("a woman's and two dogs' beds", ["a", "woman", "and", "two", "dogs", "beds"]),
        ("the 'stop' sign", ["the", "stop", "sign"]),
        ("snake_case", ["snake", "case"]),
        ("bus 42", ["bus", "42"]),
        ("", []),
        (" \t\n", []),
        ("?!...", []),
    ],
)
def test_words_are_parted_by_white_space_and_punctuation(sentence, expected):
    assert words(sentence) == expected


def test_a_typographic_apostrophe_is_an_apostrophe():
    assert words("can’t") == words("can't")


def test_a_full_stop_joins_initials_and_parts_words():
    assert words("A t.v. in the U.S.A. by a track.Cars pass") == (
        ["a", "tv", "in", "the", "usa", "by", "a", "track", "cars", "pass"]
    )


def test_a_full_stop_that_is_not_removed_parts_initials_too():
    assert words("a t.v.", TokenSettings(remove_full_stops=False)) == ["a", "t", "v"]


def test_without_splitting_on_punctuation_it_stays_with_its_word():
    assert words("Tee-shirt, red.", TokenSettings(split_on_punctuation=False)) == ["tee-shirt,", "red"]


def test_without_lower_casing_the_case_stays():
    assert words("A Dog", TokenSettings(lower_case=False)) == ["A", "Dog"]


def test_an_accent_written_as_one_character_or_two_gives_the_same_word():
    assert words("cafe\u0301") == words("caf\u00e9") == ["caf\u00e9"]


def test_vowel_signs_stay_inside_their_words():
    assert words("हिन्दी में") == ["हिन्दी", "में"]


def test_a_script_without_spaces_is_one_word():
    assert words("赤い犬。白い猫") == ["赤い犬", "白い猫"]


def test_emoji_part_words_and_are_none():
    assert words("a 👨‍👩‍👧 dog🐶cat ❤️") == ["a", "dog", "cat"]


def test_a_soft_hyphen_does_not_part_a_word_and_a_zero_width_space_does():
    assert words("post\u00adcard\u200bstand") == ["postcard", "stand"]


def test_half_a_surrogate_pair_and_a_nul_part_words():
    assert words("a\ud800b\0c") == ["a", "b", "c"]


def test_words_as_written_keep_their_case():
    assert split("Am Weihnachtsmarkt") == ["Am", "Weihnachtsmarkt"]


@given(st.text())
def test_words_put_together_are_the_same_words_again(sentence):
    found = words(sentence)
    assert words(" ".join(found)) == found


@given(st.text(), st.booleans(), st.booleans())
def test_no_word_is_empty_and_each_has_its_written_form(sentence, stops, punctuation):
    settings = TokenSettings(remove_full_stops=stops, split_on_punctuation=punctuation)
    found = words(sentence, settings)
    assert all(found)
    assert len(found) == len(split(sentence, settings))


@pytest.mark.parametrize(
    "hostile",
    [
        "a" * 400_000,
        "a" + "'s" * 200_000 + "x",
        "a." * 200_000,
        "." * 400_000,
        "'" * 400_000,
        "a'" * 200_000,
        "a" + "\u0300\u0316" * 200_000,  # marks out of order: sorting them takes quadratic time
        "\u200b" * 400_000,
    ],
    ids=["letters", "possessives", "initials", "stops", "apostrophes", "quotes", "marks", "invisible"],
)
def test_a_hostile_sentence_takes_no_more_time_than_a_long_one(hostile):
    start = time.process_time()
    assert all(len(word) <= MAX_WORD for word in words(hostile))
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("nonsense", "complaint"),
    [
        ({"length": 0}, "length=0 is outside"),
        ({"length": -12}, "length=-12 is outside"),
        ({"length": 5000}, "length=5000 is outside"),
        ({"length": True}, "length=True is outside"),
        ({"length": 12.0}, "length=12.0 is outside"),
        ({"length": "12"}, "length='12' is outside"),
        ({"padding": "both"}, "padding='both' is no side"),
        ({"lower_case": "no"}, "lower_case='no' is no choice"),
        ({"keep_eos": True, "append_eos": False}, "keep_eos has no eos to keep"),
        ({"keep_eos": True, "length": 1}, "no room for a word"),
    ],
)
def test_nonsense_settings_are_refused_where_they_are_written(nonsense, complaint):
    with pytest.raises(UsageError, match=complaint):
        TokenSettings(**nonsense)


def test_white_space_collapses_to_single_spaces():
    assert collapse("\u00a0a\r\n dog \t") == "a dog"


@pytest.mark.parametrize("one", ["a dog", b"a dog", None, 3])
def test_what_is_no_list_of_sentences_is_refused(one):
    with pytest.raises(UsageError, match="where a list of sentences is wanted"):
        list(each_sentence(one))


def test_a_sentence_that_is_no_text_is_named_by_its_row():
    with pytest.raises(DataError, match="sentence 2 is float, not text"):
        list(each_sentence(["a", "b", float("nan")]))
