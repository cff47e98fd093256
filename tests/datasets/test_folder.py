"""Folders of pictures: what is read, what is left out and why, and what is refused."""

import io
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from deepbinaries.datasets import check_dataset, folder
from deepbinaries.datasets.folder.listing import natural_key
from deepbinaries.errors import DataError, UsageError
from deepbinaries.vision import read_picture


def png():
    file = io.BytesIO()
    Image.new("RGB", (2, 1), "red").save(file, "PNG")
    return file.getvalue()


class Album:
    """A folder that a test fills."""

    def __init__(self, root):
        self.root = root

    def put(self, *names):
        for name in names:
            self.write(name, png())

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def rows(self, *rows, into="metadata.jsonl"):
        self.write(into, "".join(json.dumps(row) + "\n" for row in rows))

    def load(self, *, strict=False):
        return folder.load(self.root, strict=strict)


@pytest.fixture
def album(tmp_path):
    (tmp_path / "album").mkdir()
    return Album(tmp_path / "album")


def test_a_plain_folder_of_photographs_is_a_dataset(album):
    album.put("b.JPG", "2019/a.png")
    records = album.load(strict=True)
    check_dataset(records)
    assert (records.name, records.ids, records.sentences(0), records.labels.of(0)) == (
        "album",
        ("2019/a.png", "b.JPG"),
        (),
        (),
    )


def test_a_picture_is_given_as_it_is_stored(album):
    album.put("a.png")
    assert read_picture(album.load().picture(0)).size == (2, 1)


def test_an_empty_folder_is_an_empty_dataset(album):
    assert album.load(strict=True).ids == ()


@pytest.mark.parametrize("suffix", ["jpg", "jpeg", "png", "webp", "avif", "gif", "bmp", "tif", "tiff", "heic", "HEIF"])
def test_every_picture_suffix_is_found(album, suffix):
    album.put(f"a.{suffix}")
    assert album.load().ids == (f"a.{suffix}",)


def test_other_files_and_hidden_ones_are_passed_over(album):
    album.put("a.png", ".b.png", ".thumbnails/c.png", "notes.pdf", "video.mp4", "png")
    assert album.load(strict=True).ids == ("a.png",)


def test_rows_are_in_natural_order(album):
    album.put("b10.png", "b2.png", "a.png", "b2/1.png")
    assert album.load().ids == ("a.png", "b2.png", "b2/1.png", "b10.png")


@given(st.text("ab019./", max_size=6), st.text("ab019./", max_size=6))
def test_two_paths_never_tie_in_natural_order(one, other):
    assert (natural_key(one) == natural_key(other)) == (one == other)


def test_a_text_of_the_same_name_holds_captions_one_a_line(album):
    album.put("beach.jpg")
    album.write("beach.txt", "\ufefftwo dogs\n\n  on a beach \r\n")
    assert album.load(strict=True).sentences(0) == ("two dogs", "on a beach")


def test_a_text_without_a_picture_is_passed_over(album):
    album.write("readme.txt", b"\xff")
    assert album.load(strict=True).ids == ()


def test_a_blank_text_leaves_the_picture_without_a_caption_and_is_counted(album):
    album.put("a.png")
    album.write("a.txt", " \n")
    records = album.load()
    assert records.sentences(0) == ()
    assert records.skips.counts == {"a caption is blank": 1}


def test_a_text_that_is_not_utf_8_leaves_its_picture_out(album):
    album.put("a.png", "b.png")
    album.write("a.txt", b"caf\xe9")
    records = album.load()
    assert records.ids == ("b.png",)
    assert records.skips.first == {"its text is not valid UTF-8": "a.png"}


def test_an_enormous_text_leaves_its_picture_out(album):
    album.put("a.png")
    album.write("a.txt", "é" * 2**19 + "!")
    assert album.load().skips.counts == {"its text has more than 1,048,576 bytes": 1}


@pytest.mark.parametrize(
    ("columns", "sentences", "labels"),
    [
        ({"captions": ["one", "two"], "labels": ["dog", "cat"]}, ("one", "two"), ("cat", "dog")),
        ({"caption": "one", "text": "ignored", "label": "dog"}, ("one",), ("dog",)),
        ({"text": "one", "labels": [1, 0]}, ("one",), ("0", "1")),
        ({"captions": None, "text": "one", "labels": None}, ("one",), ()),
        ({}, (), ()),
    ],
)
def test_columns_of_a_row_become_sentences_and_labels(album, columns, sentences, labels):
    album.put("a.png")
    album.rows({"file_name": "a.png", **columns})
    records = album.load(strict=True)
    assert (records.sentences(0), records.labels.of(0)) == (sentences, labels)


