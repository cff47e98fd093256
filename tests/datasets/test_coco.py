import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.datasets import check_dataset, load
from deepbinaries.errors import DataError, UsageError

CATEGORIES = [
    {"supercategory": "food", "id": 56, "name": "broccoli"},
    {"supercategory": "kitchen", "id": 51, "name": "bowl"},
    {"supercategory": "indoor", "id": 90, "name": "toothbrush"},
]


class Root:
    """A folder with COCO's layout, written split by split."""

    def __init__(self, path):
        self.path = path
        (path / "annotations").mkdir()

    def write(self, name, content):
        (self.path / "annotations" / name).write_text(json.dumps(content), encoding="utf-8")

    def split(self, name, *, images, captions, instances, pictures=None):
        """`images`: numbers; `captions`: (number, annotation id, text); `instances`: (number, category id)."""
        prefix = f"COCO_{name}_" if name.endswith("2014") else ""
        listed = [{"id": n, "file_name": f"{prefix}{n:012d}.jpg", "width": 8, "height": 6} for n in images]
        texts = [{"image_id": n, "id": id_, "caption": text} for n, id_, text in captions]
        objects = [
            {"id": k, "image_id": n, "category_id": category, "bbox": [0, 0, 1, 1], "segmentation": [[0.5] * 6]}
            for k, (n, category) in enumerate(instances)
        ]
        self.write(f"captions_{name}.json", {"info": {}, "images": listed, "annotations": texts})
        self.write(f"instances_{name}.json", {"images": listed, "annotations": objects, "categories": CATEGORIES})
        (self.path / name).mkdir()
        for n in images if pictures is None else pictures:
            (self.path / name / f"{prefix}{n:012d}.jpg").write_bytes(b"picture %d" % n)

    def edit(self, name, change):
        file = self.path / "annotations" / name
        content = json.loads(file.read_text())
        change(content)
        file.write_text(json.dumps(content))

    def load(self, **settings):
        return load("coco", self.path, **settings)


@pytest.fixture
def root(tmp_path):
    return Root(tmp_path)


@pytest.fixture
def kitchen(root):
    """Image 9 of train with two sentences and two categories, image 42 of val with one of each."""
    captions = [(9, 71, "Second."), (9, 70, " A bowl  with\nbroccoli. ")]
    root.split("train2014", images=[9], captions=captions, instances=[(9, 56), (9, 51), (9, 56)])
    root.split("val2014", images=[42], captions=[(42, 5, "A toothbrush.")], instances=[(42, 90)])
    return root


def test_categories_with_gaps_become_labels_in_the_order_of_their_ids(kitchen):
    assert kitchen.load().labels.names == ("bowl", "broccoli", "toothbrush")


def test_a_category_counts_once_for_an_image(kitchen):
    assert kitchen.load().labels.sets() == [(0, 1), (2,)]


def test_a_crowd_counts_as_a_label(kitchen):
    kitchen.edit("instances_val2014.json", lambda content: content["annotations"][0].update(iscrowd=1))
    assert kitchen.load().labels.of(1) == ("toothbrush",)


def test_sentences_are_sorted_by_annotation_and_lose_stray_white_space(kitchen):
    assert kitchen.load().sentences(0) == ("A bowl with broccoli.", "Second.")


def test_items_carry_their_number_their_split_and_their_picture(kitchen):
    coco = kitchen.load()
    assert coco.ids == ("coco:9", "coco:42")
    assert [record.source for record in coco.records] == ["train2014", "val2014"]
    assert coco.picture(1) == b"picture 42"
    check_dataset(coco)


def test_items_are_ordered_by_number_across_splits(root):
    root.split("train2014", images=[30, 4], captions=[(30, 1, "a"), (4, 2, "b")], instances=[(30, 51), (4, 51)])
    root.split("val2014", images=[7], captions=[(7, 1, "c")], instances=[(7, 51)])
    assert root.load().ids == ("coco:4", "coco:7", "coco:30")


def test_the_files_of_2017_are_found_by_themselves(root):
    for name, n in (("train2017", 9), ("val2017", 42)):
        root.split(name, images=[n], captions=[(n, 1, "A bowl.")], instances=[(n, 51)])
    coco = root.load()
    assert [record.source for record in coco.records] == ["train2017", "val2017"]
    assert coco.picture(0) == b"picture 9"


def test_pictures_of_the_other_release_serve_as_well(kitchen):
    for split, n in (("train", 9), ("val", 42)):
        old = kitchen.path / f"{split}2014" / f"COCO_{split}2014_{n:012d}.jpg"
        (kitchen.path / f"{split}2017").mkdir()
        old.rename(kitchen.path / f"{split}2017" / f"{n:012d}.jpg")
        old.parent.rmdir()
    assert kitchen.load().picture(1) == b"picture 42"


