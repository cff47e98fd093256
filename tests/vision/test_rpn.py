"""Region proposals read off a map, with heads of a few weights."""

import math

import numpy as np
import pytest
import safetensors.numpy
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from PIL import Image
from test_encoder import MeanColours, VectorsOnly
from torch.nn import functional

from deepbinaries.errors import DataError, UsageError
from deepbinaries.vision import encoder as encoder_module
from deepbinaries.vision.backbones import WeightsCard
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings
from deepbinaries.vision.proposers import MapProposer, make_proposer, rpn
from deepbinaries.vision.proposers.rpn import Rpn, answer, decode
from tiny_rpn import ANCHORS, head_file, tensors

MAPS = np.random.default_rng(1).random((2, 3, 4, 5)).astype(np.float32)  # two pictures, 4 rows, 5 columns


def answered_by_torch(arrays, maps):
    """The same head by torch's convolutions: (n, h, w, a, 5)."""
    weights = {name: torch.from_numpy(array.astype(np.float32)) for name, array in arrays.items()}
    x = functional.conv2d(maps, weights["narrow"][:, :, None, None], weights["narrow_bias"][:, 0]).relu()
    around = weights["around"].permute(2, 3, 0, 1)
    x = functional.conv2d(x, around, weights["around_bias"][:, 0], padding=1).relu()
    y = functional.conv2d(x, weights["answer"][:, :, None, None], weights["answer_bias"][:, 0])
    n, _, h, w = y.shape
    return y.view(n, 2, 5, h, w).permute(0, 3, 4, 1, 2)


def decoded_slowly(answers):
    """Boxes and objectness, cell by cell and anchor by anchor."""
    boxes, objectness = [], []
    h, w = answers.shape[:2]
    for row in range(h):
        for column in range(w):
            for (width, height), (sure, dx, dy, dw, dh) in zip(
                ANCHORS.tolist(), answers[row, column].tolist(), strict=True
            ):
                x, y = (column + 0.5) / w + dx * width, (row + 0.5) / h + dy * height
                half_width, half_height = width * math.exp(min(dw, 4)) / 2, height * math.exp(min(dh, 4)) / 2
                box = x - half_width, y - half_height, x + half_width, y + half_height
                boxes.append([min(max(share, 0), 1) for share in box])
                objectness.append(1 / (1 + math.exp(-sure)))
    return boxes, objectness


@pytest.fixture
def head():
    return Rpn(head_file(), "tiny")


def test_the_head_in_numpy_is_the_head_in_torch(head):
    assert_allclose(answer(head.head, MAPS), answered_by_torch(tensors(), torch.from_numpy(MAPS)), atol=1e-4)


@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last])
def test_maps_may_be_tensors_in_any_order_of_their_axes(head, order):
    maps = torch.from_numpy(MAPS).to(memory_format=order)
    assert_allclose(answer(head.head, maps), answer(head.head, MAPS), atol=1e-5)


def test_maps_of_half_precision_give_answers_in_full(head):
    answers = answer(head.head, torch.from_numpy(MAPS).half())
    assert answers.dtype == np.float32
    assert_allclose(answers, answer(head.head, MAPS), atol=0.1)


def test_boxes_are_decoded_as_cell_by_cell(head):
    answers = answer(head.head, MAPS)[0]
    boxes, objectness = decoded_slowly(answers)
    found, confidence = decode(answers, head.head.anchors)
    assert_allclose(found, boxes, atol=1e-4)
    assert_allclose(confidence, objectness, atol=1e-5)


def test_an_anchor_of_which_nothing_is_said_stands_in_the_middle_of_its_cell():
    boxes, confidence = decode(np.zeros((1, 2, 1, 5), np.float32), np.array([[0.5, 0.5]], np.float32))
    assert boxes.tolist() == [[0, 0.25, 0.5, 0.75], [0.5, 0.25, 1, 0.75]]
    assert confidence.tolist() == [0.5, 0.5]


