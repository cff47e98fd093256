"""The items around a code, with their codes: the same as a search with all ties, in however many segments they lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.codes import Codes
from deepbinaries.errors import UsageError
from deepbinaries.index import EmbeddedIndex
from deepbinaries.index.ids import Ids

IDS = st.text("ab0é", min_size=1, max_size=12)  # many begin alike


@given(st.lists(IDS, min_size=1, max_size=40, unique=True), st.integers(1, 50), st.integers(0, 2**32), st.data())
def test_what_lies_around_a_code_is_what_a_search_with_all_ties_finds(tmp_path_factory, ids, k, seed, data):
    rng = np.random.default_rng(seed)
    codes = Codes.from_bits(rng.integers(0, 2, (len(ids), 5)))  # few bits: many are equally far
    with EmbeddedIndex(tmp_path_factory.mktemp("around") / "index", bits=5, writable=True) as index:
        cut = data.draw(st.integers(0, len(ids)))
        index.add(ids[:cut], codes[:cut])
        index.add(ids[cut:], codes[cut:])
        among = data.draw(st.none() | st.lists(st.sampled_from(ids), min_size=1, unique=True))
        query = Codes.from_bits(rng.integers(0, 2, (1, 5)))
        expected = index.search(query, k, among=among, with_ties=True)
        found = index.around(query, k, among=None if among is None else index.select(among))
        places = np.arange(len(found.distances))
        assert (found.ids_at(places), found.distances.tolist()) == (expected.ids[0], expected.distances[0])
        assert found.codes == index.codes_of(expected.ids[0])
        assert found.certificate.radius == expected.certificate.radius


@given(st.lists(IDS, min_size=1, max_size=40, unique=True))
def test_beginnings_are_in_the_order_of_ids(texts):
    ids, _ = Ids.sorted(texts)
    assert (np.diff(ids.beginnings(np.arange(len(texts))).astype(object)) >= 0).all()


@given(st.lists(IDS, min_size=1, max_size=40, unique=True), st.data())
def test_many_ids_are_the_same_as_one_by_one(texts, data):
    ids, _ = Ids.sorted(texts)
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1)))
    assert ids.texts(np.array(rows, dtype=np.int64)) == [ids[row] for row in rows]


def test_a_selection_of_nothing_finds_nothing(tmp_path):
    with EmbeddedIndex(tmp_path / "index", bits=2, writable=True) as index:
        index.add(["a"], Codes.from_bits([[0, 1]]))
        nothing = index.select([])
        assert len(nothing) == 0
        assert index.around(Codes.from_bits([[0, 1]]), 1, among=nothing).distances.tolist() == []


def test_several_codes_are_refused(tmp_path):
    with (
        EmbeddedIndex(tmp_path / "index", bits=2, writable=True) as index,
        pytest.raises(UsageError, match="2 codes are not one"),
    ):
        index.around(Codes.from_bits([[0, 1], [1, 1]]), 1)
