"""Mistakes found in public evaluation code, one test each: the mistake is rebuilt from its definition,
shown to give another number on a tiny example, and ours is shown to give the number computed by hand."""

import numpy as np
import pytest

from deepbinaries.codes import Codes, all_distances, sign
from deepbinaries.datasets.labels import Labels
from deepbinaries.errors import DataError
from deepbinaries.evaluation import Buckets, Extras, PairedItems, Rules, Score, average_precision, evaluate
from deepbinaries.evaluation.average_precision import mean_over_queries
from deepbinaries.evaluation.curves import by_radius, by_rank, default_ranks, eleven_points, found_by_rank
from deepbinaries.evaluation.metrics import precision_at, recall_at


def in_order(*relevant):
    """A ranking without ties: 1 where the item at that rank is relevant."""
    return Buckets.of([1] * len(relevant), relevant=relevant)


def precisions(relevant):
    """The precision at each relevant rank of a plain list."""
    ranks = np.flatnonzero(relevant) + 1
    return np.arange(1, len(ranks) + 1) / ranks


def one_label(*numbers):
    return Labels.from_columns([[] if number is None else [number] for number in numbers], ["0", "1", "2"])


def test_map_at_k_that_takes_the_first_k_relevant_items_wherever_they_are():
    relevant, K = [1, 0, 0, 0, 1], 2
    first_k_relevant = precisions(relevant)[:K].sum() / min(K, sum(relevant))
    assert first_k_relevant == pytest.approx((1 + 2 / 5) / 2)
    assert average_precision(in_order(*relevant), cutoff=K, divide_by="min").item() == 1 / 2


def test_division_by_the_relevant_items_found_so_that_finding_less_scores_more():
    finds_two, finds_one = [1, 0, 0, 0, 1, 0, 1], [1, 0, 0, 0, 0, 1, 1]  # of three, in the first five
    over_found = [precisions(relevant[:5]).mean() for relevant in (finds_two, finds_one)]
    assert over_found == pytest.approx([(1 + 2 / 5) / 2, 1])
    two, one = (
        average_precision(in_order(*relevant), cutoff=5, divide_by="min").item() for relevant in (finds_two, finds_one)
    )
    assert (two, one) == pytest.approx(((1 + 2 / 5) / 3, 1 / 3))


def test_queries_with_nothing_relevant_found_are_dropped_from_the_mean():
    rankings = [[1, 0, 0], [0, 0, 1]]
    found = [precisions(relevant[:2]) for relevant in rankings]
    dropped = np.mean([scores.mean() for scores in found if len(scores)])
    assert dropped == 1.0
    both = Buckets.of(np.ones((2, 3)), relevant=rankings)
    for divide_by in ("relevant", "min", "hits"):
        assert mean_over_queries(average_precision(both, cutoff=2, divide_by=divide_by), "skip") == 1 / 2


def test_queries_with_no_relevant_item_count_as_zero_without_a_word():
    codes = Codes.from_bits([[0, 0], [1, 1]])
    labels = {"query_labels": one_label(0, 2), "gallery_labels": one_label(0, 1)}
    in_silence = np.mean([1.0, 0.0])
    report = evaluate(codes, codes, **labels)
    assert report.mean == 1.0 != in_silence
    assert (report.used, report.dropped) == (1, 1)
    disclosed = evaluate(codes, codes, **labels, rules=Rules(empty="zero"))
    assert disclosed.mean == in_silence
    assert "empty=zero" in str(disclosed)


def test_a_query_counter_that_starts_at_ten():
    codes = Codes.from_bits([[0, 0], [1, 1]])
    report = evaluate(codes, codes, query_labels=one_label(0, 1), gallery_labels=one_label(0, 1))
    counted_from_ten = report.per_query.sum() / (10 + len(report.per_query))
    assert counted_from_ten == pytest.approx(2 / 12)
    assert report.mean == 1.0


