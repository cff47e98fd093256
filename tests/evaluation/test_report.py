"""The whole evaluation: what it says, what it refuses, and that it is the same every time."""

import json
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from deepbinaries.codes import Codes
from deepbinaries.datasets.labels import Labels
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import (
    Extras,
    Interval,
    PairedItems,
    Rules,
    Score,
    evaluate,
    evaluate_values,
    over_queries,
    own_rows,
)

N_CLASSES = 10


class Collection:
    """Items of ten classes whose codes are their class's code with a quarter of the bits flipped."""

    def __init__(self, bits, seed=0, n_queries=40, n_gallery=400):
        rng = np.random.default_rng(seed)
        prototypes = rng.integers(0, 2, (N_CLASSES, bits))
        classes = np.arange(n_queries + n_gallery) % N_CLASSES
        flips = rng.random((len(classes), bits)) < 0.25
        codes = Codes.from_bits(prototypes[classes] ^ flips)
        labels = Labels.from_columns([[c] for c in classes], [str(c) for c in range(N_CLASSES)])
        self.queries, self.gallery = codes[:n_queries], codes[n_queries:]
        self.labels = {
            "query_labels": labels.select(np.arange(n_queries)),
            "gallery_labels": labels.select(np.arange(n_queries, len(labels))),
        }

    def evaluate(self, **others):
        return evaluate(self.queries, self.gallery, **(self.labels | others))


@pytest.fixture(scope="module")
def collection():
    return Collection(bits=32)


def same(a, b):
    """Equal to the last bit, field by field."""
    if is_dataclass(a):
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    if isinstance(a, np.ndarray):
        return a.tobytes() == b.tobytes()
    return a == b or (a != a and b != b)


def argsort_loop(collection, stable=None):
    """The evaluation that public code does: sort by distance, cumulate, divide by relevant."""
    scores = []
    signs, of_query, of_gallery = (
        collection.gallery.to_signs(),
        *(labels.matrix() for labels in collection.labels.values()),
    )
    for q, query in enumerate(collection.queries.to_signs()):
        relevant = (of_gallery & of_query[q]).any(axis=1)
        order = np.argsort(0.5 * (len(query) - signs @ query), kind=stable)
        ranks = np.flatnonzero(relevant[order]) + 1
        scores.append((np.arange(1, len(ranks) + 1) / ranks).mean())
    return np.array(scores)


def test_two_evaluations_are_the_same_to_the_bit(collection):
    extras = Extras(curves=True, ndcg_at=(10,))
    assert same(collection.evaluate(extras=extras), collection.evaluate(extras=extras))


def test_without_ties_the_argsort_loop_agrees():
    tieless = Collection(bits=1024, n_queries=6, n_gallery=20, seed=1)
    report = tieless.evaluate()
    assert report.tie_width == 0
    np.testing.assert_allclose(report.per_query, argsort_loop(tieless), rtol=1e-12)


def test_with_ties_the_argsort_loop_lies_between_worst_and_best(collection):
    report = collection.evaluate()
    loop = argsort_loop(collection)
    assert (report.worst_per_query - 1e-12 <= loop).all()
    assert (loop <= report.best_per_query + 1e-12).all()


def test_ties_by_row_are_those_of_a_stable_argsort(collection):
    report = collection.evaluate(rules=Rules(ties="by_row"))
    np.testing.assert_allclose(report.per_query, argsort_loop(collection, "stable"), rtol=1e-12)
    assert report.pessimistic < report.mean < report.optimistic


@pytest.mark.parametrize(("ties", "end"), [("best", "optimistic"), ("worst", "pessimistic")])
def test_the_headline_follows_the_tie_rule(collection, ties, end):
    report = collection.evaluate(rules=Rules(ties=ties))
    assert report.mean == getattr(report, end) == getattr(collection.evaluate(), end)


def flipped(codes):
    return Codes.from_bits(1 - codes.to_bits())


def turned(codes):
    return Codes.from_bits(codes.to_bits()[:, np.random.default_rng(9).permutation(codes.bits)])


@pytest.mark.parametrize("change", [flipped, turned])
def test_flipping_or_moving_bits_on_both_sides_changes_no_bit_of_the_scores(collection, change):
    plain = collection.evaluate()
    changed = evaluate(change(collection.queries), change(collection.gallery), **collection.labels)
    for vector in ("per_query", "best_per_query", "worst_per_query", "chance_per_query"):
        assert getattr(plain, vector).tobytes() == getattr(changed, vector).tobytes()


