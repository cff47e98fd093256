"""Counting without sorting, judged by sorting."""

import numpy as np
import pytest

from deepbinaries.codes import Codes, all_distances
from deepbinaries.datasets.labels import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import Buckets, PairedItems, SharedLabels, buckets, of_codes, of_costs
from deepbinaries.evaluation.real_values import costs


def together(parts):
    """All queries' (n, R), (queries, buckets) each; parts of a real-valued ranking may differ in width."""
    parts = list(parts)
    width = max(part.n.shape[1] for part in parts)
    return tuple(
        np.concatenate([np.pad(letter(part), ((0, 0), (0, width - part.n.shape[1]))) for part in parts]).tolist()
        for letter in (lambda part: part.n, lambda part: part.R)
    )


def random_items(rng, n_queries=7, n_gallery=203, bits=16, n_labels=70):
    queries = Codes.from_bits(rng.integers(0, 2, (n_queries, bits)))
    gallery = Codes.from_bits(rng.integers(0, 2, (n_gallery, bits)))
    labels = Labels.from_matrix((rng.random((n_queries + n_gallery, n_labels)) < 0.03).astype(int))
    everyone = np.arange(len(labels))
    return queries, gallery, labels.select(everyone[:n_queries]), labels.select(everyone[n_queries:])


@pytest.mark.parametrize("bits", [1, 16, 128, 512])
def test_counts_are_those_of_the_matrix_product_and_of_the_labels_one_by_one(bits):
    queries, gallery, of_queries, of_gallery = random_items(np.random.default_rng(bits), bits=bits)
    distance = (bits - queries.to_signs().astype(float) @ gallery.to_signs().T.astype(float)) / 2
    n, R = together(of_codes(queries, gallery, SharedLabels.of(of_queries, of_gallery)))
    for q in range(len(queries)):
        for d in range(bits + 1):
            there = np.flatnonzero(distance[q] == d)
            assert n[q][d] == len(there)
            assert R[q][d] == sum(bool(set(of_queries.of(q)) & set(of_gallery.of(row))) for row in there)


def test_the_queries_may_come_in_parts_of_any_size(monkeypatch):
    queries, gallery, of_queries, of_gallery = random_items(np.random.default_rng(3))
    relevance = SharedLabels.of(of_queries, of_gallery)
    at_once = together(of_codes(queries, gallery, relevance))
    monkeypatch.setattr(buckets, "CHUNK", 3 * 2 * 17)
    parts = list(of_codes(queries, gallery, relevance))
    assert [len(part) for part in parts] == [3, 3, 1]
    assert together(parts) == at_once


def test_graded_queries_may_come_in_parts_too(monkeypatch):
    queries, gallery, of_queries, of_gallery = random_items(np.random.default_rng(3), n_labels=8)
    relevance = SharedLabels.of(of_queries, of_gallery)
    own = np.arange(7) * 20
    at_once = together(of_codes(queries, gallery, relevance, own=own, graded=True))
    monkeypatch.setattr(buckets, "CHUNK", 1)
    parts = list(of_codes(queries, gallery, relevance, own=own, graded=True))
    assert [len(part) for part in parts] == [1] * 7
    assert together(parts) == at_once


def test_real_valued_rankings_may_come_in_parts_too(monkeypatch):
    queries, gallery, of_queries, of_gallery = random_items(np.random.default_rng(3))
    relevance, distance = SharedLabels.of(of_queries, of_gallery), all_distances(queries, gallery)
    at_once = together(of_costs(distance, relevance))
    monkeypatch.setattr(buckets, "CHUNK", 50)
    parts = list(of_costs(distance, relevance))
    assert len(parts) > 1
    assert together(parts) == at_once


def test_grades_kept_apart_add_up_to_relevant():
    queries, gallery, of_queries, of_gallery = random_items(np.random.default_rng(4), n_labels=8)
    relevance = SharedLabels.of(of_queries, of_gallery)
    graded = list(of_codes(queries, gallery, relevance, graded=True))
    assert together(graded) == together(of_codes(queries, gallery, relevance))


def test_the_grade_of_a_bucket_is_counted_where_its_items_are():
    query, gallery = Codes.from_bits([[0, 0]]), Codes.from_bits([[0, 0], [0, 1], [1, 0], [1, 1]])
    names = ["a", "b"]
    asked = Labels.from_names([["a", "b"]], names)
    stored = Labels.from_names([["a"], ["a", "b"], [], ["b"]], names)
    (graded,) = of_codes(query, gallery, SharedLabels.of(asked, stored), graded=True)
    assert graded.counts.tolist() == [[[0, 1, 0], [1, 0, 1], [0, 1, 0]]]


@pytest.mark.parametrize("graded", [False, True])
def test_a_query_is_left_out_of_its_own_ranking(graded):
    rng = np.random.default_rng(5)
    _, gallery, _, labels = random_items(rng, n_gallery=30, n_labels=5)
    rows = np.array([3, 17, 8])
    relevance = SharedLabels.of(labels.select(rows), labels)
    own = np.array([3, -1, 8])
    n, R = together(of_codes(gallery[rows], gallery, relevance, own=own, graded=graded))
    for q, row in enumerate(rows):
        kept = np.array([other for other in range(30) if other != own[q]])
        alone = SharedLabels.of(labels.select([row]), labels.select(kept))
        expected = together(of_codes(gallery[row], gallery[kept], alone))
        assert ([n[q]], [R[q]]) == expected


