import numpy as np
import pytest

from deepbinaries.datasets import Labels, Split
from deepbinaries.errors import SplitError, UsageError
from deepbinaries.features import all_sentences, prepare_texts, read_texts, text_of, without_known_words
from deepbinaries.language import TokenSettings, Vocabulary

SENTENCES = (
    ["a red dog.", "the beach"],
    ["a dog sleeps", "the sea", "sand"],
    ["zebras run", "a dog"],  # the query
)


class Beach:
    name = "beach"
    ids = ("a", "b", "c")
    labels = Labels.from_names([["x"]] * 3)

    def sentences(self, row):
        return SENTENCES[row]

    def picture(self, _):
        return b""


SPLIT = Split("beach", query=("c",), database=("a", "b"), train=("a", "b"), sentence_of={"b": 1})
SETTINGS = TokenSettings(length=6)


def prepared(**how):
    return prepare_texts(Beach(), SPLIT, [2, 0], train=[0, 1], settings=SETTINGS, minimum_count=1, **how)


def test_the_words_are_those_that_training_reads():
    assert set(prepared()[0].words) == {"a", "red", "dog", "the", "sea"}


def test_with_every_sentence_the_words_are_those_of_all_training_sentences():
    words = set(prepared(every_sentence=True)[0].words)
    assert words == {"a", "red", "dog", "the", "beach", "sleeps", "sea", "sand"}


def test_reading_the_whole_description_joins_its_sentences():
    vocabulary, texts = prepared(read="whole")
    assert np.array_equal(texts.tokens, vocabulary.encode(["zebras run a dog", "a red dog the beach"]))


def test_texts_come_in_the_order_of_the_rows():
    vocabulary, texts = prepared()
    assert np.array_equal(texts.tokens, vocabulary.encode(["zebras run", "a red dog"]))
    assert texts.n_words == len(vocabulary) == 8


def test_a_rare_word_is_unknown():
    vocabulary, _ = prepare_texts(Beach(), SPLIT, [0], train=[0, 1], minimum_count=2, read="whole")
    assert set(vocabulary.words) == {"a", "dog", "the"}


def test_the_split_chooses_the_sentence():
    assert [text_of(Beach(), SPLIT, row) for row in range(3)] == ["a red dog.", "the sea", "zebras run"]


def test_texts_without_known_words_are_found():
    _, texts = prepared()
    assert without_known_words(texts).tolist() == [0]


def test_all_sentences_of_an_item_lie_between_its_offsets():
    vocabulary = Vocabulary(["a", "dog"], SETTINGS)
    texts, offsets = all_sentences(Beach(), [2, 1], vocabulary)
    assert offsets.tolist() == [0, 2, 5]
    assert np.array_equal(texts[2:5].tokens, vocabulary.encode(SENTENCES[1]))


@pytest.mark.parametrize("read", ["first", "whole"])
def test_an_item_without_a_sentence_is_refused(monkeypatch, read):
    monkeypatch.setattr(Beach, "sentences", lambda *_: [])
    with pytest.raises(SplitError, match="a has 0 sentences"):
        read_texts(Beach(), SPLIT, [0], Vocabulary(["a"]), read=read)


def test_an_unknown_way_to_read_is_refused():
    with pytest.raises(UsageError, match="no way to read is called 'last'"):
        text_of(Beach(), SPLIT, 0, "last")