def test_another_order_of_the_gallery_changes_no_bit_of_the_report(collection):
    order = np.random.default_rng(8).permutation(len(collection.gallery))
    extras = Extras(curves=True, ndcg_at=(10,))
    labels = collection.labels | {"gallery_labels": collection.labels["gallery_labels"].select(order)}
    moved = evaluate(collection.queries, collection.gallery[order], **labels, extras=extras)
    plain = collection.evaluate(extras=extras)
    assert same(replace(moved, digests={}), replace(plain, digests={}))


def test_another_order_of_the_gallery_changes_no_bit_of_a_real_valued_score(collection):
    rng = np.random.default_rng(7)
    asking, stored = rng.standard_normal((40, 12)), rng.standard_normal((400, 12)).round(1)
    order = rng.permutation(400)
    plain = evaluate_values(asking, stored, **collection.labels)
    labels = collection.labels | {"gallery_labels": collection.labels["gallery_labels"].select(order)}
    moved = evaluate_values(asking, stored[order], **labels)
    assert plain.per_query.tobytes() == moved.per_query.tobytes()


def test_the_inner_product_of_signs_scores_as_the_codes_do(collection):
    by_values = evaluate_values(collection.queries.to_signs(), collection.gallery.to_signs(), **collection.labels)
    np.testing.assert_allclose(by_values.per_query, collection.evaluate().per_query, rtol=1e-12)
    assert by_values.rules.ranking == "inner"


def test_real_values_in_row_order_are_those_of_a_stable_sort(collection):
    signs = collection.queries.to_signs(), collection.gallery.to_signs()
    report = evaluate_values(*signs, **collection.labels, rules=Rules(ranking="inner", ties="by_row"))
    np.testing.assert_allclose(report.per_query, argsort_loop(collection, "stable"), rtol=1e-12)


@pytest.mark.parametrize("cutoff", [None, 50])
def test_constant_codes_score_chance_and_say_so(cutoff):
    labels = Labels.from_columns([[c] for c in np.repeat(np.arange(10), 100)], [str(c) for c in range(10)])
    constant = Codes.from_bits(np.ones((1000, 16), dtype=int))
    rules = Rules(cutoff=cutoff, divide_by="min")
    report = evaluate(
        constant[:10], constant, query_labels=labels.select(np.arange(10) * 100), gallery_labels=labels, rules=rules
    )
    assert report.mean == report.chance
    assert any("not better than chance" in note and "order of the ties" in note for note in report.notes())
    assert len(report.warnings()) == 4


def test_a_score_that_other_queries_would_bring_to_chance_is_not_better_than_chance(collection):
    unsure = replace(collection.evaluate(), above_chance=Interval(-0.001, 0.1, "made up"))
    assert any("not better than chance" in note and "other queries" in note for note in unsure.notes())


def test_a_score_that_ties_would_bring_to_chance_is_not_better_than_chance(collection):
    unsure = replace(collection.evaluate(), worst_per_query=np.zeros(40))
    assert any("not better than chance" in note and "order of the ties" in note for note in unsure.notes())


def test_scores_are_held_against_chance_query_by_query(collection):
    report = collection.evaluate()
    assert report.above_chance == over_queries(report.per_query - report.chance_per_query)


def test_codes_that_know_their_class_are_better_than_chance(collection):
    notes = collection.evaluate().notes()
    assert not any("chance" in note for note in notes)


def test_a_wide_tie_is_remarked():
    notes = Collection(bits=8).evaluate().notes()
    assert any(note.startswith("the order of ties alone moves this score by 0.") for note in notes)


def test_a_gallery_that_stands_at_one_distance_is_remarked(collection):
    crowded = replace(collection.evaluate(), largest_bucket=0.25)
    assert "on average 25% of the gallery stand at one distance from a query" in crowded.notes()


def test_the_largest_bucket_is_counted():
    query, gallery = Codes.from_bits([[0, 0]]), Codes.from_bits([[0, 1], [1, 0], [0, 1], [1, 1]])
    pairs = PairedItems.from_ids(["a"], ["a", "b", "c", "d"])
    assert evaluate(query, gallery, pairs=pairs, rules=Rules(relevance="same item")).largest_bucket == 3 / 4


def test_queries_without_relevant_items_are_left_out_and_counted(collection):
    labels = collection.labels | {
        "query_labels": Labels.from_columns([[] if q < 3 else [q % 10] for q in range(40)], [str(c) for c in range(10)])
    }
    skipped = evaluate(collection.queries, collection.gallery, **labels)
    zero = evaluate(collection.queries, collection.gallery, **labels, rules=Rules(empty="zero"))
    assert (skipped.used, skipped.dropped, skipped.n_empty) == (37, 3, 3)
    assert (zero.used, zero.dropped, zero.n_empty) == (40, 0, 3)
    assert zero.mean == pytest.approx(skipped.mean * 37 / 40)
    assert zero.interval == over_queries(np.nan_to_num(zero.per_query))
    assert "40 queries (3 without a relevant item, left out)" in str(skipped)
    assert "40 queries (3 without a relevant item, counted as 0)" in str(zero)


