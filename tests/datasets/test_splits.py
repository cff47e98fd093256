import json

import numpy as np
import pytest

from deepbinaries.datasets import Record, Records, Split
from deepbinaries.datasets.base import Skips
from deepbinaries.datasets.splits import by_fraction, draw, ids_digest
from deepbinaries.errors import DataError, SplitError, UsageError


def animals(labels: dict[str, list[str]]) -> Records:
    records = [Record(id_, None, (f"a {id_}",), tuple(names)) for id_, names in labels.items()]
    return Records("animals", records, skips=Skips(strict=True))


@pytest.fixture
def dataset():
    return animals({"a": ["cat"], "b": ["dog"], "c": ["cat", "person"], "d": ["person"], "e": ["dog"]})


@pytest.fixture
def split():
    return Split("animals", query=("a", "d"), database=("b", "c", "e"), train=("c", "e"), validation=("e",))


def test_a_query_in_the_database_is_refused_by_name():
    with pytest.raises(SplitError, match=r"1 ids in both query and database \(first: b\)"):
        Split("animals", query=("a", "b"), database=("b", "c"))


def test_an_explicit_flag_leaves_the_queries_in():
    split = Split("animals", query=("a", "b"), database=("b", "c"), queries_in_gallery=True)
    assert split.queries_in_gallery


def test_training_on_a_query_is_refused_whatever_the_flag():
    with pytest.raises(SplitError, match="trains on 1 of its queries"):
        Split("animals", query=("a",), database=("a", "b"), train=("a",), queries_in_gallery=True)


def test_training_items_must_be_in_the_database():
    with pytest.raises(SplitError, match=r"1 train ids of animals are not in database \(first: z\)"):
        Split("animals", query=("a",), database=("b",), train=("z",))


def test_validation_items_must_be_training_items():
    with pytest.raises(SplitError, match="validation ids of animals are not in train"):
        Split("animals", query=("a",), database=("b", "c"), train=("b",), validation=("c",))


def test_an_id_listed_twice_is_refused():
    with pytest.raises(SplitError, match="repeats"):
        Split("animals", query=("a", "a"), database=("b",))


def test_the_clean_gallery_leaves_training_items_out(dataset, split):
    parts = split.parts(dataset)
    assert parts.gallery("database").tolist() == [1, 2, 4]
    assert parts.gallery("clean").tolist() == [1]


def test_the_literal_gallery_holds_the_queries_too(dataset, split):
    assert split.parts(dataset).gallery("with-queries").tolist() == [0, 1, 2, 3, 4]


def test_queries_left_in_the_database_are_searched_only_when_asked_for(dataset):
    parts = Split("animals", query=("a",), database=("a", "b", "c"), train=("b",), queries_in_gallery=True).parts(
        dataset
    )
    assert parts.gallery("database").tolist() == [1, 2]
    assert parts.gallery("clean").tolist() == [2]
    assert parts.gallery("with-queries").tolist() == [0, 1, 2]


def test_galleries_are_in_row_order_whatever_the_order_of_ids(dataset):
    parts = Split("animals", query=("a",), database=("e", "b", "d")).parts(dataset)
    assert parts.gallery("database").tolist() == [1, 3, 4]


def test_an_unknown_gallery_is_refused(dataset, split):
    with pytest.raises(UsageError, match="did you mean 'clean'"):
        split.parts(dataset).gallery("claen")


def test_an_ignored_label_drops_the_items_it_leaves_bare(dataset, split):
    parts = split.parts(dataset, ignore_labels=["person"])
    assert parts.query.tolist() == [0]
    assert parts.dropped == {"query": 1, "database": 0, "train": 0, "validation": 0}
    assert parts.labels.of(2) == ("cat",)


def test_chance_is_counted_over_queries_and_gallery(dataset, split):
    # a (cat) and d (person) against b (dog), c (cat, person), e (dog): two of six pairs share a label.
    assert split.parts(dataset).chance() == pytest.approx(2 / 6)


def test_queries_without_anything_relevant_are_found(dataset):
    split = Split("animals", query=("a", "b"), database=("d", "e"))
    assert split.parts(dataset).queries_without_positives().tolist() == [0]


def test_a_split_of_another_dataset_is_refused_with_an_example(dataset):
    split = Split("vehicles", query=("a",), database=("b", "bus", "car"))
    with pytest.raises(SplitError, match=r"2 of 3 database ids .*'vehicles' are not in 'animals' \(first: bus\)"):
        split.parts(dataset)