def test_ties_broken_by_the_order_of_the_database():
    # Ten classes of a hundred, stored class by class, and codes that say nothing.
    classes = np.repeat(np.arange(10), 100)
    labels = Labels.from_columns([[c] for c in classes], [str(c) for c in range(10)])
    constant = Codes.from_bits(np.zeros((1000, 4), dtype=int))
    by_database_order = np.mean([precisions(classes == c).mean() for c in range(10)])
    assert by_database_order == pytest.approx(0.2088, abs=5e-5)
    ours = evaluate(constant[:10], constant, query_labels=labels.select(np.arange(10) * 100), gallery_labels=labels)
    a, H = 99 / 999, sum(1 / rank for rank in range(1, 1001))
    assert ours.mean == pytest.approx((a * 1000 + (1 - a) * H) / 1000)
    assert ours.mean == pytest.approx(0.1058, abs=5e-5)


def test_ties_broken_by_real_values_and_reported_as_hamming():
    query, gallery = np.array([[1.0, 1.0]]), np.array([[0.1, 0.1], [0.9, 0.9]])
    order = np.argsort(-(query @ gallery.T)[0])
    by_values = precisions(np.array([False, True])[order]).mean()
    assert by_values == 1.0
    labels = {"query_labels": one_label(0), "gallery_labels": one_label(1, 0)}
    report = evaluate(Codes.from_values(query), Codes.from_values(gallery), **labels)
    assert report.mean == (1 + 1 / 2) / 2
    assert report.rules.ranking == "hamming"


def test_an_arbitrary_choice_from_the_bucket_at_the_cut():
    distance = np.array([0, 1, 1, 1])
    answers = set()
    for order in ([0, 1, 2, 3], [0, 3, 2, 1]):  # the same items, stored in another order
        kept = np.argpartition(distance[order], 1)[:2]
        answers.add(float(np.isin(np.array(order)[kept], [0, 1]).mean()))  # items 0 and 1 are relevant
    assert len(answers) == 2
    ranking = Buckets.of([1, 3], relevant=[1, 1])
    assert precision_at(ranking, 2).item() == pytest.approx((1 + 1 / 3) / 2)
    assert average_precision(ranking, cutoff=2, divide_by="min").item() == pytest.approx((1 + 1 / 3 * 2 / 2) / 2)


def test_label_rows_changed_in_place():
    matrix = np.array([[1, 0], [0, 1]])
    view = matrix[0]
    view[view == 0] = -1
    assert matrix.tolist() == [[1, -1], [0, 1]]

    codes = Codes.from_bits([[0, 0], [1, 1]])
    labels = one_label(0, 1)
    before = [labels.offsets.tobytes(), labels.columns.tobytes(), codes.packed.tobytes()]
    evaluate(codes, codes, query_labels=labels, gallery_labels=labels, extras=Extras(curves=True, ndcg_at=(1,)))
    assert [labels.offsets.tobytes(), labels.columns.tobytes(), codes.packed.tobytes()] == before


def test_a_sign_with_three_values():
    outputs = np.array([[0.0, 0.5, -0.5, 0.0]])
    three_valued = np.sign(outputs)
    assert 0.5 * (4 - three_valued @ three_valued.T).item() == 1.0  # from itself
    assert sign(outputs).tolist() == [[1.0, 1.0, -1.0, 1.0]]
    codes = Codes.from_values(outputs)
    assert all_distances(codes, codes).item() == 0


def test_a_recall_that_divides_what_was_retrieved():
    ranking = Buckets.of([3, 1], relevant=[1, 0])
    retrieved_over_relevant = ranking.n[0, 0] / ranking.relevant[0]
    assert retrieved_over_relevant == 3.0
    assert recall_at(ranking, 3).item() == 1.0
    assert by_radius(ranking.n, ranking.R, "skip").recall.tolist() == [1.0, 1.0]


def test_distances_in_a_byte_that_wrap_around_above_255():
    query, gallery = Codes.from_bits([[0] * 256]), Codes.from_bits([[1] * 256, [1] * 10 + [0] * 246])
    assert np.uint8(all_distances(query, gallery)[0] % 256).tolist() == [0, 10]  # the opposite code comes first
    report = evaluate(query, gallery, query_labels=one_label(0), gallery_labels=one_label(1, 0))
    assert report.mean == 1.0