def test_blank_lines_between_rows_are_allowed(album):
    album.put("a.png")
    album.write("metadata.jsonl", '\n{"file_name": "a.png", "text": "one"}\n  \n')
    assert album.load(strict=True).sentences(0) == ("one",)


def test_csv_rows_are_read_like_json_rows(album):
    album.put("a.png", "b.png")
    album.write(
        "metadata.csv", 'file_name,captions,labels\na.png,"[""one, two"", ""three""]","[""dog""]"\n\nb.png,four,cat\n'
    )
    records = album.load(strict=True)
    assert [records.sentences(row) for row in (0, 1)] == [("one, two", "three"), ("four",)]
    assert [records.labels.of(row) for row in (0, 1)] == [("dog",), ("cat",)]


def test_an_empty_cell_says_nothing(album):
    album.put("a.png")
    album.write("metadata.csv", "file_name,caption,label\na.png,,\n")
    records = album.load(strict=True)
    assert (records.sentences(0), records.labels.of(0)) == ((), ())


def test_a_file_name_is_relative_to_its_metadata_file(album):
    album.put("train/x/1.png", "test/1.png")
    album.rows({"file_name": "./x/1.png", "text": "one"}, into="train/metadata.jsonl")
    album.rows({"file_name": "1.png", "text": "two"}, into="test/metadata.jsonl")
    records = album.load(strict=True)
    assert records.ids == ("test/1.png", "train/x/1.png")
    assert [records.sentences(row) for row in (0, 1)] == [("two",), ("one",)]


def test_a_row_may_state_its_own_id(album):
    album.put("a.png", "b.png")
    album.rows({"file_name": "a.png", "id": "coco:9"}, {"file_name": "b.png", "id": 7})
    assert album.load(strict=True).ids == ("coco:9", "7")


def test_a_picture_that_its_metadata_does_not_name_is_left_out_and_counted(album):
    album.put("a.png", "x/b.png")
    album.write("x/b.txt", "not looked at")
    album.rows({"file_name": "a.png"})
    records = album.load()
    assert records.ids == ("a.png",)
    assert records.skips.first == {"its metadata has no row for it": "x/b.png"}


def test_metadata_does_not_speak_for_folders_beside_it(album):
    album.put("train/a.png", "other/b.png")
    album.rows({"file_name": "a.png"}, into="train/metadata.jsonl")
    assert album.load(strict=True).ids == ("other/b.png", "train/a.png")


def test_a_row_for_an_absent_picture_is_counted(album):
    album.put("a.png")
    album.rows({"file_name": "a.png"}, {"file_name": "gone.png"})
    assert album.load().skips.counts == {"a row names a picture that is not there": 1}


def test_a_row_for_an_absent_picture_is_refused_when_strict(album):
    album.rows({"file_name": "gone.png"})
    with pytest.raises(DataError, match=r"metadata\.jsonl line 1, gone\.png: a row names a picture that is not there"):
        album.load(strict=True)


def test_a_picture_that_cannot_be_read_is_counted_once_though_a_row_names_it(album):
    (album.root / "a.png").symlink_to("nowhere.png")
    album.rows({"file_name": "a.png"})
    assert album.load().skips.counts.total() == 1


def test_a_blank_caption_is_left_out_and_the_others_stay(album):
    album.put("a.png")
    album.rows({"file_name": "a.png", "captions": ["one", " \t", "two"]})
    records = album.load()
    assert records.sentences(0) == ("one", "two")
    assert records.skips.counts == {"a caption is blank": 1}


def test_numbers_become_the_names_in_dataset_json(album):
    album.put("a.png", "b.png")
    album.write("dataset.json", '{"label_names": ["zebra", "ant", "bee"]}')
    album.rows({"file_name": "a.png", "labels": [1]}, {"file_name": "b.png", "labels": ["zebra"]})
    records = album.load(strict=True)
    assert records.labels.names == ("zebra", "ant", "bee")
    assert records.labels.sets() == [(1,), (0,)]


def test_numbers_in_csv_become_the_names_in_dataset_json(album):
    album.put("a.png")
    album.write("dataset.json", '{"label_names": ["zebra", "ant"]}')
    album.write("metadata.csv", "file_name,label\na.png,1\n")
    assert album.load(strict=True).labels.of(0) == ("ant",)


def test_numbers_without_names_are_ordered_by_size(album):
    album.put("a.png")
    album.rows({"file_name": "a.png", "labels": [10, 2, 0]})
    assert album.load(strict=True).labels.names == ("0", "2", "10")


def test_a_number_is_a_place_in_the_list_though_a_name_looks_like_it(album):
    album.put("a.png", "b.png")
    album.write("dataset.json", '{"label_names": ["1", "2"]}')
    album.rows({"file_name": "a.png", "label": 1}, {"file_name": "b.png", "label": "1"})
    assert album.load(strict=True).labels.sets() == [(1,), (0,)]


