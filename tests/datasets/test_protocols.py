import json
from dataclasses import replace

import pytest

from deepbinaries.datasets.base import Record, Records, Skips
from deepbinaries.datasets.protocols import PROTOCOLS, make_split
from deepbinaries.datasets.splits import PARTS, Split
from deepbinaries.errors import DataError, SplitError, UsageError


def dataset(sources, *, name="coco", labels=("cat",), sentences=("one", "two", "three")):
    """`sources`: source to number of items; every item carries the labels."""
    records = [
        Record(f"{source}-{n}", None, sentences, labels, source)
        for source, count in sources.items()
        for n in range(count)
    ]
    return Records(name, records, skips=Skips(strict=False))


@pytest.fixture
def coco():
    """40 labelled training and 20 labelled validation images of 2014."""
    return dataset({"train2014": 40, "val2014": 20})


@pytest.fixture
def webqueries():
    """Three concepts with 12, 5 and 4 items."""
    records = [
        Record(f"{concept}-{n}", None, ("text",), (concept,), "")
        for concept, count in (("drum", 12), ("flute", 5), ("tower", 4))
        for n in range(count)
    ]
    return Records("inria-web-queries", records, skips=Skips(strict=False))


def sizes(split):
    return {part: len(getattr(split, part)) for part in PARTS}


def sources(ids):
    return {id_.partition("-")[0] for id_ in ids}


TINY = {
    "coco-tvdb": {"query": 6, "train": 20, "extra": 6},
    "coco-modern": {"query": 6, "train": 20},
    "iapr-tvdb": {"candidates": 50, "query": 6, "train": 20},
}


def test_coco_in_the_paper_searches_training_images_with_validation_images(coco):
    split = make_split("coco-tvdb", coco, **TINY["coco-tvdb"])
    assert sizes(split) == {"query": 6, "database": 40, "train": 20, "validation": 2}
    assert sources(split.query) == {"val2014"}
    assert sources(split.database) == {"train2014"}


def test_coco_in_the_paper_notes_what_it_found(coco):
    split = make_split("coco-tvdb", coco, **TINY["coco-tvdb"])
    assert split.note == "40 labelled training images, 6 of 20 validation images"


def test_validation_images_that_do_not_ask_are_searched(coco):
    split = make_split("coco-tvdb", coco, query=4, train=20, extra=6)
    assert sizes(split) == {"query": 4, "database": 42, "train": 20, "validation": 2}
    assert sources(split.train) == {"train2014"}


def test_queries_may_come_from_all_candidates(coco):
    split = make_split("coco-tvdb", coco, query=30, train=10, extra=6, query_source="any")
    assert sources(split.query) == {"train2014", "val2014"}
    assert sizes(split) == {"query": 30, "database": 16, "train": 10, "validation": 1}


def test_the_karpathy_file_also_says_which_images_were_validation_images():
    split = make_split("coco-tvdb", dataset({"train": 9, "restval": 2, "val": 1, "test": 1}), query=4, train=5, extra=4)
    assert sources(split.query) == {"restval", "val", "test"}


@pytest.mark.parametrize("name", ["coco-tvdb", "coco-karpathy"])
def test_the_files_of_2017_cannot_give_a_split_of_2014(name):
    with pytest.raises(SplitError, match="release='karpathy'"):
        make_split(name, dataset({"train2017": 9, "val2017": 9}))


def test_a_dataset_that_knows_no_sources_cannot_give_a_split_of_2014(coco):
    class Plain:
        name, ids, labels = "mine", coco.ids, coco.labels

    with pytest.raises(SplitError, match="'mine' does not say which of its images were training"):
        make_split("coco-tvdb", Plain())


def test_the_karpathy_split_searches_train_and_restval_with_test():
    split = make_split("coco-karpathy", dataset({"train": 20, "restval": 10, "val": 7, "test": 5}))
    assert sizes(split) == {"query": 5, "database": 30, "train": 30, "validation": 3}
    assert (sources(split.query), sources(split.train)) == ({"test"}, {"train", "restval"})
    assert split.note == "5 labelled test images, 30 of train and restval"


