import os
from pathlib import Path

import pytest

from deepbinaries.datasets import Labels, Record, Records, check_dataset, digest, load
from deepbinaries.datasets.base import PictureFile, Skips
from deepbinaries.datasets.export import export
from deepbinaries.errors import DataError, PictureError, UsageError


def records(*items: Record, name: str = "things") -> Records:
    return Records(name, items, skips=Skips(strict=True))


class Broken:
    """A dataset of two items in which single promises can be broken."""

    def __init__(self, **promises):
        self.name = promises.get("name", "broken")
        self.ids = promises.get("ids", ("a", "b"))
        self.labels = promises.get("labels", Labels.from_names([[], []]))
        self._sentences = promises.get("sentences", lambda _: ("a thing",))

    def sentences(self, row):
        return self._sentences(row)

    def picture(self, row):
        raise PictureError(f"row {row} has no picture", next_step="none")


def test_a_dataset_that_keeps_the_contract_passes():
    check_dataset(Broken())


def changing():
    numbers = iter(range(100))
    return lambda _: (f"thing {next(numbers)}",)


@pytest.mark.parametrize(
    ("promise", "complaint"),
    [
        ({"name": ""}, "name is empty"),
        ({"ids": ("a", "a")}, "ids repeat"),
        ({"ids": ("a", "")}, "an id is empty"),
        ({"ids": ("a", "b\nc")}, "line break"),
        ({"labels": Labels.from_names([[]])}, "labels has 1 rows for 2 ids"),
        ({"sentences": lambda _: "one text"}, "return a sequence of texts"),
        ({"sentences": changing()}, "changes between two looks"),
    ],
)
def test_each_broken_promise_is_named(promise, complaint):
    with pytest.raises(DataError, match=complaint):
        check_dataset(Broken(**promise))


def test_ids_that_repeat_are_refused_by_name():
    with pytest.raises(DataError, match=r"1 ids more than once \(first: a\)"):
        records(Record("a", None), Record("a", None))


def test_the_digest_follows_sentences_and_labels_but_not_the_name():
    same = digest(records(Record("a", None, ("x",), ("cat",)), name="one"))
    assert digest(records(Record("a", None, ("x",), ("cat",)), name="two")) == same
    assert digest(records(Record("a", None, ("y",), ("cat",)))) != same
    assert digest(records(Record("a", None, ("x",), ("dog",)))) != same


def test_skips_are_counted_by_reason_with_the_first_place():
    skips = Skips(strict=False)
    for line in (3, 8):
        skips.add("no caption", f"captions.json, line {line}")
    assert dict(skips.counts) == {"no caption": 2}
    assert skips.first == {"no caption": "captions.json, line 3"}


def test_a_strict_reader_refuses_the_first_skip():
    with pytest.raises(DataError, match="line 3: no caption"):
        Skips(strict=True).add("no caption", "line 3")


def test_a_missing_picture_file_is_one_clear_line():
    with pytest.raises(PictureError, match="nowhere.jpg cannot be read"):
        PictureFile(Path("nowhere.jpg")).read()


def test_a_record_without_a_picture_says_so():
    with pytest.raises(PictureError, match="knows no picture of a"):
        records(Record("a", None)).picture(0)


def test_a_stamp_changes_with_the_file_and_not_with_its_place(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(b"first")
    os.utime(path, ns=(0, 1_000))
    dataset = records(Record("a", PictureFile(path)), Record("b", PictureFile(path.rename(tmp_path / "b.jpg"))))
    assert (dataset.picture_stamp(0), dataset.picture_stamp(1)) == ("absent", "5 1000")
    os.utime(tmp_path / "b.jpg", ns=(0, 1_001))
    assert dataset.picture_stamp(1) == "5 1001"


def test_a_picture_that_cannot_tell_has_no_stamp():
    assert records(Record("a", None)).picture_stamp(0) == ""


def test_an_unknown_setting_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match="no setting of the dataset 'scenes' is called 'itmes'; did you mean 'items'?"):
        load("scenes", itmes=5)


def tiny(root, *, size=1):
    return records(*(Record(str(i), None) for i in range(size)), name=f"from {root}")


def test_a_users_own_reader_is_called_with_root_and_settings(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    assert len(load("test_base:tiny", "here", size=3).ids) == 3


def test_a_dataset_can_be_given_the_name_that_results_call_it_by(tmp_path):
    export(load("scenes", items=2), tmp_path / "out", form="webdataset", progress="quiet")
    assert load("webdataset", tmp_path / "out", name="holiday").name == "holiday"


def test_the_environment_says_where_named_datasets_lie(monkeypatch, tmp_path):
    (tmp_path / "coco18").mkdir()
    monkeypatch.setenv("DEEPBINARIES_DATA", str(tmp_path))
    with pytest.raises(DataError, match="coco18"):
        load("coco18")
