"""The compiled kernel beside the numpy reference: the same rows, distances and counts, whatever the codes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbinaries.codes import Codes, Gallery, compiled, kernel, reference

patiently = settings(deadline=None, max_examples=60)  # the first example of a length compiles
ks = st.sampled_from([1, 2, 10, 100, 1000])


def same(found, expected):
    return all(np.array_equal(getattr(found, name), getattr(expected, name)) for name in vars(expected))


def words(codes):
    return codes.columns().T


def search_of(rng, bits, n_queries, n_items, *, n_centres, flip, hide, cuts):
    """Queries and a gallery around some centres, in segments and with hidden rows."""
    centres = rng.integers(0, 2, (n_centres, bits))

    def some(n):
        return Codes.from_bits(centres[rng.integers(0, n_centres, n)] ^ (rng.random((n, bits)) < flip))

    codes = some(n_items)
    edges = np.sort(rng.integers(0, n_items + 1, cuts))
    segments = [codes[a:b].columns() for a, b in zip([0, *edges], [*edges, n_items], strict=True)]
    return words(some(n_queries)), Gallery(segments, bits, hidden=rng.random(n_items) < hide)


@st.composite
def searches(draw):
    return search_of(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        draw(st.sampled_from([1, 7, 63, 64, 65, 128])),
        draw(st.integers(0, 6)),
        draw(st.sampled_from([0, 1, 2, 63, 64, 65, 200, 700])),
        n_centres=draw(st.sampled_from([1, 3, 1000])),
        flip=draw(st.sampled_from([0.0, 0.02, 0.5])),  # 0.0 with one centre: all codes are equal
        hide=draw(st.sampled_from([0.0, 0.01, 0.5, 0.99])),
        cuts=draw(st.integers(0, 2)),
    )


@patiently
@given(searches(), ks)
def test_the_nearest_are_those_of_the_reference(search, k):
    queries, gallery = search
    if k := min(k, gallery.n_visible):
        assert same(kernel.top_k(queries, gallery, k, 1), reference.top_k(queries, gallery, k, 1))


@patiently
@given(searches(), ks)
def test_the_nearest_with_all_their_ties_are_those_of_the_reference(search, k):
    queries, gallery = search
    if k := min(k, gallery.n_visible):
        found, expected = (engine.top_k_with_ties(queries, gallery, k, 1) for engine in (kernel, reference))
        assert same(found, expected)


@patiently
@given(searches(), st.integers(0, 2**32 - 1))
def test_the_balls_are_those_of_the_reference(search, seed):
    queries, gallery = search
    radii = np.random.default_rng(seed).integers(0, gallery.bits + 1, len(queries))
    assert same(kernel.within(queries, gallery, radii, 1), reference.within(queries, gallery, radii, 1))


@patiently
@given(searches())
def test_the_distances_are_those_of_the_reference(search):
    found, expected = ([row.tolist() for row in engine.distances(*search)] for engine in (kernel, reference))
    assert found == expected


@patiently
@given(searches(), st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_the_histograms_are_those_of_the_reference(search, seed, n_words):
    queries, gallery = search
    rng = np.random.default_rng(seed)
    masks = [rng.integers(0, 4, (n_words, n)).astype(np.uint64) for n in (len(queries), len(gallery))]
    found, expected = (engine.histograms(queries, gallery, *masks, 1) for engine in (kernel, reference))
    assert np.array_equal(found, expected)


def labelled(search, *, n_words, seed=0, share=0.01):
    """A search with label masks of both sides, of which some words are empty."""
    rng = np.random.default_rng(seed)
    sizes = len(search[0]), len(search[1])
    masks = [np.packbits(rng.random((n_words, n, 64)) < share, axis=2).view(np.uint64)[:, :, 0] for n in sizes]
    return (*search, *masks)


@pytest.mark.parametrize("hide", [0.0, 0.3])
@pytest.mark.parametrize("bits", [1, 64, 128, 256, 300])  # from 256 on a distance needs more than a byte
def test_rows_that_are_many_are_counted_for_two_queries_at_once_as_for_each(bits, hide):
    search = search_of(np.random.default_rng(bits), bits, 5, 9000, n_centres=9, flip=0.2, hide=hide, cuts=1)
    search = labelled(search, n_words=2)
    assert np.array_equal(kernel.histograms(*search, 1), reference.histograms(*search, 1))


def test_rows_in_several_blocks_are_counted_once(monkeypatch):
    monkeypatch.setattr(kernel, "COUNTED_WORDS", 10_000)  # 5,000 rows of two words
    search = search_of(np.random.default_rng(0), 128, 4, 14_000, n_centres=9, flip=0.2, hide=0.1, cuts=0)
    search = labelled(search, n_words=1)
    assert np.array_equal(kernel.histograms(*search, 1), reference.histograms(*search, 1))


@pytest.mark.parametrize("bits", [127, 128, 512])
def test_a_query_that_meets_itself_and_its_opposite_is_counted_in_full(bits):
    """The distances then span more than a joint table holds."""
    rng = np.random.default_rng(0)
    query = rng.integers(0, 2, (2, bits))
    gallery = np.concatenate([query, 1 - query, rng.integers(0, 2, (5000, bits))])
    search = labelled((words(Codes.from_bits(query)), Gallery.of(Codes.from_bits(gallery))), n_words=1, share=0.2)
    found, expected = kernel.histograms(*search, 1), reference.histograms(*search, 1)
    assert found[0][0, [0, bits]].tolist() == [1, 1]
    assert np.array_equal(found, expected)


def test_a_block_of_equal_codes_fills_one_place_of_the_joint_table():
    codes = Codes.from_bits(np.ones((20_000, 64), int))
    search = labelled((words(codes[:2]), Gallery.of(codes)), n_words=1, share=0.05)
    assert np.array_equal(kernel.histograms(*search, 1), reference.histograms(*search, 1))


@pytest.mark.parametrize("hide", [0.0, 0.5])
def test_large_tiles_find_the_same(hide):
    search = search_of(
        np.random.default_rng(0), 64, 5, 9000, n_centres=50, flip=0.05, hide=hide, cuts=1
    )  # two neighbours in 9,000 codes are few enough for large tiles
    assert same(kernel.top_k(*search, 2, 1), reference.top_k(*search, 2, 1))


def test_codes_of_1024_bits_are_compared_in_full():
    search = search_of(np.random.default_rng(0), 1024, 5, 300, n_centres=3, flip=0.3, hide=0.0, cuts=0)
    assert same(kernel.top_k(*search, 10, 1), reference.top_k(*search, 10, 1))


def test_codes_that_come_ever_nearer_are_all_looked_at():
    """Every row beats all before it, so that more candidates come than are kept at a time."""
    bits = (np.arange(2000)[:, None] < np.linspace(0, 2000, 64)).astype(int)
    gallery, query = Gallery.of(Codes.from_bits(bits)), words(Codes.from_bits(np.zeros((1, 64), int)))
    assert same(kernel.top_k(query, gallery, 5, 1), reference.top_k(query, gallery, 5, 1))


def test_a_hidden_row_bounds_nothing():
    """Hidden rows are the nearest of every tile: a bound that rests on them would leave everybody else out."""
    bits = np.ones((640, 64), int)
    bits[::64] = 0
    gallery = Gallery.of(Codes.from_bits(bits)).without(np.arange(0, 640, 64))
    found = kernel.top_k(words(Codes.from_bits(np.zeros((1, 64), int))), gallery, 3, 1)
    assert (found.rows.tolist(), found.distances.tolist(), found.ties.tolist()) == ([[1, 2, 3]], [[64] * 3], [630])


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_threads_change_no_answer(monkeypatch, threads):
    monkeypatch.setattr(kernel, "WORTH_A_THREAD", 0)
    queries, gallery = search_of(np.random.default_rng(1), 64, 7, 3000, n_centres=9, flip=0.1, hide=0.1, cuts=2)
    masks = np.ones((1, 7), np.uint64), np.ones((1, 3000), np.uint64)
    radii = np.full(7, 20)
    assert same(kernel.top_k(queries, gallery, 10, threads), reference.top_k(queries, gallery, 10, 1))
    assert same(kernel.within(queries, gallery, radii, threads), reference.within(queries, gallery, radii, 1))
    found, expected = (
        kernel.histograms(queries, gallery, *masks, threads),
        kernel.histograms(queries, gallery, *masks, 1),
    )
    assert np.array_equal(found, expected)


def test_many_callers_at_once_disturb_nobody():
    search = search_of(np.random.default_rng(2), 64, 9, 3000, n_centres=9, flip=0.1, hide=0.0, cuts=0)
    expected = reference.top_k(*search, 10, 1)
    with ThreadPoolExecutor(8) as callers:
        answers = callers.map(lambda _: kernel.top_k(*search, 10, 2), range(40))
    assert all(same(answer, expected) for answer in answers)


def test_queries_beyond_what_is_asked_at_once_are_answered_in_order(monkeypatch):
    monkeypatch.setattr(kernel, "MOST_QUERIES", 4)
    search = search_of(np.random.default_rng(3), 64, 11, 500, n_centres=9, flip=0.1, hide=0.0, cuts=0)
    assert same(kernel.top_k(*search, 10, 1), reference.top_k(*search, 10, 1))
    assert same(kernel.within(*search, np.arange(11), 1), reference.within(*search, np.arange(11), 1))


def test_a_read_only_map_is_searched_without_compiling_again(tmp_path):
    queries, gallery = search_of(np.random.default_rng(4), 64, 3, 500, n_centres=9, flip=0.1, hide=0.0, cuts=0)
    expected = kernel.top_k(queries, gallery, 5, 1)
    compiled_so_far = len(compiled.tile_minima.signatures), len(compiled.nearest.signatures)
    np.save(tmp_path / "columns.npy", gallery.segments[0])
    mapped = Gallery([np.load(tmp_path / "columns.npy", mmap_mode="r")], bits=64)
    assert same(kernel.top_k(queries, mapped, 5, 1), expected)
    assert (len(compiled.tile_minima.signatures), len(compiled.nearest.signatures)) == compiled_so_far