def test_names_without_a_list_are_sorted(album):
    album.put("a.png")
    album.rows({"file_name": "a.png", "labels": ["b", "a", "10"]})
    assert album.load(strict=True).labels.names == ("10", "a", "b")


@pytest.mark.parametrize("label", ["bear", 2, -1, "2"])
def test_a_label_outside_the_list_leaves_the_item_out(album, label):
    album.put("a.png")
    album.write("dataset.json", '{"label_names": ["zebra", "ant"]}')
    album.rows({"file_name": "a.png", "label": label})
    records = album.load()
    assert records.ids == ()
    assert records.skips.counts == {"a label is not one of the list of labels": 1}


@pytest.mark.parametrize(
    "columns",
    [
        {"captions": 3},
        {"captions": ["one", 2]},
        {"text": {"en": "one"}},
        {"text": "\ud800"},
        {"labels": [True]},
        {"labels": [1.0]},
        {"labels": [["dog"]]},
        {"label": " "},
        {"label": "\ud800"},
        {"label": -1},
        {"id": ""},
        {"id": "two\nlines"},
        {"id": ["a"]},
        {"id": True},
    ],
)
def test_a_row_with_a_wrong_value_leaves_its_picture_out(album, columns):
    album.put("a.png", "b.png")
    album.rows({"file_name": "a.png", **columns}, {"file_name": "b.png"})
    records = album.load()
    assert records.ids == ("b.png",)
    assert records.skips.counts.total() == 1
    with pytest.raises(DataError, match=r"metadata\.jsonl line 1"):
        album.load(strict=True)


@pytest.mark.parametrize("row", [{}, {"file_name": ""}, {"file_name": 3}])
def test_a_row_without_a_file_name_is_counted(album, row):
    album.rows(row)
    assert album.load().skips.counts == {"a row has no file_name": 1}


@pytest.mark.parametrize("cells", ["a.png", "a.png,one,two"])
def test_a_csv_row_of_another_width_is_counted(album, cells):
    album.write("metadata.csv", f"file_name,caption\n{cells}\n")
    assert album.load().skips.counts == {"a row has more or fewer cells than the header": 1}


@pytest.mark.parametrize("name", ["../secret.png", "/etc/secret.png", "x/../../secret.png", ".."])
@pytest.mark.parametrize("metadata", ["metadata.jsonl", "metadata.csv"])
def test_a_path_that_leaves_the_folder_is_refused(album, name, metadata):
    album.put("a.png")
    album.write(metadata, f"file_name\n{name}\n" if metadata.endswith("csv") else json.dumps({"file_name": name}))
    with pytest.raises(DataError, match="a path that can leave the folder"):
        album.load()


@pytest.mark.parametrize("name", ["a\0.png", "a" * 5000, ".", "x//.//y.png"])
def test_a_strange_file_name_is_only_an_absent_picture(album, name):
    album.rows({"file_name": name})
    assert album.load().skips.counts == {"a row names a picture that is not there": 1}


def test_two_rows_for_one_picture_are_refused_with_both_places(album):
    album.put("x/a.png")
    album.rows({"file_name": "x/a.png"})
    album.rows({"file_name": "a.png"}, into="x/metadata.jsonl")
    with pytest.raises(DataError, match=r"line 1 names x/a\.png, which .*line 1 names already"):
        album.load()


def test_two_items_of_one_id_are_refused(album):
    album.put("a.png", "b.png")
    album.rows({"file_name": "a.png", "id": "b.png"}, {"file_name": "b.png"})
    with pytest.raises(DataError, match=r"ids more than once \(first: b\.png\)"):
        album.load()


@pytest.mark.parametrize("line", ['{"file_name": "a.p', "[1, 2]", "null", '{"n": ' + "9" * 5000 + "}", "[" * 100_000])
def test_a_line_that_is_no_json_object_is_refused_by_file_and_number(album, line):
    album.put("a.png")
    album.write("metadata.jsonl", '{"file_name": "a.png"}\n' + line)
    with pytest.raises(DataError, match=r"metadata\.jsonl line 2 is not a JSON object"):
        album.load()


@pytest.mark.parametrize("metadata", ["metadata.jsonl", "metadata.csv"])
def test_metadata_that_is_not_utf_8_is_refused_by_file_and_number(album, metadata):
    first = "file_name" if metadata.endswith("csv") else '{"file_name": "a.png"}'
    album.write(metadata, first.encode() + b"\n\xff\n")
    with pytest.raises(DataError, match="line 2 is not valid UTF-8"):
        album.load()


