"""Unknown words are written as known ones, and nothing else is changed."""

import pytest

from deepbinaries.language import Vocabulary
from deepbinaries.language.rewording import reworded

KNOWN = Vocabulary(["two", "twelve", "dogs", "a", "cafe", "does", "can", "not", "run", "shirt", "ray", "resume"])


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("2 dogs", "two dogs"),
        ("12 dogs", "twelve dogs"),
        ("a café", "a cafe"),
        ("a re\u0301sume\u0301", "a resume"),
        ("dogs doesn’t run", "dogs does not run"),
        ("dogs can't run", "dogs can not run"),
        ("a T-shirt, an X-ray", "a shirt, an ray"),
        ("a-shirt", "a-shirt"),  # the letter is known
        (
            "3 dogs, 13 dogs, 1950 dogs",
            "3 dogs, 13 dogs, 1950 dogs",
        ),  # three is unknown, the others are no such numbers
        ("٢ dogs", "two dogs"),
        ("naïve", "naïve"),
        ("", ""),
    ],
)
def test_a_word_is_spelt_as_it_is_known(sentence, expected):
    assert reworded(sentence, KNOWN) == expected