def test_later_papers_draw_from_all_labelled_images(coco):
    split = make_split("coco-modern", coco, query=6, train=20)
    assert sizes(split) == {"query": 6, "database": 54, "train": 20, "validation": 2}
    assert split.note == "60 labelled images"


def test_iapr_takes_at_most_so_many_candidates(coco):
    split = make_split("iapr-tvdb", coco, candidates=50, query=6, train=20)
    assert sizes(split) == {"query": 6, "database": 44, "train": 20, "validation": 2}
    assert split.note == "50 of 60 items with one of 1 labels"


def test_iapr_takes_all_when_there_are_fewer(coco):
    split = make_split("iapr-tvdb", coco, query=6, train=20)
    assert len(split.database) == 54
    assert split.note == "60 of 60 items with one of 1 labels"


def test_web_queries_draw_the_same_number_of_each_concept_and_learn_from_the_rest(webqueries):
    split = make_split("webqueries-tvdb", webqueries, query=3)
    assert sizes(split) == {"query": 9, "database": 12, "train": 12, "validation": 1}
    assert [sum(id_.startswith(concept) for id_ in split.query) for concept in ("drum", "flute", "tower")] == [3, 3, 3]
    assert split.note == "21 items of 3 concepts"


def test_web_queries_can_leave_items_for_a_clean_gallery(webqueries):
    parts = make_split("webqueries-tvdb", webqueries, query=3, train=8).parts(webqueries)
    assert len(parts.gallery("clean")) == 4


def test_a_concept_with_too_few_items_is_named_with_the_numbers(webqueries):
    with pytest.raises(SplitError, match="5 items are asked for as query of 'tower', but only 4"):
        make_split("webqueries-tvdb", webqueries, query=5)


def test_web_queries_refuse_items_with_two_labels():
    with pytest.raises(SplitError, match="has two labels"):
        make_split("webqueries-tvdb", dataset({"0": 30}, labels=("a", "b")))


@pytest.mark.parametrize("name", TINY)
def test_no_query_is_searched_or_learnt_from(coco, name):
    split = make_split(name, coco, **TINY[name])
    assert not set(split.query) & {*split.database, *split.train}
    assert set(split.validation) <= set(split.train) <= set(split.database)


@pytest.mark.parametrize("name", TINY)
def test_a_seed_gives_one_split_whatever_the_order_of_the_items(coco, name):
    reversed_coco = Records("coco", coco.records[::-1], skips=Skips(strict=False))
    assert make_split(name, coco, seed=3, **TINY[name]) == make_split(name, reversed_coco, seed=3, **TINY[name])


@pytest.mark.parametrize("name", TINY)
def test_another_seed_gives_another_split(coco, name):
    assert make_split(name, coco, seed=0, **TINY[name]).query != make_split(name, coco, seed=1, **TINY[name]).query


@pytest.mark.parametrize("name", TINY)
def test_the_sizes_of_the_paper_are_refused_with_numbers_when_there_are_too_few_items(coco, name):
    with pytest.raises(SplitError, match=r"(5,000|2,200) items are asked for as \w+, but only \d+ can be drawn from"):
        make_split(name, coco)


@pytest.mark.parametrize("name", TINY)
def test_items_without_a_label_take_no_part(coco, name):
    unlabelled = [replace(record, labels=()) for record in coco.records[:5]]
    mixed = Records("coco", [*unlabelled, *coco.records[5:]], skips=Skips(strict=False))
    split = make_split(name, mixed, **TINY[name])
    assert not {record.id for record in unlabelled} & {*split.query, *split.database}


def test_the_size_of_validation_can_be_set(coco):
    assert len(make_split("coco-modern", coco, query=6, train=20, validation=7).validation) == 7


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_split_says_how_it_came_about(name, coco, webqueries):
    karpathy = dataset({"train": 9, "test": 3})
    found = {"coco-karpathy": karpathy, "webqueries-tvdb": webqueries}.get(name, coco)
    settings = {"coco-karpathy": {}, "webqueries-tvdb": {"query": 2}}.get(name) or TINY.get(name, {})
    split = make_split(name, found, seed=5, **settings)
    assert (split.protocol, split.seed, split.dataset) == (name, 5, found.name)