def test_an_endless_line_is_refused(album):
    album.write("metadata.jsonl", b" " * (4 * 2**20 + 1))
    with pytest.raises(DataError, match="line 1 has more than"):
        album.load()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,caption\n", "line 1 lacks the column file_name"),
        ("", "line 1 lacks the column file_name"),
        ("file_name,text,text\n", "has a column twice"),
        ('file_name,caption\na.png,"never closed\n', "line 2 is not CSV"),
        ("file_name,labels\na.png,[1\n", "line 2: labels is not a JSON list"),
        (f"file_name,caption\na.png,{'x' * 200_000}\n", "line 2 is not CSV"),
    ],
)
def test_a_malformed_csv_file_is_refused(album, content, message):
    album.write("metadata.csv", content)
    with pytest.raises(DataError, match=message):
        album.load()


def test_two_kinds_of_metadata_in_one_folder_are_refused(album):
    album.rows({"file_name": "a.png"})
    album.write("metadata.csv", "file_name\n")
    with pytest.raises(DataError, match="keep one of them"):
        album.load()


@pytest.mark.parametrize(
    "content", ["{", "[]", b"\xff", '{"label_names": "ab"}', '{"label_names": ["a", "a"]}', '{"label_names": [1]}']
)
def test_a_malformed_dataset_json_is_refused_by_name(album, content):
    album.write("dataset.json", content)
    with pytest.raises(DataError, match=r"dataset\.json"):
        album.load()


def test_a_link_inside_the_folder_is_a_picture_like_any_other(album):
    album.put("a.png")
    (album.root / "b.png").symlink_to("a.png")
    assert album.load(strict=True).ids == ("a.png", "b.png")


@pytest.mark.parametrize("name", ["a.png", "a.txt", "pictures"])
def test_a_link_that_leaves_the_folder_is_left_out(album, tmp_path, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.png").write_bytes(png())
    (album.root / name).symlink_to(outside if name == "pictures" else outside / "secret.png")
    records = album.load()
    assert records.ids == ()
    assert records.skips.first == {"a link leaves the folder": name}


def test_a_link_to_a_folder_inside_is_not_followed(album):
    album.put("x/a.png")
    (album.root / "x" / "again").symlink_to(album.root)
    records = album.load()
    assert records.ids == ("x/a.png",)
    assert records.skips.counts == {"a link to a folder is not followed": 1}


@pytest.mark.parametrize("target", ["a.png", "nothing.png"])
def test_a_link_that_leads_nowhere_is_counted(album, target):
    (album.root / "a.png").symlink_to(target)
    assert album.load().skips.counts == {"a link leads nowhere": 1}


def test_metadata_through_a_link_that_leaves_the_folder_is_refused(album, tmp_path):
    (tmp_path / "elsewhere.jsonl").write_text("{}")
    (album.root / "metadata.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    with pytest.raises(DataError, match="a link leaves the folder"):
        album.load()


@pytest.mark.parametrize("name", ["a.png", "a.txt"])
def test_a_pipe_is_never_opened(album, name):
    os.mkfifo(album.root / name)
    assert album.load().skips.counts == {"not a regular file": 1}


def test_a_pipe_in_the_place_of_metadata_is_refused(album):
    os.mkfifo(album.root / "metadata.jsonl")
    with pytest.raises(DataError, match="not a regular file"):
        album.load()


def test_a_folder_with_a_picture_suffix_is_a_folder(album):
    album.put("a.png/b.png", "c.heic/d.png", "metadata.csv/e.png")
    assert album.load(strict=True).ids == ("a.png/b.png", "c.heic/d.png", "metadata.csv/e.png")


@pytest.mark.parametrize("name", [b"\xff.png", b"two\nlines.png", b"\xff/a.png"])
def test_a_name_that_cannot_be_an_id_is_counted(album, name):
    path = os.path.join(os.fsencode(album.root), name)  # noqa: PTH118  (pathlib has no bytes)
    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
    with open(path, "wb"):  # noqa: PTH123
        pass
    assert album.load().skips.counts == {"a name is not valid UTF-8 or holds a line break": 1}


def test_a_folder_that_may_not_be_read_is_counted(album, monkeypatch):
    album.put("open/a.png", "closed/b.png")
    scan = os.scandir

    def guarded(path):
        if path.name == "closed":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", guarded)
    records = album.load()
    assert records.ids == ("open/a.png",)
    assert records.skips.first == {"a folder cannot be read": "closed/"}


def test_a_file_in_the_place_of_the_folder_is_refused(album):
    album.put("a.png")
    with pytest.raises(DataError, match="is not a folder; give the folder"):
        folder.load(album.root / "a.png")


def test_no_folder_is_refused():
    with pytest.raises(UsageError, match="no folder was given"):
        folder.load(None)
