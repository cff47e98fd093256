import json

import numpy as np
import pytest

from deepbinaries.datasets.label_files import read_labels
from deepbinaries.errors import DataError


def test_a_matrix_a_list_and_lines_of_text_say_the_same(tmp_path):
    np.save(tmp_path / "labels.npy", np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]]))
    (tmp_path / "labels.json").write_text(json.dumps([["0", "2"], [], "1"]))
    (tmp_path / "labels.txt").write_text("0, 2\n\n1\n")
    for name in ("labels.npy", "labels.json", "labels.txt"):
        (labels,) = read_labels(tmp_path / name)
        assert labels.sets() == [(0, 2), (), (1,)]


def test_class_numbers_are_one_label_each(tmp_path):
    np.save(tmp_path / "classes.npy", np.array([10.0, 9.0, 10.0]))
    (labels,) = read_labels(tmp_path / "classes.npy")
    assert [labels.of(row) for row in range(3)] == [("10",), ("9",), ("10",)]


def test_two_files_share_one_list_of_names(tmp_path):
    (tmp_path / "queries.txt").write_text("dog\n")
    (tmp_path / "gallery.txt").write_text("cat\ndog,cat\n")
    queries, gallery = read_labels(tmp_path / "queries.txt", tmp_path / "gallery.txt")
    assert queries.names == gallery.names == ("cat", "dog")
    assert (queries.sets(), gallery.sets()) == ([(1,)], [(0,), (0, 1)])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels.json", b"[["),
        ("labels.json", b'{"a": 1}'),
        ("labels.json", b'[{"a": 1}]'),
        ("labels.txt", b"\xff\xfe\x00"),
        ("labels.npy", b"\x93NUMPY"),
        ("labels.csv", b"a,b"),
    ],
)
def test_what_holds_no_labels_is_refused_by_name(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=name):
        read_labels(tmp_path / name)


def test_a_missing_file_is_one_clear_line(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_labels(tmp_path / "none.txt")
