"""Pictures and texts as vectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from slow_views import slow_views

from deepbinaries.errors import DataError
from deepbinaries.features.inputs import Images, Texts
from deepbinaries.hashers.views import blocks, check_width, matrix, word_counts


def test_vectors_are_those_of_the_rows(pairs):
    for batch, expected in zip((pairs.images, pairs.texts), slow_views(pairs), strict=True):
        found = matrix(batch)
        assert_allclose(found - found.mean(axis=0), expected, atol=1e-5)


def test_special_tokens_are_no_words():
    assert word_counts(Texts(np.array([[0, 1, 2]], dtype=np.int32), 5)).tolist() == [[0.0, 0.0]]


def test_texts_that_came_as_vectors_are_not_counted():
    texts = Texts.from_vectors(np.array([[0.25, 0.75], [1.0, 0.0]]))
    assert matrix(texts[1]).tolist() == [[1.0, 0.0]]


def test_a_text_feature_that_is_not_finite_is_named():
    with pytest.raises(DataError, match="row 1 of the text features"):
        list(blocks(Texts.from_vectors(np.array([[0.0], [np.inf]]))))


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (Images.from_vectors(np.zeros((1, 2))), "these pictures have 2 features, the model was trained on 5"),
        (Texts.from_vectors(np.zeros((1, 2))), "these texts have 2 features"),
        (Texts(np.zeros((1, 1), dtype=np.int32), 9), "these sentences are of 6 words, the model knows 5"),
    ],
)
def test_vectors_of_another_length_are_refused(batch, message):
    with pytest.raises(DataError, match=message):
        check_width(batch, 5)