def test_the_usual_cutoffs_are_always_there(collection):
    assert [score.rules.name for score in collection.evaluate().others] == ["map@50/min", "map@500/min", "map@5000/min"]


def test_a_cutoff_beyond_the_gallery_is_the_whole_gallery(collection):
    report = collection.evaluate()
    assert report.others[1].value == pytest.approx(report.mean, rel=1e-12)


def test_the_paired_sentence_is_hit_and_ranked():
    images = Codes.from_bits([[0, 0, 0], [1, 1, 1]])
    sentences = Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 1, 0]])
    pairs = PairedItems.from_ids(["p", "q"], ["p", "q", "elsewhere"])
    report = evaluate(images, sentences, pairs=pairs, rules=Rules(relevance="same item"))
    assert report.metrics["hit@1"] == (0.5 + 1) / 2
    assert report.metrics["hit@5"] == 1
    assert report.metrics["reciprocal rank"] == pytest.approx(((1 + 1 / 2) / 2 + 1) / 2)
    assert report.metrics["median rank"] == (1.5 + 1) / 2


def test_ndcg_is_labelled_with_its_gain(collection):
    report = collection.evaluate(extras=Extras(ndcg_at=(10,), gain="g"))
    assert report.definition()["gain"] == "g"
    assert 0 < report.metrics["ndcg@10"] < 1


def test_one_shared_label_at_most_makes_ndcg_the_same_for_both_gains(collection):
    values = [
        collection.evaluate(extras=Extras(ndcg_at=(10,), gain=gain)).metrics["ndcg@10"] for gain in ("g", "2^g-1")
    ]
    assert values[0] == values[1]


def test_an_item_that_shares_two_labels_gains_more_than_one_that_shares_one():
    names = ["a", "b"]
    asked, stored = Labels.from_names([["a", "b"]], names), Labels.from_names([["a"], ["a", "b"]], names)
    query, gallery = Codes.from_bits([[0, 0]]), Codes.from_bits([[0, 0], [1, 1]])
    report = evaluate(query, gallery, query_labels=asked, gallery_labels=stored, extras=Extras(ndcg_at=(2,)))
    assert report.metrics["ndcg@2"] == pytest.approx((1 + 3 / np.log2(3)) / (3 + 1 / np.log2(3)))


def test_image_to_image_leaves_the_query_out(collection):
    ids = [str(row) for row in range(400)]
    own = own_rows(ids[:40], ids)
    stored = collection.labels["gallery_labels"]
    rules = Rules(gallery="with-queries", itself="left out")
    report = evaluate(
        collection.gallery[:40],
        collection.gallery,
        query_labels=stored.select(np.arange(40)),
        gallery_labels=stored,
        rules=rules,
        own=own,
        direction="image_to_image",
    )
    first = np.delete(np.arange(400), 0)
    alone = evaluate(
        collection.gallery[0],
        collection.gallery[first],
        query_labels=stored.select([0]),
        gallery_labels=stored.select(first),
    )
    assert report.per_query[0] == pytest.approx(alone.per_query[0], rel=1e-12)


def test_values_and_row_order_leave_the_query_out_alike(collection):
    own = np.arange(40)
    stored = collection.labels["gallery_labels"]
    labels = {"query_labels": stored.select(own), "gallery_labels": stored}
    by_row = {"gallery": "with-queries", "itself": "left out", "ties": "by_row"}
    codes = evaluate(collection.gallery[own], collection.gallery, **labels, own=own, rules=Rules(**by_row))
    signs = collection.gallery.to_signs()
    values = evaluate_values(signs[own], signs, **labels, own=own, rules=Rules(**by_row, ranking="inner"))
    np.testing.assert_allclose(codes.per_query, values.per_query, rtol=1e-12)


