import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image
from tiny_onnx import constant_network

from deepbinaries.datasets import load
from deepbinaries.datasets.base import Dataset
from deepbinaries.errors import DataError
from deepbinaries.vision import read_picture
from deepbinaries.vision.proposers import Proposer, make_proposer
from deepbinaries.vision.proposers.yolox import cells, decode, letterbox
from deepbinaries.vision.regions import choose_regions, overlaps, suppress

SIDE = 32  # 4 x 4 + 2 x 2 + 1 cells
RAW = np.random.default_rng(0).normal(size=(21, 7)).astype(np.float32)
RAW[:, 4] = np.linspace(0, 1, 21)


def decoded_slowly(answer, scaled_size):
    """The boxes cell by cell, as the network's page describes them."""
    boxes, confidence, row = [], [], 0
    width, height = scaled_size
    for stride in (8, 16, 32):
        for y in range(SIDE // stride):
            for x in range(SIDE // stride):
                cx, cy, w, h, objectness = answer[row, :5].tolist()
                row += 1
                if objectness >= 0.01:
                    cx, cy = (cx + x) * stride, (cy + y) * stride
                    w, h = math.exp(w) * stride, math.exp(h) * stride
                    box = (cx - w / 2) / width, (cy - h / 2) / height, (cx + w / 2) / width, (cy + h / 2) / height
                    boxes.append([min(max(share, 0), 1) for share in box])
                    confidence.append(objectness)
    return boxes, confidence


def test_boxes_are_decoded_as_cell_by_cell():
    proposals = decode(RAW, cells(SIDE), (32, 20))
    boxes, confidence = decoded_slowly(RAW, (32, 20))
    assert len(boxes) == 20  # the first cell is surely empty
    assert_allclose(proposals.boxes, boxes, atol=1e-6)
    assert_allclose(proposals.confidence, confidence, atol=1e-6)


def test_a_size_beyond_all_reason_is_the_whole_picture():
    answer = np.zeros((21, 7), dtype=np.float32)
    answer[20] = [0.5, 0.5, 1000, 1000, 0.9, 0, 0]
    assert decode(answer, cells(SIDE), (32, 32)).boxes.tolist() == [[0, 0, 1, 1]]


def test_a_wide_picture_lies_at_the_top_left_on_grey_in_blue_green_red():
    image, size = letterbox(Image.new("RGB", (64, 32), (10, 20, 30)), SIDE)
    assert (image.shape, image.dtype, size) == ((1, 3, 32, 32), np.float32, (32, 16))
    assert image[0, :, 0, 0].tolist() == image[0, :, 15, 31].tolist() == [30, 20, 10]
    assert (image[0, :, 16:] == 114).all()


def test_a_picture_of_one_line_still_has_a_line_in_the_square():
    assert letterbox(Image.new("RGB", (1000, 1)), SIDE)[1] == (32, 1)


@pytest.fixture
def network(tmp_path):
    path = tmp_path / "tiny.onnx"
    path.write_bytes(constant_network((1, 3, SIDE, SIDE), RAW[None]))
    return path


def test_the_network_is_asked_and_its_answer_decoded(network):
    proposals = make_proposer("yolox", network).propose(Image.new("RGB", (320, 200)), None)
    assert_allclose(proposals.boxes, decode(RAW, cells(SIDE), (32, 20)).boxes)


def test_it_names_itself_and_the_digest_of_its_weights(network):
    yolox = make_proposer("yolox", str(network))
    assert isinstance(yolox, Proposer)
    assert (yolox.name, len(yolox.digest)) == ("yolox", 64)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it is no whole ONNX file"),
        (b"\x08\x08 certainly not", "it is no whole ONNX file"),
        (constant_network((1, 3, 32, 64), RAW[None]), "its input is"),
        (constant_network((4, 3, 32, 32), RAW[None]), "its input is"),
        (constant_network((1, 3, 64, 64), RAW[None]), "its output is"),
        (constant_network((1, 3, 32, 32), RAW[None, :, :4]), "its output is"),
        (constant_network((1, 3, 32, 32), RAW), "its output is"),
    ],
)
def test_another_file_is_refused_by_name(tmp_path, content, problem):
    path = tmp_path / "other.onnx"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"other.onnx is no YOLOX network \\({problem}"):
        make_proposer("yolox", path)


def test_an_absent_file_is_refused_by_name(tmp_path):
    with pytest.raises(DataError, match="gone.onnx does not exist"):
        make_proposer("yolox", tmp_path / "gone.onnx")


@pytest.fixture(scope="module")
def detector(real_data) -> Proposer:
    weights = real_data.parent / "weights" / "yolox_nano_416.onnx"
    if not weights.is_file():
        pytest.skip("the detector's weights are not there")
    return make_proposer("yolox", weights)


@pytest.fixture(scope="module")
def photographs(real_data) -> Dataset:
    return load("coco18", root=real_data / "coco18")


def test_on_photographs_boxes_lie_inside_and_are_neither_few_nor_many(detector, photographs):
    n_distinct = []
    for row in range(0, 25_000, 1_000):
        proposals = detector.propose(read_picture(photographs.picture(row)))
        assert proposals.boxes.min() >= 0
        assert proposals.boxes.max() <= 1
        assert (proposals.boxes[:, :2] <= proposals.boxes[:, 2:]).all()
        visible = (proposals.boxes[:, :2] < proposals.boxes[:, 2:]).all(axis=1)
        n_distinct.append(len(suppress(proposals.boxes[visible], proposals.confidence[visible])))
    assert 10 < np.median(n_distinct) < 100


@pytest.mark.parametrize(
    ("id_", "animal"),
    [
        ("02637", (0.30, 0.37, 0.72, 0.73)),  # a dog on a lawn
        ("00895", (0.64, 0.30, 0.95, 0.80)),  # a cat beside four suitcases
        ("01753", (0.04, 0.25, 0.62, 1.00)),  # the face of a cat
    ],
)
def test_a_large_animal_is_among_the_first_three_regions(detector, photographs, id_, animal):
    picture = read_picture(photographs.picture(photographs.ids.index(id_)))
    regions = choose_regions(detector.propose(picture), picture.size, proposer=detector.name)
    assert overlaps(regions.boxes[:3], np.array([animal], dtype=np.float32)).max() > 0.8
