"""The text features: they tell labels, they can be kept, and nonsense is refused."""

import json

import numpy as np
import pytest

from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.inputs import Texts
from deepbinaries.hashers.text_features import TextFeatures, TextFeatureSettings
from deepbinaries.hashers.views import matrix

SMALL = TextFeatureSettings(embed=16, maps=8, fc=32, epochs=3, batch=32)


@pytest.fixture(scope="module")
def learnt(pairs):
    return TextFeatures.fit(pairs.texts, pairs.labels, settings=SMALL, device="cpu")


def test_the_papers_sizes_give_384_numbers(pairs):
    features = TextFeatures.fit(pairs.texts[:20], pairs.labels.select(np.arange(20)), device="cpu")
    found = features.of(pairs.texts[:3]).features
    assert (found.shape, found.dtype) == ((3, 384), np.float32)


def test_texts_keep_their_words_and_linear_methods_see_the_vectors(learnt, pairs):
    found = learnt.of(pairs.texts)
    assert found.tokens is pairs.texts.tokens
    assert np.array_equal(matrix(found), found.features)


def test_vectors_of_items_that_were_not_learnt_from_tell_their_labels(learnt, pairs, others):
    """Of two texts the one that shares a label is nearer, far more often than not."""
    stored, asked = learnt.of(pairs.texts).features, learnt.of(others.texts).features
    stored, asked = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (stored, asked))
    nearest = (asked @ stored.T).argmax(axis=1)
    shared = (others.labels.matrix() * pairs.labels.matrix()[nearest]).sum(axis=1) > 0
    assert shared.mean() > 0.8


def test_the_loss_falls(pairs):
    losses = []
    TextFeatures.fit(pairs.texts, pairs.labels, settings=SMALL, device="cpu", log=lambda e: losses.append(e["loss"]))
    assert losses == sorted(losses, reverse=True)
    assert len(losses) == SMALL.epochs


def test_the_same_seed_learns_the_same_vectors_and_another_seed_others(learnt, pairs):
    again, another = (
        TextFeatures.fit(pairs.texts, pairs.labels, settings=SMALL, seed=seed, device="cpu") for seed in (0, 1)
    )
    assert np.array_equal(learnt.of(pairs.texts).features, again.of(pairs.texts).features)
    assert not np.array_equal(learnt.of(pairs.texts).features, another.of(pairs.texts).features)


def test_an_items_vector_does_not_depend_on_its_neighbours(learnt, pairs):
    together, alone = learnt.of(pairs.texts[:5]).features, learnt.of(pairs.texts[2]).features
    assert np.allclose(together[2], alone[0], atol=1e-5)


def test_no_texts_have_no_vectors(learnt, pairs):
    assert learnt.of(pairs.texts[:0]).features.shape == (0, 24)


def test_what_is_saved_and_loaded_gives_the_same_vectors(learnt, pairs, tmp_path):
    learnt.save(tmp_path)
    loaded = TextFeatures.load(tmp_path, device="cpu")
    assert loaded.settings == SMALL
    assert np.array_equal(learnt.of(pairs.texts).features, loaded.of(pairs.texts).features)


@pytest.mark.parametrize("change", [{"format": "x"}, {"sha256": "0"}, {"n_labels": 3}, {"settings": {"widths": 3}}])
def test_a_changed_file_is_refused(learnt, tmp_path, change):
    learnt.save(tmp_path)
    path = tmp_path / "text-features.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError, match="no whole text features"):
        TextFeatures.load(tmp_path, device="cpu")


def test_words_of_another_vocabulary_are_refused(learnt):
    with pytest.raises(DataError, match="a token id is 99, the network knows 13 words"):
        learnt.of(Texts(np.array([[99]], dtype=np.int32), 100))


def test_texts_without_words_or_labels_are_refused(pairs):
    with pytest.raises(DataError, match="no words"):
        TextFeatures.fit(Texts.from_vectors(np.zeros((240, 2))), pairs.labels)
    with pytest.raises(DataError, match="teach nothing"):
        TextFeatures.fit(pairs.texts[:3], pairs.labels)


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"learning_rate": 0}, {"batch": 1}, {"maps": 0}])
def test_settings_that_train_nothing_are_refused(wrong):
    with pytest.raises(UsageError):
        TextFeatureSettings(**wrong)