def test_pictures_may_lie_in_a_folder_called_images(kitchen):
    (kitchen.path / "images").mkdir()
    for name in ("train2014", "val2014"):
        (kitchen.path / name).rename(kitchen.path / "images" / name)
    assert kitchen.load().picture(0) == b"picture 9"


def test_one_split_can_be_read_alone(kitchen):
    (kitchen.path / "annotations" / "captions_train2014.json").unlink()
    assert kitchen.load(splits="val").ids == ("coco:42",)


def test_an_image_without_instances_is_left_out_and_counted(root):
    root.split("val2014", images=[1, 2], captions=[(1, 1, "a"), (2, 2, "b")], instances=[(1, 51)])
    coco = root.load(splits="val")
    assert coco.ids == ("coco:1",)
    assert coco.skips.counts == {"no label": 1}


def test_strict_reading_accepts_an_image_without_instances_since_the_official_files_have_them(root):
    root.split("val2014", images=[1, 2], captions=[(1, 1, "a"), (2, 2, "b")], instances=[(1, 51)])
    assert root.load(splits="val", strict=True).ids == ("coco:1",)


def damage(root, reason):
    """Split val2014 with image 1, which is whole, and one problem."""
    captions, instances, pictures = [(1, 1, "a"), (2, 2, "b")], [(1, 51), (2, 51)], [1, 2]
    if reason == "no caption":
        captions.pop()
    elif reason == "no picture file":
        pictures.pop()
    elif reason == "annotation of an image that is not listed":
        captions.append((3, 3, "c"))
    elif reason == "caption without words":
        captions.append((2, 3, " \n"))
    elif reason == "category that is not listed":
        instances.append((2, 12))
    root.split("val2014", images=[1, 2], captions=captions, instances=instances, pictures=pictures)


ITEM_PROBLEMS = {
    "no caption": 1,  # by how many items are left
    "no picture file": 1,
    "annotation of an image that is not listed": 2,
    "caption without words": 2,
    "category that is not listed": 2,
}


@pytest.mark.parametrize(("reason", "left"), ITEM_PROBLEMS.items())
def test_a_problem_of_one_item_is_counted(root, reason, left):
    damage(root, reason)
    coco = root.load(splits="val")
    assert len(coco) == left
    assert coco.skips.counts == {reason: 1}


@pytest.mark.parametrize("reason", ITEM_PROBLEMS)
def test_a_problem_of_one_item_is_an_error_when_strict(root, reason):
    damage(root, reason)
    with pytest.raises(DataError, match=reason):
        root.load(splits="val", strict=True)


@pytest.mark.parametrize("entry", [None, [], "x", {}, {"id": "1"}, {"id": True}, {"id": 1.5}])
def test_an_image_entry_of_the_wrong_kind_is_counted(kitchen, entry):
    kitchen.edit("captions_val2014.json", lambda content: content["images"].append(entry))
    assert kitchen.load().skips.counts == {"image without id": 1}


def test_an_image_listed_twice_is_counted(kitchen):
    kitchen.edit("captions_val2014.json", lambda content: content["images"].append(content["images"][0]))
    assert kitchen.load().skips.counts == {"image id given twice": 1}


def test_an_image_in_both_splits_is_taken_once_and_counted(root):
    for name in ("train2014", "val2014"):
        root.split(name, images=[7], captions=[(7, 1, "a")], instances=[(7, 51)])
    coco = root.load()
    assert [record.source for record in coco.records] == ["train2014"]
    assert coco.skips.counts == {"image in both splits": 1}


@pytest.mark.parametrize("category", [{"name": "cat"}, {"id": 1}, {"id": 1, "name": " "}, "cat"])
def test_a_category_without_id_or_name_is_refused(kitchen, category):
    kitchen.edit("instances_val2014.json", lambda content: content["categories"].append(category))
    with pytest.raises(DataError, match=r"instances_val2014\.json has a category without id or name"):
        kitchen.load()


def test_one_release_can_be_chosen_where_both_are_there(kitchen):
    for name, n in (("train2017", 9), ("val2017", 42)):
        kitchen.split(name, images=[n], captions=[(n, 1, "A bowl.")], instances=[(n, 51)])
    assert [kitchen.load(release=release).records[0].source for release in ("auto", "2017")] == [
        "train2014",
        "train2017",
    ]