def test_a_query_is_left_out_of_its_own_costs():
    pairs = PairedItems.from_ids(["a"], ["x", "a", "a", "x"])
    (ranking,) = of_costs([np.array([0.4, 0.3, 0.2, 0.1])], pairs, own=np.array([1]))
    assert ranking.n.tolist() == [[1, 1, 1]]
    assert ranking.R.tolist() == [[0, 1, 0]]


def test_pairs_are_counted_at_their_distance():
    query = Codes.from_bits([[0, 0, 0]])
    gallery = Codes.from_bits([[1, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 1]])
    n, R = together(of_codes(query, gallery, PairedItems.from_ids(["a"], ["a", "b", "a", "b"])))
    assert (n, R) == ([[0, 3, 0, 1]], [[0, 1, 0, 1]])


def test_costs_that_are_distances_give_the_buckets_of_codes_without_the_empty_ones():
    queries, gallery, of_queries, of_gallery = random_items(np.random.default_rng(6))
    relevance = SharedLabels.of(of_queries, of_gallery)
    n, R = together(of_codes(queries, gallery, relevance))
    by_cost = together(of_costs(all_distances(queries, gallery).astype(float), relevance))
    for q in range(len(queries)):
        filled = np.flatnonzero(n[q])
        assert [count for count in by_cost[0][q] if count] == np.array(n[q])[filled].tolist()
        assert by_cost[1][q][: len(filled)] == np.array(R[q])[filled].tolist()


def test_nearly_equal_scores_are_not_tied():
    pairs = PairedItems.from_ids(["a"], ["x", "a"])
    (ranking,) = of_costs([np.array([0.1 + 0.2, 0.3])], pairs)
    assert ranking.R.tolist() == [[1, 0]]


def test_row_order_is_that_of_a_stable_sort():
    cost = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    pairs = PairedItems.from_ids(["a"], ["a", "x", "x", "a", "a"])
    (ranking,) = of_costs([cost], pairs, by_row=True)
    assert ranking.n.tolist() == [[1] * 5]
    assert ranking.R.tolist() == [[0, 1, 1, 0, 1]]


def test_a_score_that_is_nan_is_refused_with_its_query_and_row():
    pairs = PairedItems.from_ids(["a", "b"], ["a", "b"])
    with pytest.raises(DataError, match="query 1 has a score that is NaN, for gallery row 0"):
        list(of_costs([np.array([0.0, 1.0]), np.array([np.nan, 1.0])], pairs))


def test_labels_of_other_rows_are_refused():
    codes = Codes.from_bits([[0], [1]])
    with pytest.raises(UsageError, match="2 queries and 2 gallery items, but relevance is known for 2 and 3"):
        list(of_codes(codes, codes, PairedItems.from_ids(["a", "b"], ["a", "b", "c"])))


def test_costs_for_other_items_are_refused():
    with pytest.raises(UsageError, match="3 costs for 2 items"):
        list(of_costs([np.zeros(3)], PairedItems.from_ids(["a"], ["a", "b"])))


def test_a_bucket_with_more_relevant_items_than_items_is_refused():
    with pytest.raises(UsageError, match="fewer items than relevant ones"):
        Buckets.of([1], relevant=[2])


@pytest.mark.parametrize("n_queries", [1, 3, 13])
@pytest.mark.parametrize("n_gallery", [9, 103, 257])
@pytest.mark.parametrize("width", [16, 37, 300])
def test_equal_gallery_rows_are_tied_wherever_they_stand(width, n_gallery, n_queries):
    rng = np.random.default_rng(7)
    gallery = np.tile(rng.standard_normal(width), (n_gallery, 1))
    gallery[4] += 1
    same = np.arange(n_gallery) != 4
    for cost in costs(rng.standard_normal((n_queries, width)), gallery, "inner"):
        assert len(set(cost[same].tolist())) == 1


def test_the_inner_product_of_signs_ranks_as_hamming_distance():
    queries, gallery, *_ = random_items(np.random.default_rng(8))
    by_value = np.array(list(costs(queries.to_signs(), gallery.to_signs(), "inner")))
    assert np.array_equal((by_value + queries.bits) / 2, all_distances(queries, gallery))


def test_the_cosine_does_not_care_for_length():
    (cost,) = costs([[3.0, 4.0]], [[6.0, 8.0], [-3.0, -4.0], [4.0, -3.0]], "cosine")
    assert cost == pytest.approx([-1.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("gallery", "ranking", "problem"),
    [
        ([[1.0, np.nan]], "inner", "row 0 of the gallery holds a NaN or an infinity"),
        ([[1.0, 1.0], [np.inf, 1.0]], "inner", "row 1 of the gallery holds a NaN or an infinity"),
        ([[0.0, 0.0]], "cosine", "row 0 of the gallery is zero"),
        ([[1.0]], "inner", "queries have 2 values each and gallery items 1"),
        ([1.0, 2.0], "inner", "shape"),
        ([[1.0, 1.0]], "hamming", "no ranking of real values is called 'hamming'"),
    ],
)
def test_values_that_cannot_be_ranked_are_refused(gallery, ranking, problem):
    with pytest.raises((DataError, UsageError), match=problem):
        list(costs([[1.0, 2.0]], gallery, ranking))
