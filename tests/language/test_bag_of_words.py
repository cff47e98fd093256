"""A bag of words counts known words, column by column."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.errors import UsageError
from deepbinaries.language.bag_of_words import count_words
from deepbinaries.language.vocabulary import Vocabulary

WORDS = ("a", "dog", "cat")
vocabulary = Vocabulary(WORDS)
sentences = st.lists(st.lists(st.sampled_from([*WORDS, "owl"]), max_size=20).map(" ".join), max_size=5)


@given(sentences)
def test_each_column_counts_its_word_also_past_the_length(texts):
    expected = [[Counter(text.split())[word] for word in WORDS] for text in texts]
    assert count_words(texts, vocabulary).tolist() == expected


def test_binary_counts_say_whether_a_word_occurs():
    assert count_words(["a dog and a cat", "a"], vocabulary, binary=True).tolist() == [[1, 1, 1], [1, 0, 0]]


def test_normalised_rows_have_length_one_and_an_empty_one_stays_zero():
    counts = count_words(["a a a dog dog dog dog", "owl"], vocabulary, normalise=True)
    np.testing.assert_allclose(counts, [[0.6, 0.8, 0], [0, 0, 0]], rtol=1e-6)


def test_binary_comes_before_normalising():
    counts = count_words(["a a a dog"], vocabulary, binary=True, normalise=True)
    np.testing.assert_allclose(counts, [[0.5**0.5, 0.5**0.5, 0]], rtol=1e-6)


def test_no_sentence_gives_a_matrix_without_rows():
    counts = count_words([], vocabulary)
    assert (counts.shape, counts.dtype) == ((0, 3), np.float32)


def test_a_matrix_that_fits_no_memory_is_refused_with_its_size():
    large = Vocabulary([f"w{i}" for i in range(20_000)])
    with pytest.raises(
        UsageError, match=r"100,000 sentences by 20,000 words take 7\.5 GiB; give the sentences in parts"
    ):
        count_words([""] * 100_000, large)