@pytest.mark.parametrize("category", [None, [51], {"a": 1}, "51", True])
def test_an_instance_whose_category_is_no_number_is_counted(kitchen, category):
    kitchen.edit("instances_val2014.json", lambda content: content["annotations"][0].update(category_id=category))
    assert kitchen.load().skips.counts == {"category that is not listed": 1, "no label": 1}


def test_pictures_can_be_optional(kitchen):
    for name in ("train2014", "val2014"):
        for picture in (kitchen.path / name).iterdir():
            picture.unlink()
        (kitchen.path / name).rmdir()
    coco = kitchen.load(pictures="optional")
    assert len(coco) == 2
    with pytest.raises(DataError, match="knows no picture of coco:9"):
        coco.picture(0)


def test_missing_pictures_are_named_with_their_archives(kitchen):
    (kitchen.path / "val2014" / "COCO_val2014_000000000042.jpg").unlink()
    (kitchen.path / "val2014").rmdir()
    with pytest.raises(DataError, match=r"has no val2014/; download val2014\.zip of COCO .*cocodataset\.org"):
        kitchen.load()


def test_missing_annotations_are_named_with_their_archive(kitchen):
    (kitchen.path / "annotations" / "captions_val2014.json").unlink()
    with pytest.raises(
        DataError, match=r"has no annotations/captions_val2014\.json; download annotations_trainval2014"
    ):
        kitchen.load()


def test_an_empty_folder_is_answered_with_all_that_is_missing(tmp_path):
    with pytest.raises(DataError, match=r"instances_train2014\.json.*captions_val2014\.json"):
        load("coco", tmp_path)


def test_no_folder_at_all_is_answered_with_the_page(monkeypatch):
    monkeypatch.delenv("DEEPBINARIES_DATA", raising=False)
    with pytest.raises(UsageError, match=r"cocodataset\.org"):
        load("coco")


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(DataError, match="nowhere is no folder"):
        load("coco", tmp_path / "nowhere")


@pytest.mark.parametrize("kind", ["captions", "instances"])
def test_json_cut_in_the_middle_is_refused_by_name(kitchen, kind):
    file = kitchen.path / "annotations" / f"{kind}_val2014.json"
    content = file.read_text()
    file.write_text(content[: len(content) // 2])
    with pytest.raises(DataError, match=rf"{kind}_val2014\.json is not whole JSON"):
        kitchen.load()


@pytest.mark.parametrize("content", [b"\xff\xfe{}", b"[" * 200_000, b"", b"9" * 5000])
def test_what_is_no_json_is_refused_by_name(kitchen, content):
    (kitchen.path / "annotations" / "captions_val2014.json").write_bytes(content)
    with pytest.raises(DataError, match=r"captions_val2014\.json is not whole JSON"):
        kitchen.load()


def test_json_that_is_a_list_is_refused_by_name(kitchen):
    (kitchen.path / "annotations" / "captions_val2014.json").write_text("[]")
    with pytest.raises(DataError, match=r"captions_val2014\.json holds no JSON object"):
        kitchen.load()


@pytest.mark.parametrize("key", ["images", "annotations", "categories"])
def test_a_file_without_one_of_its_lists_is_refused(kitchen, key):
    kitchen.edit("instances_val2014.json", lambda content: content.pop(key))
    with pytest.raises(DataError, match=rf"instances_val2014\.json has no list '{key}'"):
        kitchen.load()


@pytest.mark.parametrize("name", ["../9.jpg", "/etc/passwd", "a/b.jpg", "..", "a\\b.jpg", "", None])
def test_a_file_name_that_leads_elsewhere_is_refused(kitchen, name):
    kitchen.edit("captions_val2014.json", lambda content: content["images"][0].update(file_name=name))
    with pytest.raises(DataError, match="is no plain file name"):
        kitchen.load()


def test_a_category_with_two_names_is_refused(kitchen):
    kitchen.edit("instances_val2014.json", lambda content: content["categories"][0].update(name="cabbage"))
    with pytest.raises(DataError, match="category 56 is called 'broccoli' in one file and 'cabbage' in the other"):
        kitchen.load()


def test_nothing_left_is_an_error_with_the_reasons(root):
    root.split("val2014", images=[1, 2], captions=[], instances=[(1, 51)])
    with pytest.raises(
        DataError, match=r"no item of coco can be used \((no caption: 1, no label: 1|no label: 1, .*)\)"
    ):
        root.load(splits="val")


def test_an_unknown_choice_is_answered_with_the_known_ones(kitchen):
    with pytest.raises(UsageError, match="Known: 2014, 2017, auto, karpathy"):
        kitchen.load(release="2015")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 60) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["id", "image_id", "category_id", "name", "file_name", "caption"]), inner)
    ),
    max_leaves=6,
)


