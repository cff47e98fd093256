"""Ids come in the order of their bytes, whatever they look like; a sort of Python's own is the judge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.errors import UsageError
from deepbinaries.index.ids import Ids

# Few letters, so that ids share long beginnings and end within each other's words; one takes three bytes.
TEXTS = st.text(alphabet="ab€", min_size=1, max_size=20)


def in_order(ids):
    return [ids[row] for row in range(len(ids))]


@given(st.lists(TEXTS, unique=True))
def test_texts_are_sorted_by_their_bytes(texts):
    ids, order = Ids.sorted(texts)
    assert in_order(ids) == sorted(texts, key=str.encode) == [texts[place] for place in order]


@given(st.lists(TEXTS, unique=True, min_size=1), st.data())
def test_rows_of_several_ids_are_merged_in_order(texts, data):
    cut = data.draw(st.integers(0, len(texts)))
    parts = [Ids.sorted(part)[0] for part in (texts[:cut], texts[cut:])]
    rows = [np.array(data.draw(st.permutations(range(len(part)))), dtype=np.int64)[::2] for part in parts]
    taken = [part[row] for part, some in zip(parts, rows, strict=True) for row in some]
    ids, order = Ids.merged(list(zip(parts, rows, strict=True)))
    assert in_order(ids) == sorted(taken, key=str.encode) == [taken[place] for place in order]


@pytest.mark.parametrize("ending", ["", "-photo", "-a long name that fills several words"])
def test_a_text_that_is_given_twice_is_refused_by_name(ending):
    texts = [f"{number}{ending}" for number in (1, 10, 2, 10)]
    with pytest.raises(UsageError, match=f"the id '10{ending}' is given twice"):
        Ids.sorted(texts)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("", "the id '' is empty"),
        ("a\0b", "holds a NUL"),
        ("\0", "holds a NUL"),
        ("a" * 1025, "more than 1024 bytes"),
        ("\ud800", "no valid Unicode"),
        (7, "id 1 is int, not text"),
    ],
)
def test_what_is_no_id_is_refused_by_name(bad, said):
    with pytest.raises(UsageError, match=said):
        Ids.sorted(["fine", bad, "as well"])


def test_the_longest_ids_differ_in_their_last_byte():
    texts = ["x" * 1023 + letter for letter in "ba"]
    assert in_order(Ids.sorted(texts)[0]) == texts[::-1]


@pytest.mark.parametrize("letter", ["a", "€"])
@pytest.mark.parametrize("n", [3, 300])
def test_few_and_many_rows_have_the_texts_that_each_of_them_has(letter, n):
    ids, _ = Ids.sorted([f"{letter}{number}" for number in range(n)])
    rows = np.arange(n)[::-1]
    assert ids.texts(rows) == [ids[row] for row in rows.tolist()]
