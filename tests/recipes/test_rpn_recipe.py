"""How the head of `rpn` is taught: one small step of everything, on maps and boxes made up here."""

import hashlib

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from safetensors.torch import save_file

from deepbinaries.vision import regions
from deepbinaries.vision.backbones.efficientnet_lite0 import EfficientNetLite0
from deepbinaries.vision.proposers.rpn import Rpn, answer, decode
from deepbinaries.vision.regions import Proposals
from recipes.rpn.backbone import open_backbone
from recipes.rpn.found import calibrate, count, hits
from recipes.rpn.learning import Truth, assigned, choose_anchors, generalised_overlap, loss, overlaps, stacked
from recipes.rpn.network import RpnNetwork, to_file
from recipes.rpn.teacher import Seen
from recipes.rpn.views import View, cut_out, mirrored

ANCHORS = np.array([[0.5, 0.5], [0.25, 0.125]], np.float32)  # as float16 has them
FACTS = dict.fromkeys(("backbone", "backbone_sha256", "teacher", "data", "licence"), "made up")
BOXES = np.array([[0, 0, 0.5, 0.5], [0.25, 0.25, 0.75, 1], [0.5, 0, 1, 0.125]], np.float32)


def shares(*boxes):
    return np.array(boxes, np.float32).reshape(-1, 4)


@pytest.fixture
def maps():
    return torch.rand(2, 6, 3, 4, generator=torch.manual_seed(0))


@pytest.fixture
def network(maps):
    """A head that has learnt a little, so that its norms are not those it started with."""
    torch.manual_seed(0)
    network = RpnNetwork(ANCHORS, width=6, hidden=8)
    torch.nn.init.normal_(network.answer.weight)
    for _ in range(3):
        network(maps)
    return network.eval()


def test_the_backbone_of_a_photo_models_checkpoint_is_found_in_it(tmp_path):
    weights = EfficientNetLite0().state_dict()
    alone, beside = tmp_path / "alone.safetensors", tmp_path / "checkpoint.safetensors"
    save_file(weights, alone)
    inside = {f"pictures.backbone.{name}": tensor for name, tensor in weights.items()}
    save_file(inside | {"pictures.head.first.bias": torch.zeros(3)}, beside)
    pixels = np.random.default_rng(0).integers(0, 256, (1, 64, 64, 3), np.uint8)
    found, wanted = open_backbone(str(beside), "cpu"), open_backbone(str(alone), "cpu")
    assert np.array_equal(found.maps(pixels), wanted.maps(pixels))
    assert found.card.sha256 == hashlib.sha256(beside.read_bytes()).hexdigest()


def test_what_is_written_answers_as_what_was_trained(network, maps):
    written = Rpn(to_file(network, FACTS), "new")
    with torch.inference_mode():
        assert_allclose(answer(written.head, maps.numpy()), network(maps), atol=0.02)  # half precision


def test_scale_and_shift_change_nothing_but_how_sure_it_is(network, maps):
    plain, other = (Rpn(to_file(network, FACTS, **how), "new").head for how in ({}, {"scale": 2.0, "shift": 1.0}))
    before, after = answer(plain, maps.numpy()), answer(other, maps.numpy())
    assert_allclose(after[..., 0], 2 * before[..., 0] + 1, atol=0.02)
    assert_allclose(after[..., 1:], before[..., 1:])


def test_boxes_in_training_are_the_boxes_of_the_package(network, maps):
    with torch.inference_mode():
        answers = network(maps)
        boxes = network.boxes(answers)
    assert_allclose(boxes[1].reshape(-1, 4), decode(answers[1].numpy(), ANCHORS)[0], atol=1e-6)


def test_overlaps_are_those_of_the_package():
    ours = overlaps(torch.from_numpy(BOXES)[None], torch.from_numpy(BOXES[::-1].copy())[None])[0]
    assert_allclose(ours, regions.overlaps(BOXES, BOXES[::-1]), atol=1e-6)


def test_generalised_overlap_goes_on_falling_where_boxes_no_longer_meet():
    box = torch.tensor([[0, 0, 1, 1.0]]).expand(3, 4)
    others = torch.tensor([[0, 0, 1, 1.0], [1, 0, 2, 1.0], [3, 0, 4, 1.0]])
    assert_allclose(generalised_overlap(box, others), [1, 0, -0.5])


def test_where_no_anchor_fits_a_box_the_nearest_are_moved_onto_it():
    anchors = torch.tensor([[[0, 0, 0.2, 0.2], [0.8, 0.8, 1, 1.0], [0.5, 0, 1, 0.1], [0, 0.9, 0.1, 1]]])
    truth = Truth(torch.tensor([[[0, 0, 0.5, 0.5], [0, 0, 0.4, 0.4]]]), torch.tensor([[0.9, 0.3]]))
    assert assigned(anchors, truth).tolist() == [[1, -1, -1, -1]]


