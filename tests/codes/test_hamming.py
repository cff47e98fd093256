"""The numpy search beside the most obvious one: unpack, compare, sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.codes import Codes, all_distances, histograms, top_k, within
from deepbinaries.errors import UsageError


def obvious_distances(queries: Codes, gallery: Codes) -> np.ndarray:
    return (queries.to_bits()[:, None, :] != gallery.to_bits()[None, :, :]).sum(axis=2)


@st.composite
def searches(draw):
    """Queries and a gallery with many ties and duplicates."""
    bits = draw(st.sampled_from([1, 2, 7, 8, 63, 64, 65, 128, 255, 256, 300, 1024]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    centres = rng.integers(0, 2, (draw(st.integers(1, 3)), bits))

    def some(n):
        flips = rng.random((n, bits)) < draw(st.sampled_from([0.0, 0.02, 0.5]))
        return Codes.from_bits(centres[rng.integers(0, len(centres), n)] ^ flips)

    return some(draw(st.integers(0, 4))), some(draw(st.integers(0, 30)))


@given(searches())
def test_distances_count_differing_bits(search):
    queries, gallery = search
    assert np.array_equal(all_distances(queries, gallery), obvious_distances(queries, gallery))


@given(searches(), st.integers(1, 40))
def test_top_k_is_the_stable_sort_cut_at_k(search, k):
    queries, gallery = search
    found, distances = top_k(queries, gallery, k), obvious_distances(queries, gallery)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    assert np.array_equal(found.rows, order)
    assert np.array_equal(found.distances, np.take_along_axis(distances, order, axis=1))


@given(searches(), st.integers(1, 40))
def test_ties_count_every_row_at_the_last_distance(search, k):
    queries, gallery = search
    found, distances = top_k(queries, gallery, k), obvious_distances(queries, gallery)
    for q in range(len(queries) if len(gallery) else 0):
        assert found.ties[q] == (distances[q] == found.distances[q, -1]).sum()


@given(searches(), st.integers(0, 300))
def test_within_finds_exactly_the_ball(search, radius):
    queries, gallery = search
    found, distances = within(queries, gallery, radius), obvious_distances(queries, gallery)
    for q in range(len(queries)):
        order = np.argsort(distances[q], kind="stable")
        inside = order[distances[q][order] <= radius]
        rows, near = found[q]
        assert np.array_equal(rows, inside)
        assert np.array_equal(near, distances[q][inside])


@given(searches(), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3]))
def test_histograms_count_all_and_relevant_rows_at_each_distance(search, seed, words):
    queries, gallery = search
    rng = np.random.default_rng(seed)
    of_queries = rng.integers(0, 8, (words, len(queries))).astype(np.uint64)
    of_gallery = rng.integers(0, 8, (words, len(gallery))).astype(np.uint64)
    everything, relevant = histograms(queries, gallery, of_queries, of_gallery)
    distances = obvious_distances(queries, gallery)
    for q in range(len(queries)):
        shares = np.any(of_gallery & of_queries[:, q : q + 1], axis=0)
        assert np.array_equal(everything[q], np.bincount(distances[q], minlength=gallery.bits + 1))
        assert np.array_equal(relevant[q], np.bincount(distances[q][shares], minlength=gallery.bits + 1))


def test_distances_above_255_do_not_wrap_around():
    zeros, ones = Codes.from_bits(np.zeros((1, 1024), int)), Codes.from_bits(np.ones((1, 1024), int))
    assert all_distances(zeros, ones).tolist() == [[1024]]


def test_a_gallery_smaller_than_k_gives_fewer_rows_and_no_fillers():
    codes = Codes.from_bits([[0], [1]])
    assert top_k(codes[:1], codes, k=5).rows.tolist() == [[0, 1]]


def test_an_empty_gallery_gives_no_rows():
    codes = Codes.from_bits([[0], [1]])
    assert top_k(codes, codes[:0], k=3).rows.shape == (2, 0)


def test_queries_of_another_length_are_refused():
    with pytest.raises(UsageError, match="2 bits and the gallery 3"):
        top_k(Codes.from_bits([[0, 1]]), Codes.from_bits([[0, 1, 1]]), k=1)


def test_asking_for_no_neighbour_is_refused():
    codes = Codes.from_bits([[0]])
    with pytest.raises(UsageError, match="k=0"):
        top_k(codes, codes, k=0)


def test_a_negative_radius_is_refused():
    codes = Codes.from_bits([[0]])
    with pytest.raises(UsageError, match="radius=-1"):
        within(codes, codes, radius=-1)