def test_true_pairs_that_are_no_nearer_are_noted(collection):
    near = collection.evaluate(partners=collection.queries)
    far = collection.evaluate(partners=flipped(collection.queries))
    assert near.agreement < 0 < far.agreement
    assert not any("true pairs" in note for note in near.notes())
    assert any("true pairs are no nearer" in note for note in far.notes())


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ({"direction": "i2t"}, "no direction is called 'i2t'"),
        ({"rules": Rules(ranking="cosine")}, "the rules rank by 'cosine', this ranks by hamming"),
        ({"rules": Rules(itself="left out")}, "left out, but own rows are not given"),
        ({"own": np.zeros(40, dtype=int)}, "kept, but own rows are given"),
        ({"direction": "image_to_image", "rules": Rules(gallery="with-queries")}, "every query finds itself first"),
        ({"own": np.full(40, 400), "rules": Rules(itself="left out")}, "own rows name one gallery row"),
        ({"query_labels": None}, "not clear what is relevant"),
        ({"pairs": PairedItems.from_ids(["a"], ["a"])}, "not clear what is relevant"),
        ({"extras": Extras(ndcg_at=(5,), gain="e^g")}, "no gain is called"),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused(collection, others, problem):
    with pytest.raises(UsageError, match=problem):
        collection.evaluate(**others)


def test_a_lookup_within_a_negative_radius_is_refused():
    with pytest.raises(UsageError, match="radius=-1 is negative"):
        Extras(radius=-1)


def test_a_query_alone_in_its_gallery_has_nothing_to_find():
    rules = Rules(ranking="inner", relevance="same item", itself="left out")
    with pytest.raises(DataError, match="no query has a relevant item"):
        evaluate_values([[1.0]], [[1.0]], pairs=PairedItems.from_ids("a", "a"), own=np.array([0]), rules=rules)


def test_pairs_under_rules_that_speak_of_labels_are_refused():
    codes = Codes.from_bits([[0], [1]])
    with pytest.raises(UsageError, match="the rules say 'shared label', but pairs were given"):
        evaluate(codes, codes, pairs=PairedItems.from_ids("ab", "ab"))


def test_labels_under_rules_that_speak_of_pairs_are_refused(collection):
    with pytest.raises(UsageError, match="the rules say 'same item', but labels were given"):
        collection.evaluate(rules=Rules(relevance="same item"))


def test_values_of_other_items_than_the_labels_are_refused(collection):
    signs = collection.queries.to_signs()[:39], collection.gallery.to_signs()
    with pytest.raises(UsageError, match="39 queries and 400 gallery items, but relevance is known for 40 and 400"):
        evaluate_values(*signs, **collection.labels)


def test_no_queries_are_refused(collection):
    with pytest.raises(UsageError, match="0 queries meet 400 gallery items"):
        evaluate(collection.queries[:0], collection.gallery, **collection.labels)


def test_a_gallery_in_which_nothing_is_relevant_is_refused():
    codes = Codes.from_bits([[0], [1]])
    with pytest.raises(DataError, match="no query has a relevant item"):
        evaluate(codes, codes, pairs=PairedItems.from_ids("ab", "cd"), rules=Rules(relevance="same item"))


def test_a_report_is_json_without_nan_and_every_score_has_its_rules(collection):
    report = collection.evaluate(
        extras=Extras(curves=True), dataset={"name": "classes", "digest": "9a07"}, split={"query": "3f1c"}
    )
    content = json.loads(json.dumps(report.to_json(), allow_nan=False))
    for score in [content["score"], *content["others"]]:
        assert Rules.from_json(score["rules"]).name == score["name"]
    assert content["score"]["value"] == report.mean
    assert (content["dataset"]["digest"], content["split"]) == ("9a07", {"query": "3f1c"})
    assert content["digests"] == {"queries": collection.queries.digest, "gallery": collection.gallery.digest}
    assert content["per_query"] == report.per_query.tolist()
    assert len(content["radius_curve"]["precision"]) == 33
    assert content["metrics"]["definition"]["ties"] == "expected"


def test_a_query_without_a_score_is_null_in_json():
    codes = Codes.from_bits([[0, 1], [1, 1]])
    report = evaluate(codes, codes, pairs=PairedItems.from_ids("ab", "ac"), rules=Rules(relevance="same item"))
    content = report.to_json()
    assert content["per_query"] == [1.0, None]
    assert content["interval"]["low"] is None


def test_a_report_reads_as_text(collection):
    text = str(collection.evaluate(dataset={"name": "classes"}))
    assert text.startswith("image_to_text, classes, 32 bits, 40 queries, 400 gallery items\nMAP[all, /relevant, ")
    for word in ("map@all", "chance", "order of ties", "map@50/min", "precision@10", "codes of the gallery"):
        assert word in text


def test_a_score_cannot_be_made_without_rules():
    with pytest.raises(TypeError, match="rules"):
        Score(0.5)


def test_a_real_valued_report_has_no_code_health(collection):
    report = evaluate_values(collection.queries.to_signs(), collection.gallery.to_signs(), **collection.labels)
    assert report.to_json()["health"] == {}
    assert report.to_json()["radius_curve"] is None