def test_a_precision_recall_curve_of_the_survivors():
    both = Buckets.of(np.ones((2, 3)), relevant=[[1, 0, 0], [0, 0, 1]])
    ranks = default_ranks(3)
    found = found_by_rank(both, ranks)
    survivors = found[found[:, 1] > 0]  # a hit in the first two ranks
    assert (survivors / ranks).mean(axis=0)[0] == 1.0
    curve = by_rank(found, eleven_points(both), both.relevant, ranks, "skip")
    assert curve.precision.tolist() == pytest.approx([1 / 2, 1 / 4, 1 / 3])
    assert curve.recall.tolist() == pytest.approx([1 / 2, 1 / 2, 1])


def test_a_precision_curve_for_a_database_of_ten_thousand():
    codes = Codes.from_bits([[0, 0], [1, 1]])
    report = evaluate(
        codes, codes, query_labels=one_label(0, 1), gallery_labels=one_label(0, 1), extras=Extras(curves=True)
    )
    of_ten_thousand = np.linspace(1, 10_000, 2)
    assert of_ten_thousand[-1] != len(codes)
    assert report.rank_curve.ranks.tolist() == [1, 2]
    assert report.rank_curve.precision.tolist() == [1.0, 0.5]


def test_a_silent_nan_when_a_query_has_no_relevant_item():
    codes = Codes.from_bits([[0, 0], [1, 1]])
    with np.errstate(invalid="ignore"):
        silent = np.mean([1.0, np.float64(0) / np.float64(0)])
    assert np.isnan(silent)
    report = evaluate(codes, codes, query_labels=one_label(0, None), gallery_labels=one_label(0, 1))
    assert report.mean == 1.0
    with pytest.raises(DataError, match="no query has a relevant item"):
        evaluate(codes, codes, query_labels=one_label(2, 2), gallery_labels=one_label(0, 1))


def test_the_best_epoch_of_each_direction_reported_as_one_model():
    texts = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
    epochs = [Codes.from_bits([[0, 0], [0, 0], [1, 1]]), Codes.from_bits([[0, 1], [0, 1], [1, 1]])]
    pairs, rules = PairedItems.from_ids("abc", "abc"), Rules(relevance="same item", gallery="with-queries")
    forth = [evaluate(images, texts, pairs=pairs, rules=rules, direction="image_to_text") for images in epochs]
    back = [evaluate(texts, images, pairs=pairs, rules=rules, direction="text_to_image") for images in epochs]
    mixed = forth[0].digests["queries"], back[1].digests["gallery"]
    assert mixed[0] != mixed[1]  # a pair of numbers from two epochs shows by its digests
    for epoch in range(2):  # those of one model belong together
        assert forth[epoch].digests["queries"] == back[epoch].digests["gallery"]


def test_a_caption_drawn_anew_on_every_access():
    labels = {"query_labels": one_label(0), "gallery_labels": one_label(0, 1)}
    gallery = Codes.from_bits([[0, 0], [1, 1]])
    captions = [Codes.from_bits([[0, 0]]), Codes.from_bits([[1, 1]])]
    drawn = [evaluate(caption, gallery, **labels) for caption in captions]
    assert drawn[0].mean != drawn[1].mean
    assert drawn[0].digests["queries"] != drawn[1].digests["queries"]  # not the same evaluation, and it shows
    again = evaluate(captions[0], gallery, **labels)
    assert again.to_json() == drawn[0].to_json()


def test_a_map_at_1000_compared_with_a_map_over_everything():
    whole, cut = Score(0.5, Rules(), 0.1), Score(0.5, Rules.named("map@1000/min"), 0.1)
    assert whole != cut
    assert str(whole) != str(cut)
    assert whole.to_json()["name"] == "map@all"
    assert cut.to_json()["name"] == "map@1000/min"