def test_the_first_sentence_stands_for_an_item_unless_one_is_drawn(coco):
    assert make_split("coco-modern", coco, query=6, train=20).sentence_of == {}


def test_sentences_drawn_by_a_seed_are_stored_for_every_item(coco):
    split = make_split("coco-modern", coco, query=6, train=20, sentence="random")
    assert split.sentence_of.keys() == {*split.query, *split.database}
    assert set(split.sentence_of.values()) == {0, 1, 2}


def test_the_drawn_sentences_depend_on_the_seed_alone(coco):
    drawn = [make_split("fraction:0.5", coco, seed=seed, sentence="random").sentence_of for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_an_item_with_one_sentence_needs_no_draw():
    single = dataset({"a": 10}, sentences=("only",))
    assert make_split("fraction:0.5", single, sentence="random").sentence_of == {}


def test_without_a_name_and_a_file_a_tenth_asks(coco):
    split = make_split("", coco)
    assert (len(split.query), split.protocol) == (6, "fraction:0.1")


def test_a_fraction_can_be_named(coco):
    assert len(make_split("fraction:0.5", coco).query) == 30


@pytest.mark.parametrize("name", ["fraction:", "fraction:half", "fraction:0", "fraction:1", "fraction:nan"])
def test_a_fraction_that_makes_no_sense_is_refused(coco, name):
    with pytest.raises(UsageError):
        make_split(name, coco)


@pytest.fixture
def folder(tmp_path, coco):
    make_split("coco-modern", coco, query=6, train=20).save(tmp_path / "split.json")
    return tmp_path


@pytest.mark.parametrize("name", ["", "file", "published"])
def test_the_split_beside_the_dataset_is_taken(coco, folder, name):
    assert make_split(name, coco, root=folder) == Split.load(folder / "split.json")


def test_the_published_split_of_iapr22_is_taken_from_beside_it(coco, real_data):
    split = make_split("", coco, root=real_data / "iapr22")
    assert sizes(split) == {"query": 2200, "database": 15499, "train": 5000, "validation": 500}


def test_a_split_file_can_be_given_by_its_path(coco, folder):
    assert len(make_split(str(folder / "split.json"), coco).query) == 6


@pytest.mark.parametrize("name", ["", "published"])
def test_the_split_a_dataset_carries_wins_over_a_file(coco, folder, name):
    coco.split = make_split("fraction:0.5", coco)
    assert make_split(name, coco, root=folder) == coco.split


@pytest.mark.parametrize("name", ["file", "published"])
def test_a_published_split_that_is_not_there_is_an_error(coco, name):
    with pytest.raises(SplitError, match="no published split of 'coco' is at hand"):
        make_split(name, coco)


def test_a_split_file_that_does_not_exist_is_named(coco, tmp_path):
    with pytest.raises(DataError, match=r"split\.json does not exist"):
        make_split("file", coco, root=tmp_path)


def test_a_changed_split_file_is_noticed(coco, folder):
    content = json.loads((folder / "split.json").read_text())
    content["query"] = content["query"][1:]
    (folder / "split.json").write_text(json.dumps(content))
    with pytest.raises(SplitError, match="digest"):
        make_split("", coco, root=folder)


def test_an_unknown_name_is_answered_with_the_known_ones(coco):
    with pytest.raises(UsageError, match=r"did you mean 'coco-tvdb'\? Known: .*webqueries-tvdb"):
        make_split("coco-tvbd", coco)


def test_an_unknown_setting_is_answered_with_the_known_ones(coco):
    with pytest.raises(UsageError, match="Known: query, train, validation"):
        make_split("coco-modern", coco, queries=3)


def test_a_split_that_is_no_protocol_has_no_sizes(coco):
    with pytest.raises(UsageError, match="the split 'fraction:0.1' has no setting 'train'"):
        make_split("fraction:0.1", coco, train=3)
