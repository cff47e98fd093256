"""How near is near, and the order within whole shells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_model import PlainModel

from deepbinaries.codes import Codes
from deepbinaries.errors import UsageError
from deepbinaries.index import EmbeddedIndex
from deepbinaries.language import STOP_WORDS, Vocabulary
from deepbinaries.search.ranking import blocks, rank, weighted_distances
from deepbinaries.search.relevance import STRENGTHS, Null, Threshold, estimate, neutral_sentences, threshold


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300), st.floats(0, 0.99), st.floats(0, 1))
def test_no_more_than_its_share_of_chance_is_below_a_threshold(by_chance, share, distance):
    found = threshold(np.array(by_chance), share, share)
    judged = STRENGTHS[Threshold(found.strong, found.strong).judge(np.array([distance]))[0]]
    below = sum(one < found.strong for one in by_chance) / len(by_chance)
    assert below <= share
    assert (judged == "strong") == (distance < found.strong)


def test_neutral_sentences_are_of_little_words_and_the_same_every_time():
    vocabulary = Vocabulary([*sorted(STOP_WORDS)[:20], "dog", "beach"])
    sentences = neutral_sentences(vocabulary)
    assert sentences == neutral_sentences(vocabulary)
    assert {word for sentence in sentences for word in sentence.split()} <= STOP_WORDS
    assert len(set(sentences)) > 100


def test_a_vocabulary_without_little_words_is_jumbled():
    words = {word for sentence in neutral_sentences(Vocabulary(["dog", "beach"])) for word in sentence.split()}
    assert words == {"dog", "beach"}


@pytest.fixture
def index(tmp_path):
    with EmbeddedIndex(tmp_path / "index", bits=64, writable=True) as index:
        yield index


def test_an_empty_collection_tells_nothing_by_chance(index):
    assert estimate(index, PlainModel()) == Null()


def test_one_picture_alone_is_judged_by_sentences_only(index):
    index.add(["a"], Codes.from_values(np.ones((1, 64))))
    found = estimate(index, PlainModel())
    assert (found.sentences is not None, found.pictures) == (True, None)


def test_neutral_sentences_are_encoded_once_for_an_open_model(index, monkeypatch):
    index.add(list("abc"), Codes.from_values(np.random.default_rng(0).standard_normal((3, 64))))
    model, other = PlainModel(), PlainModel()
    first = estimate(index, model)
    monkeypatch.setattr(PlainModel, "encode_texts", lambda *_, **__: pytest.fail("encoded again"))
    assert estimate(index, model) == first
    with pytest.raises(pytest.fail.Exception, match="encoded again"):
        estimate(index, other)


def test_what_is_estimated_survives_being_written_down(index):
    index.add(list("abc"), Codes.from_values(np.random.default_rng(0).standard_normal((3, 64))))
    found = estimate(index, PlainModel())
    assert Null.from_json(found.to_json()) == found


def test_without_an_estimate_everything_is_weak(index):
    index.add(["a"], Codes.from_values(np.ones((1, 64))))
    assert Null().judge(rank(index, np.ones(64), 10), by_picture=True).tolist() == [STRENGTHS.index("weak")]


@given(st.integers(1, 130), st.integers(0, 20), st.integers(0, 2**32))
def test_the_weighted_distance_is_the_sum_over_the_bits_that_differ(bits, n, seed):
    rng = np.random.default_rng(seed)
    differing, sizes = rng.integers(0, 2, (n, bits)), rng.random(bits) + 0.1
    found = weighted_distances(Codes.from_bits(differing).packed, sizes)
    assert found == pytest.approx([sizes[row > 0].sum() / sizes.sum() for row in differing])


@given(st.lists(st.integers(0, 6), max_size=60), st.integers(1, 9))
def test_blocks_part_all_items_and_cut_no_shell(distances, first):
    ascending = np.sort(np.array(distances, dtype=np.int64))
    found = blocks(ascending, first)
    assert [place for begin, end in found for place in range(begin, end)] == list(range(len(distances)))
    for _, end in found[:-1]:
        assert ascending[end - 1] < ascending[end]


def test_a_code_as_a_query_keeps_the_order_of_hamming_distance_and_id(index):
    rng = np.random.default_rng(1)
    index.add([f"{n:02}" for n in rng.permutation(50)], Codes.from_bits(rng.integers(0, 2, (50, 64))))
    query = np.where(rng.random(64) < 0.5, 1.0, -1.0)
    ranked = rank(index, query, 50)
    answer = index.search(Codes.from_values(query[None]), 50)
    assert ranked.ids_at(np.arange(50)) == answer.ids[0]
    assert not ranked.reordered
    assert ranked.whole


@pytest.mark.parametrize("values", [np.zeros(64), np.full(64, np.nan), np.full(64, np.inf)])
def test_values_that_say_nothing_are_refused(index, values):
    with pytest.raises(UsageError, match="ask something else"):
        rank(index, values, 10)
