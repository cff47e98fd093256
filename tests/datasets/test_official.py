import json

import pytest

from deepbinaries.datasets.base import Skips
from deepbinaries.datasets.official import most_frequent, names_in, read_item, read_json, read_text
from deepbinaries.errors import DataError


def test_only_the_wanted_keys_of_json_objects_are_kept_at_every_depth(tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"images": [{"id": 1, "segmentation": [[1.5]]}], "info": {"year": 2014}}))
    assert read_json(file, keep={"images", "id"}) == {"images": [{"id": 1}]}


def test_json_of_absurd_size_is_refused_before_it_is_read(tmp_path, monkeypatch):
    file = tmp_path / "a.json"
    file.write_text('{"images": []}')
    monkeypatch.setattr("deepbinaries.datasets.official.MAX_JSON_BYTES", 3)
    with pytest.raises(DataError, match=r"a\.json has 14 bytes, more than any official file"):
        read_json(file, keep=())


@pytest.mark.parametrize("read", [lambda path: read_json(path, keep=()), read_text])
def test_a_folder_in_the_place_of_a_file_is_refused_by_name(tmp_path, read):
    (tmp_path / "a.json").mkdir()
    with pytest.raises(DataError, match=r"a\.json cannot be read"):
        read(tmp_path / "a.json")


def test_a_file_in_the_place_of_a_folder_is_refused_by_name(tmp_path):
    (tmp_path / "images").write_text("")
    with pytest.raises(DataError, match="images cannot be read"):
        names_in(tmp_path / "images")


def test_an_items_text_that_cannot_be_read_counts_as_empty(tmp_path):
    skips = Skips(strict=False)
    assert read_item(tmp_path / "none.eng", "utf-8", skips=skips) == ""
    assert skips.counts == {"text file that cannot be read": 1}


def test_all_labels_that_occur_are_kept_for_zero():
    assert most_frequent([{"b"}, {"a", "b"}], ["a", "b", "c"], 0) == ["a", "b"]