def test_a_split_of_other_items_under_the_same_ids_is_refused():
    first, second = (animals({"a": ["cat"], "b": ["cat"]}) for _ in range(2))
    second.records[0] = Record("a", None, ("another sentence",), ("cat",))
    split = by_fraction(first, 0.5)
    split.parts(first)
    with pytest.raises(SplitError, match="made for other items"):
        split.parts(second)


def test_a_split_serves_the_same_items_under_other_labels():
    first, second = animals({"a": ["cat"], "b": ["cat"]}), animals({"a": ["dog"], "b": ["dog"]})
    assert len(by_fraction(first, 0.5).parts(second).query) == 1


def test_items_without_any_label_are_dropped_and_counted():
    dataset = animals({"a": ["cat"], "b": [], "c": ["cat"]})
    parts = Split("animals", query=("a",), database=("b", "c")).parts(dataset)
    assert (parts.database.tolist(), parts.dropped["database"]) == ([2], 1)


def test_a_dataset_without_labels_keeps_all_its_items():
    dataset = animals({"a": [], "b": []})
    assert Split("animals", query=("a",), database=("b",)).parts(dataset).query.tolist() == [0]


def test_a_split_survives_its_file(split, tmp_path):
    split.save(tmp_path / "split.json")
    assert Split.load(tmp_path / "split.json").digests() == split.digests()
    assert Split.load(tmp_path / "split.json").train == split.train


def test_a_changed_list_no_longer_fits_its_digest(split, tmp_path):
    split.save(tmp_path / "split.json")
    content = json.loads((tmp_path / "split.json").read_text())
    content["query"] = ["a", "x"]
    (tmp_path / "split.json").write_text(json.dumps(content))
    with pytest.raises(SplitError, match="the query list of .*split.json is not the one"):
        Split.load(tmp_path / "split.json")


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "{}",
        '{"query": "a", "database": []}',
        '{"query": [1], "database": []}',
        '{"query": [], "database": [], "digests": []}',
        '{"query": [], "database": [], "sentence_of": {"a": "x"}}',
        '{"query": [], "database": [], "version": 99}',
    ],
)
def test_a_broken_file_is_refused_by_name(tmp_path, content):
    (tmp_path / "split.json").write_text(content)
    with pytest.raises(DataError, match="split.json"):
        Split.load(tmp_path / "split.json")


def test_the_stored_sentence_stands_for_an_item():
    records = [Record("a", None, ("one", "two")), Record("b", None, ("three",))]
    dataset = Records("numbers", records, skips=Skips(strict=True))
    split = Split("numbers", query=("a",), database=("b",), sentence_of={"a": 1})
    assert [split.sentence(dataset, row) for row in (0, 1)] == ["two", "three"]


def test_an_item_without_the_wanted_sentence_is_named():
    dataset = Records("numbers", [Record("a", None), Record("b", None, ("one",))], skips=Skips(strict=True))
    split = Split("numbers", query=("a",), database=("b",))
    with pytest.raises(SplitError, match="a has 0 sentences"):
        split.sentence(dataset, 0)


def test_a_draw_does_not_depend_on_the_order_of_ids_or_on_other_items():
    ids = [f"item-{i}" for i in range(100)]
    drawn = draw(ids, 10, seed=3, purpose="query")
    assert drawn == draw(ids[::-1], 10, seed=3, purpose="query")
    assert drawn != draw(ids, 10, seed=4, purpose="query")
    assert drawn != draw(ids, 10, seed=3, purpose="train")


def test_a_draw_is_the_same_in_every_release():
    assert draw("abcdefgh", 3, seed=0, purpose="query") == ["a", "e", "f"]


def test_a_draw_of_too_many_says_how_many_there_are():
    with pytest.raises(SplitError, match="5 items are asked for as query, but only 2"):
        draw(["a", "b"], 5, seed=0, purpose="query")


@pytest.mark.parametrize("fraction", [0, 1, 1.5, -0.1])
def test_a_fraction_that_leaves_a_side_empty_is_refused(dataset, fraction):
    with pytest.raises(UsageError, match="leaves a side empty"):
        by_fraction(dataset, fraction)


def test_a_fraction_covers_every_item_once(dataset):
    split = by_fraction(dataset, 0.4)
    assert sorted(split.query + split.database) == list(dataset.ids)


def test_the_published_digest_is_of_the_sorted_ids():
    assert ids_digest(["b", "a"]) == ids_digest(np.array(["a", "b"]).tolist())
    assert ids_digest(["a"]) == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


@pytest.mark.parametrize("name", ["coco18", "iapr22"])
def test_the_published_splits_fit_their_digests(real_data, name):
    split = Split.load(real_data / name / "split.json")
    assert split.dataset == name
