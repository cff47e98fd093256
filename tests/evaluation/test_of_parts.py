import json

import numpy as np
import pytest

from deepbinaries import Codes, datasets
from deepbinaries.datasets.splits import by_fraction
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import Rules, SavedScores, evaluate, evaluate_parts, own_rows
from deepbinaries.files import write_json


@pytest.fixture(scope="module")
def scenes():
    return datasets.load("scenes", items=80)


@pytest.fixture(scope="module")
def codes(scenes):
    return Codes.from_values(np.random.default_rng(0).normal(size=(len(scenes), 16)))


def test_labels_rules_and_digests_come_from_the_split(scenes, codes):
    parts = by_fraction(scenes, 0.25).parts(scenes, ignore_labels=["person"])
    rows = parts.gallery("clean")
    report = evaluate_parts(codes[parts.query], codes[rows], scenes, parts, kind="clean", direction="image_to_text")
    by_hand = evaluate(
        codes[parts.query],
        codes[rows],
        query_labels=scenes.labels.without(["person"]).select(parts.query),
        gallery_labels=scenes.labels.without(["person"]).select(rows),
        rules=Rules(gallery="clean", relevance="shared label without person"),
    )
    assert report.mean == by_hand.mean
    assert report.rules == by_hand.rules
    assert report.dataset == {"name": "scenes", "digest": datasets.digest(scenes)}
    assert report.split == parts.split.digests()


def test_a_search_for_its_like_leaves_the_query_itself_out(scenes, codes):
    parts = by_fraction(scenes, 0.25).parts(scenes)
    rows = parts.gallery("with-queries")
    report = evaluate_parts(
        codes[parts.query], codes[rows], scenes, parts, kind="with-queries", direction="image_to_image"
    )
    by_hand = evaluate(
        codes[parts.query],
        codes[rows],
        query_labels=scenes.labels.select(parts.query),
        gallery_labels=scenes.labels.select(rows),
        rules=Rules(gallery="with-queries", itself="left out"),
        direction="image_to_image",
        own=own_rows([scenes.ids[row] for row in parts.query], [scenes.ids[row] for row in rows]),
    )
    assert (report.rules, report.mean) == (by_hand.rules, by_hand.mean)


def test_codes_of_other_rows_are_refused_with_the_numbers(scenes, codes):
    parts = by_fraction(scenes, 0.25).parts(scenes)
    with pytest.raises(UsageError, match="80 and 60 codes are given for 20 queries"):
        evaluate_parts(codes, codes[parts.gallery()], scenes, parts, direction="image_to_text")


def test_scores_of_a_written_report_are_read_back(scenes, codes, tmp_path):
    parts = by_fraction(scenes, 0.25).parts(scenes)
    report = evaluate_parts(codes[parts.query], codes[parts.gallery()], scenes, parts, direction="text_to_image")
    write_json(report.to_json(), tmp_path / "report.json")
    saved = SavedScores.load(tmp_path / "report.json")
    assert np.array_equal(saved.per_query, report.per_query, equal_nan=True)
    assert (saved.rules, saved.direction, saved.dataset) == (report.rules, "text_to_image", report.dataset)


@pytest.mark.parametrize(
    "change", [{"format": "other"}, {"version": 2}, {"per_query": ["x"]}, {"score": {}}, {"split": 3}]
)
def test_a_file_that_is_no_whole_report_is_refused_by_name(scenes, codes, tmp_path, change):
    parts = by_fraction(scenes, 0.25).parts(scenes)
    report = evaluate_parts(codes[parts.query], codes[parts.gallery()], scenes, parts, direction="text_to_image")
    (tmp_path / "report.json").write_text(json.dumps(report.to_json() | change))
    with pytest.raises(DataError, match="report.json"):
        SavedScores.load(tmp_path / "report.json")