@given(st.integers(0, 1000), st.floats(0.01, 100), st.integers(1, 6), st.integers(1, 6))
def test_boxes_lie_inside_the_picture_whatever_the_map_says(seed, strength, h, w):
    maps = np.random.default_rng(seed).normal(size=(1, 3, h, w)).astype(np.float32) * np.float32(strength)
    (proposals,) = Rpn(head_file(), "tiny").propose_on(maps)
    assert len(proposals.boxes) == 2 * h * w
    assert proposals.boxes.min() >= 0
    assert proposals.boxes.max() <= 1
    assert (proposals.boxes[:, :2] <= proposals.boxes[:, 2:]).all()


def test_only_the_most_confident_are_proposed(head, monkeypatch):
    everything = head.propose_on(MAPS)[0].confidence
    monkeypatch.setattr(rpn, "PROPOSED", 3)
    assert head.propose_on(MAPS)[0].confidence.tolist() == sorted(everything.tolist(), reverse=True)[:3]


def test_a_picture_does_not_change_with_its_batch(head):
    alone = head.propose_on(MAPS[1:])[0]
    assert_allclose(head.propose_on(MAPS)[1].boxes, alone.boxes, atol=1e-6)


def test_it_names_itself_and_the_digest_of_its_weights(head):
    assert isinstance(head, MapProposer)
    assert (head.name, len(head.digest)) == ("rpn", 64)


def changed(**changes):
    return head_file(tensors() | changes)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it is no whole safetensors file"),
        (head_file()[:-20], "it is no whole safetensors file"),
        (b"\xff" * 100, "it is no whole safetensors file"),
        (safetensors.numpy.save(tensors()), "it does not say that it is a deepbinaries-rpn"),
        (safetensors.numpy.save(tensors(), metadata={"rpn": "{"}), "it is no whole safetensors file"),
        (safetensors.numpy.save(tensors(), metadata={"rpn": "[]"}), "it does not say that it is a deepbinaries-rpn"),
        (head_file(version=2), "it is of version 2, this release reads 1"),
        (head_file(licence=None), "it does not state 'licence'"),
        (head_file(backbone_sha256=7), "it does not state 'backbone_sha256'"),
        (head_file({"anchors": ANCHORS}), "it holds anchors"),
        (changed(more=ANCHORS), "it holds anchors"),
        (changed(around=np.zeros((4, 4, 3, 3), np.float16)), r"around is \(4, 4, 3, 3\)"),
        (changed(narrow=np.zeros((4, 0), np.float16)), r"narrow is \(4, 0\)"),
        (changed(narrow=np.array(1, np.float16)), r"narrow is \(\)"),
        (changed(anchors=ANCHORS[:1]), r"answer is \(10, 4\)"),
        (changed(anchors=ANCHORS[:0]), r"answer is \(10, 4\)"),
        (changed(anchors=-ANCHORS), "its anchors are no sizes"),
        (changed(answer_bias=np.full((10, 1), np.inf, np.float16)), "answer_bias is not finite"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_in_one_line(tmp_path, content, problem):
    path = tmp_path / "other.safetensors"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"other.safetensors is no head of the proposer 'rpn' .{problem}") as caught:
        make_proposer("rpn", path, MeanColours())
    assert "\n" not in str(caught.value)


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "head.safetensors"
    path.write_bytes(head_file())
    return path


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A package in which a head for the backbone of these tests lies, and no other."""
    home = tmp_path / "package"
    home.mkdir()
    (home / "rpn-mean-colours.safetensors").write_bytes(head_file())
    monkeypatch.setattr(rpn, "HOME", home)


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A package without heads."""
    monkeypatch.setattr(rpn, "HOME", tmp_path / "nothing")


class Others(MeanColours):
    """The same network with other weights."""

    card = WeightsCard("1" * 64, "none", "this file", "none")