def test_empty_boxes_of_the_table_teach_nothing():
    truth = stacked([shares(), BOXES], [np.zeros(0, np.float32), np.ones(3, np.float32)], torch.device("cpu"))
    anchors = torch.from_numpy(np.concatenate([BOXES, BOXES]))[None].expand(2, -1, -1)
    assert assigned(anchors, truth).tolist() == [[-1] * 6, [0, 1, 2, 0, 1, 2]]


def test_training_lowers_the_loss(maps):
    torch.manual_seed(0)
    network = RpnNetwork(ANCHORS, width=6, hidden=8).train()
    truth = stacked([BOXES, BOXES[:1]], [np.ones(3, np.float32), np.ones(1, np.float32)], torch.device("cpu"))
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-2)
    losses = []
    for _ in range(40):
        losses.append(loss(network, maps, truth))
        optimiser.zero_grad()
        losses[-1].backward()
        optimiser.step()
    assert losses[-1] < 0.6 * losses[0]


def test_anchors_are_the_sizes_that_boxes_have():
    boxes = shares(*[[0, 0, 0.5, 0.25]] * 5, *[[0.5, 0.5, 0.6, 0.9]] * 3)
    assert_allclose(choose_anchors(boxes, np.ones(8, np.float32), 2, seed=1), [[0.5, 0.25], [0.1, 0.4]], rtol=1e-5)


def test_a_cut_out_keeps_what_is_mostly_inside_and_moves_it():
    pixels = np.zeros((40, 40, 3), np.uint8)
    pixels[:20, :20] = 255  # the first box
    view = View(pixels, shares([0, 0, 0.5, 0.5], [0.9, 0.9, 1, 1]), np.array([0.9, 0.8], np.float32))
    for seed in range(20):
        part = cut_out(view, np.random.default_rng(seed))
        height, width = part.picture.shape[:2]
        assert {height, width} <= {16, 32}
        for box, sure in zip(part.boxes, part.objectness, strict=True):
            x0, y0, x1, y1 = (box * (width, height, width, height)).round().astype(int)
            if sure > 0.85:
                assert part.picture[y0:y1, x0:x1].min() == 255


def test_a_mirror_image_twice_is_the_picture():
    pixels = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    twice = mirrored(mirrored(View(pixels, BOXES, np.ones(3, np.float32))))
    assert np.array_equal(twice.picture, pixels)
    assert_allclose(twice.boxes, BOXES)


def test_a_thing_is_seen_once_and_only_when_the_teacher_is_sure():
    boxes = shares([0, 0, 0.5, 0.5], [0, 0, 0.5, 0.4], [0.6, 0.6, 1, 1], [0.5, 0, 1, 0.5])
    seen = Seen(boxes, np.ones(4, np.float32), np.array([0.6, 0.9, 0.29, 0.3], np.float32))
    assert seen.confident.tolist() == [boxes[1].tolist(), boxes[3].tolist()]


def test_a_picture_without_things_has_none_to_find():
    nothing = Seen(shares(), np.zeros(0, np.float32), np.zeros(0, np.float32))
    assert hits(BOXES, nothing.confident).shape == (0,)


def test_recall_counts_the_things_of_all_pictures():
    proposed = [Proposals(BOXES[:1], np.ones(1, np.float32))] * 2
    things = [BOXES[:1], shares([0.4, 0.4, 0.45, 0.45])]
    report = count(proposed, things, [(256, 256)] * 2).report()
    assert (report["pictures"], report["things"], report["recall"]) == (2, 2, 0.5)
    assert (report["recall_small"], report["recall_large"]) == (0.0, 1.0)


def test_sureness_is_set_so_that_small_things_are_found():
    """Thirty large boxes that the head half believes in hide a small one that it is surer of."""
    rng = np.random.default_rng(0)
    corners = rng.uniform(0, 0.5, (30, 2))
    large = np.concatenate([corners, corners + rng.uniform(0.3, 0.5, (30, 2))], axis=1).astype(np.float32)
    small = shares([0.8, 0.8, 0.9, 0.9])
    proposals = Proposals(np.concatenate([large, small]), np.array([0.02] * 30 + [0.04], np.float32))
    before = count([proposals], [small], [(640, 640)]).report()["recall"]
    scale, shift, after = calibrate([proposals], [small], [(640, 640)])
    assert (before, after) == (0, 1)
    assert (scale, shift) != (1, 0)