@given(content=st.fixed_dictionaries({key: st.lists(ANYTHING, max_size=3) for key in ("images", "annotations")}))
def test_whatever_the_lists_hold_the_answer_is_a_dataset_or_one_clear_error(tmp_path_factory, content):
    root = Root(tmp_path_factory.mktemp("coco"))
    root.split("val2014", images=[1], captions=[(1, 1, "a")], instances=[(1, 51)])
    for name in ("captions_val2014.json", "instances_val2014.json"):
        root.edit(name, lambda whole: [whole[key].extend(content[key]) for key in content])
    try:
        outcome = " ".join(root.load(splits="val").ids)
    except DataError as error:
        outcome = error.problem
    assert "coco:1" in outcome or "is no plain file name" in outcome


@pytest.fixture
def karpathy(kitchen):
    """The Karpathy file over the kitchen: image 9 is train, image 42 is restval."""

    def image(number, split, folder, texts):
        sentences = [{"raw": text, "sentid": id_, "imgid": 0, "tokens": []} for id_, text in texts]
        filename = f"COCO_{folder}_{number:012d}.jpg"
        return {"cocoid": number, "split": split, "filepath": folder, "filename": filename, "sentences": sentences}

    images = [
        image(42, "restval", "val2014", [(8, "A brush,  really.")]),
        image(9, "train", "train2014", [(71, "Later."), (70, "Sooner.")]),
    ]
    (kitchen.path / "dataset_coco.json").write_text(json.dumps({"dataset": "coco", "images": images}))
    return kitchen


def edit_karpathy(root, change):
    file = root.path / "dataset_coco.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def test_the_karpathy_file_gives_sentences_and_splits_and_joins_labels_by_number(karpathy):
    coco = karpathy.load(release="karpathy")
    assert coco.ids == ("coco:9", "coco:42")
    assert [record.source for record in coco.records] == ["train", "restval"]
    assert [coco.sentences(row) for row in (0, 1)] == [("Sooner.", "Later."), ("A brush, really.",)]
    assert [coco.labels.of(row) for row in (0, 1)] == [("bowl", "broccoli"), ("toothbrush",)]
    assert coco.picture(1) == b"picture 42"


def test_the_karpathy_file_can_be_read_for_one_split_of_2014(karpathy):
    assert karpathy.load(release="karpathy", splits="val").ids == ("coco:42",)


def test_the_karpathy_file_of_another_collection_is_refused(karpathy):
    edit_karpathy(karpathy, lambda content: content.update(dataset="flickr30k"))
    with pytest.raises(DataError, match=r"dataset_coco\.json is about 'flickr30k'"):
        karpathy.load(release="karpathy")


def test_a_missing_karpathy_file_is_named_with_its_archive(kitchen):
    with pytest.raises(DataError, match=r"has no dataset_coco\.json; download caption_datasets\.zip"):
        kitchen.load(release="karpathy")


def test_the_karpathy_file_needs_the_official_instances(karpathy):
    (karpathy.path / "annotations" / "instances_val2014.json").unlink()
    with pytest.raises(DataError, match=r"has no annotations/instances_val2014\.json"):
        karpathy.load(release="karpathy")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"cocoid": "42"}, "image without cocoid"),
        ({"split": "holdout"}, "split that is not train, restval, val or test"),
        ({"cocoid": 9}, "image given twice"),
        ({"sentences": None}, "no caption"),
    ],
)
def test_a_damaged_entry_of_the_karpathy_file_is_counted(karpathy, change, reason):
    edit_karpathy(karpathy, lambda content: content["images"][0].update(change))
    assert karpathy.load(release="karpathy").skips.counts == {reason: 1}


@pytest.mark.parametrize("sentence", [None, {"raw": " ", "sentid": 1}, {"raw": "a"}, {"raw": 5, "sentid": 1}])
def test_a_damaged_sentence_of_the_karpathy_file_is_counted(karpathy, sentence):
    edit_karpathy(karpathy, lambda content: content["images"][0]["sentences"].append(sentence))
    assert karpathy.load(release="karpathy").skips.counts == {"caption without words": 1}


def test_a_karpathy_file_name_that_leads_elsewhere_is_refused(karpathy):
    edit_karpathy(karpathy, lambda content: content["images"][0].update(filename="../../x.jpg"))
    with pytest.raises(DataError, match="is no plain file name"):
        karpathy.load(release="karpathy")
