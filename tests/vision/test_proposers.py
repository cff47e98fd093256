import sys

import numpy as np
import pytest
from PIL import Image

from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.registry import PROPOSERS
from deepbinaries.vision.proposers import Proposer, make_proposer
from deepbinaries.vision.proposers.faster_rcnn import in_shares
from deepbinaries.vision.proposers.from_file import write_proposals
from deepbinaries.vision.regions import Proposals

PICTURE = Image.new("RGB", (32, 24))
DOG = Proposals(np.array([[0, 0, 0.5, 0.5], [0.25, 0, 1, 1]], np.float32), np.array([0.5, 0.25], np.float32))
NOTHING = Proposals(np.empty((0, 4), np.float32), np.empty(0, np.float32))
CAT = Proposals(np.array([[0.5, 0.5, 1, 1]], np.float32), np.array([1], np.float32))


def test_a_misspelt_proposer_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match="no proposer is called 'yolo'; did you mean 'yolox'?"):
        make_proposer("yolo")


@pytest.mark.parametrize("name", ["yolox", "faster-rcnn", "file"])
def test_a_proposer_that_works_by_a_file_asks_for_it(name):
    with pytest.raises(UsageError, match=f"{name}.* was given no file"):
        make_proposer(name)


def test_a_proposer_that_needs_no_file_refuses_one(tmp_path):
    with pytest.raises(UsageError, match="'grid' works without a file"):
        make_proposer("grid", tmp_path / "weights.onnx")


def test_a_users_own_proposer_is_made_by_its_path():
    assert make_proposer("deepbinaries.vision.proposers.grid:Grid").name == "grid"


def test_every_proposer_says_in_the_list_whether_it_needs_a_file():
    assert [name for name, entry in PROPOSERS.entries.items() if not entry.summary.endswith(" file")] == []


@pytest.mark.parametrize("path", [None, "weights.safetensors"])
def test_faster_rcnn_without_torchvision_says_what_to_install(monkeypatch, tmp_path, path):
    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(Error, match="torchvision" if path else "no file"):
        make_proposer("faster-rcnn", path and tmp_path / path)


def test_boxes_in_pixels_become_shares_inside_the_picture():
    proposals = in_shares(np.array([[-4, 0, 100, 60]], np.float32), np.array([0.75], np.float32), (200, 50))
    assert proposals.boxes.tolist() == [[0, 0, 0.5, 1]]
    assert proposals.confidence.tolist() == [0.75]


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "proposals.npz"
    write_proposals({"dog.jpg": DOG, "sky.jpg": NOTHING, "cat.jpg": CAT}, path)
    return path


@pytest.mark.parametrize(("id_", "proposals"), [("dog.jpg", DOG), ("sky.jpg", NOTHING), ("cat.jpg", CAT)])
def test_what_was_written_is_found_by_the_pictures_id(stored, id_, proposals):
    found = make_proposer("file", stored).propose(PICTURE, id=id_)
    assert found.boxes.tolist() == proposals.boxes.tolist()
    assert found.confidence.tolist() == proposals.confidence.tolist()


def test_a_file_of_no_pictures_can_be_written_and_read(tmp_path):
    write_proposals({}, tmp_path / "empty.npz")
    assert isinstance(make_proposer("file", tmp_path / "empty.npz"), Proposer)


def test_two_files_have_two_digests(stored, tmp_path):
    write_proposals({"cat.jpg": CAT}, tmp_path / "other.npz")
    assert make_proposer("file", stored).digest != make_proposer("file", tmp_path / "other.npz").digest


def test_a_picture_that_is_not_in_the_file_is_named(stored):
    with pytest.raises(DataError, match="proposals.npz holds nothing for 'cow.jpg'"):
        make_proposer("file", stored).propose(PICTURE, id="cow.jpg")


def test_boxes_from_a_file_cannot_be_found_without_an_id(stored):
    with pytest.raises(UsageError, match="by the picture's id"):
        make_proposer("file", stored).propose(PICTURE)


WHOLE = {
    "ids": np.array(["a", "b"]),
    "offsets": np.array([0, 1, 2]),
    "boxes": np.zeros((2, 4), np.float32),
    "confidence": np.zeros(2, np.float32),
}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"offsets": np.array([0, 1])}, "do not divide"),
        ({"offsets": np.array([0, 1, 3])}, "do not divide"),
        ({"offsets": np.array([1, 1, 2])}, "do not divide"),
        ({"offsets": np.array([0, 5, 2])}, "do not divide"),
        ({"offsets": np.array([], dtype=np.int64), "ids": np.array([], dtype="U1")}, "do not divide"),
        ({"offsets": np.array([0.0, 1.0, 2.0])}, "'offsets' .* holds float64"),
        ({"ids": np.array(["a", "a"])}, "do not divide"),
        ({"ids": np.array([1, 2])}, "'ids' .* holds int64"),
        ({"ids": np.array(["a", None], dtype=object)}, "'ids' .* cannot be read"),
        ({"boxes": np.zeros((2, 3), np.float32)}, "hostile.npz: boxes of shape"),
        ({"boxes": np.zeros(8, np.float32)}, "'boxes' .* of shape"),
        ({"boxes": np.full((2, 4), np.inf)}, "hostile.npz: a proposed box is not finite"),
        ({"confidence": np.full(2, 7.0)}, "hostile.npz: a confidence is not between 0 and 1"),
    ],
)
def test_a_file_that_does_not_hold_what_it_should_is_refused_by_name(tmp_path, change, problem):
    path = tmp_path / "hostile.npz"
    np.savez(path, **{**WHOLE, **change})
    with pytest.raises(DataError, match=problem):
        make_proposer("file", path)


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_without_one_of_its_arrays_is_refused(tmp_path, name):
    path = tmp_path / "half.npz"
    np.savez(path, **{key: array for key, array in WHOLE.items() if key != name})
    with pytest.raises(DataError, match=f"half.npz has no array '{name}'"):
        make_proposer("file", path)


def test_a_file_that_is_no_npz_is_refused(tmp_path):
    (tmp_path / "notes.npz").write_text("boxes: none")
    with pytest.raises(DataError, match="notes.npz cannot be read"):
        make_proposer("file", tmp_path / "notes.npz")


def test_an_absent_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="gone.npz does not exist"):
        make_proposer("file", tmp_path / "gone.npz")