class Exported(MeanColours):
    """The network in another file, which says what it was made of."""

    card = WeightsCard("2" * 64, "none", "this file", "none", made_of="0" * 64)


@pytest.mark.usefixtures("shipped")
def test_a_head_of_the_package_is_found_by_the_weights_of_the_backbone():
    assert make_proposer("rpn", None, MeanColours()).facts["licence"] == "CC0"


@pytest.mark.usefixtures("shipped")
def test_an_exported_backbone_is_read_by_the_head_of_what_it_was_made_of():
    assert make_proposer("rpn", None, Exported()).name == "rpn"


@pytest.mark.usefixtures("shipped")
def test_other_weights_have_no_head_in_the_package():
    with pytest.raises(UsageError, match="no head of the proposer 'rpn' for mean-colours with the weights 1{12}"):
        make_proposer("rpn", None, Others())


def test_a_head_is_refused_for_other_weights_than_it_was_made_for(stored):
    with pytest.raises(DataError, match="head.safetensors reads maps of mean-colours with the weights 0{12}"):
        make_proposer("rpn", stored, Others())


def test_vectors_cannot_be_read(stored):
    with pytest.raises(UsageError, match="reads maps, and mean-colours has only vectors; use the proposer grid"):
        make_proposer("rpn", stored, VectorsOnly())


def test_without_a_backbone_there_is_nothing_to_read(stored):
    with pytest.raises(UsageError, match="'rpn' reads maps, and no backbone was given"):
        make_proposer("rpn", stored)


@pytest.mark.parametrize(("backbone", "name"), [(MeanColours, "rpn"), (Others, "grid"), (VectorsOnly, "grid")])
@pytest.mark.usefixtures("shipped")
def test_auto_is_rpn_where_the_package_has_a_head_and_grid_elsewhere(backbone, name):
    assert make_proposer("auto", None, backbone()).name == name


@pytest.mark.usefixtures("bare")
def test_auto_takes_a_file_for_a_head(stored):
    assert make_proposer("auto", stored, MeanColours()).name == "rpn"
    assert make_proposer("auto", None, MeanColours()).name == "grid"


@pytest.fixture
def encoder(monkeypatch, shipped):  # noqa: ARG001
    def make(backbone=None, **settings):
        monkeypatch.setattr(encoder_module, "make_backbone", lambda *_, **__: backbone or MeanColours())
        return RegionEncoder(VisionSettings(**{"side": 128, "proposer": "rpn", **settings}))

    return make


PICTURES = [
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (64, 96, 3), np.uint8)).resize((300, 200))
    for seed in range(3)
]


@pytest.mark.parametrize("mode", ["roi", "crop"])
def test_the_encoder_looks_where_its_regions_say(encoder, mode):
    made = encoder(mode=mode)
    encoded = made.encode(PICTURES)
    assert encoded.shape == (3, 21, 7)
    for features, picture in zip(encoded, PICTURES, strict=True):
        regions = made.regions(picture)
        assert regions.proposer == "rpn"
        x0, y0, x1, y1 = regions.boxes.T
        assert_allclose(features[:, 3:5], np.stack([y1 - y0, x1 - x0], axis=1), atol=1e-3)


def test_tensors_are_looked_at_as_arrays_are(encoder):
    class Tensors(MeanColours):
        def tensor_maps(self, pixels):
            return torch.from_numpy(super().maps(pixels))

    assert_allclose(encoder(Tensors()).encode(PICTURES), encoder().encode(PICTURES), atol=0.2)


def test_what_was_chosen_by_itself_is_told_by_its_name_and_digest(encoder):
    by_itself, named = encoder(proposer="auto"), encoder()
    assert by_itself.fingerprint == named.fingerprint
    assert (named.fingerprint["proposer"], len(named.fingerprint["proposer_digest"])) == ("rpn", 64)


def test_the_whole_picture_alone_needs_no_head(encoder):
    assert encoder(proposer="auto", keep=0).fingerprint["proposer"] == "grid"
