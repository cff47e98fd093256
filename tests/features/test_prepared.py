import numpy as np
import pytest
from mean_colours import MeanColours, WithFaults

from deepbinaries.datasets.splits import by_fraction
from deepbinaries.errors import UsageError
from deepbinaries.features import RegionArray, prepare
from deepbinaries.language import TokenSettings, Vocabulary

HOW = {"progress": False, "shard_items": 4, "minimum_count": 1}


@pytest.fixture(scope="module")
def parts(scenes):
    return by_fraction(scenes, 0.3).parts(scenes)


@pytest.fixture(scope="module")
def prepared(scenes, parts, tmp_path_factory):
    faulty = WithFaults(scenes, {int(parts.train[1]): b""})
    return prepare(faulty, parts, MeanColours(), tmp_path_factory.mktemp("cache"), **HOW)


def test_the_three_sides_of_pairs_belong_to_the_rows(scenes, parts, prepared):
    rows = parts.train[::-1]
    pairs = prepared.pairs(rows)
    assert isinstance(pairs.images.regions, RegionArray)
    assert np.array_equal(pairs.images.regions[:], prepared.store.regions(rows))
    sentences = [scenes.sentences(row)[0] for row in rows]
    assert np.array_equal(pairs.texts.tokens, prepared.vocabulary.encode(sentences))
    assert [pairs.labels.of(place) for place in range(len(rows))] == [scenes.labels.of(row) for row in rows]


def test_queries_and_galleries_are_there(parts, prepared):
    assert len(prepared.images(parts.query)) == len(parts.query)
    assert len(prepared.texts(parts.gallery("clean"))) == len(parts.gallery("clean"))


def test_items_whose_picture_cannot_be_read_can_be_left_out(parts, prepared):
    assert prepared.readable(parts.train).tolist() == np.delete(parts.train, 1).tolist()


def test_the_vocabulary_knows_training_words_only(scenes, parts, prepared):
    learnt = [scenes.sentences(row)[0] for row in parts.train]
    assert prepared.vocabulary == Vocabulary.from_sentences(learnt, minimum_count=1)


def test_a_vocabulary_that_is_given_is_the_one_that_is_used(scenes, parts, tmp_path):
    vocabulary = Vocabulary(["a", "seat"], TokenSettings(length=5))
    prepared = prepare(scenes, parts, MeanColours(), tmp_path, vocabulary=vocabulary, read="whole", **HOW)
    texts = [" ".join(scenes.sentences(row)) for row in parts.query]
    assert prepared.vocabulary is vocabulary
    assert np.array_equal(prepared.texts(parts.query).tokens, vocabulary.encode(texts))


def test_every_sentence_of_a_row_can_be_had(scenes, parts, prepared):
    texts, offsets = prepared.sentences(parts.train[:2])
    assert np.diff(offsets).tolist() == [len(scenes.sentences(row)) for row in parts.train[:2]]
    assert len(texts) == offsets[-1]


def test_rows_whose_text_is_not_understood_are_named(scenes, parts, tmp_path):
    class Speechless(WithFaults):
        def __init__(self, row):
            super().__init__(scenes, {})
            self.sentences = lambda other: ["???"] if other == row else scenes.sentences(other)

    row = int(parts.query[0])
    dataset = Speechless(row)
    split = by_fraction(dataset, 0.3)
    prepared = prepare(dataset, split.parts(dataset), MeanColours(), tmp_path, **HOW)
    assert prepared.without_known_words.tolist() == [row]


def test_one_store_serves_every_rule_of_relevance(scenes, parts, tmp_path):
    some = scenes.labels.names[:5]
    fewer = parts.split.parts(scenes, ignore_labels=some)
    folders = {
        prepare(scenes, each, MeanColours(), tmp_path, settings=TokenSettings(length=8), **HOW).store.folder
        for each in (parts, fewer)
    }
    assert len(folders) == 1


def test_a_row_outside_the_split_is_refused(prepared):
    with pytest.raises(UsageError, match="no tokens"):
        prepared.texts([99])
