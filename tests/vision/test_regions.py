import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from deepbinaries.errors import DataError, UsageError
from deepbinaries.vision.regions import Proposals, areas, choose_regions, overlaps, positions, suppress
from deepbinaries.vision.windows import WINDOWS

# On a raster of sixteenths every area and every attraction is exact, so that two ways to compute them agree.
raster = st.integers(-2, 18).map(lambda place: place / 16)
boxes = st.tuples(raster, raster, raster, raster)
confidences = st.integers(0, 8).map(lambda eighths: eighths / 8)
many_proposals = st.lists(st.tuples(boxes, confidences), max_size=30)


def proposals_of(pairs) -> Proposals:
    return Proposals(
        np.array([box for box, _ in pairs], dtype=np.float32).reshape(-1, 4),
        np.array([confidence for _, confidence in pairs], dtype=np.float32),
    )


def area(box) -> float:
    return max(box[2] - box[0], 0) * max(box[3] - box[1], 0)


def alike(one, other) -> bool:
    shared = area((max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])))
    return shared / (area(one) + area(other) - shared) > 0.7


def chosen_slowly(pairs, size, keep):
    """The rules one after the other, box by box: what is kept, with its attraction."""
    width, height = size
    clipped = [(tuple(min(max(share, 0), 1) for share in box), confidence) for box, confidence in pairs]
    visible = [(box, c) for box, c in clipped if (box[2] - box[0]) * width >= 16 and (box[3] - box[1]) * height >= 16]
    distinct = []
    for box, c in sorted(visible, key=lambda pair: -pair[1]):
        if not any(alike(box, earlier) for earlier, _ in distinct):
            distinct.append((box, c))
    distinct.sort(key=lambda pair: (-(pair[1] + area(pair[0])) / 2, -pair[1]))
    return [(box, (c + area(box)) / 2) for box, c in distinct[:keep]]


@given(many_proposals, st.sampled_from([(160, 160), (640, 480), (64, 1000)]), st.integers(1, 47))
def test_the_choice_is_that_of_the_rules_applied_one_by_one(pairs, size, keep):
    regions = choose_regions(proposals_of(pairs), size, keep=keep, proposer="test")
    kept = chosen_slowly(pairs, size, keep)
    assert regions.boxes[: len(kept)].tolist() == [list(box) for box, _ in kept]
    assert regions.attraction[: len(kept)].tolist() == [attraction for _, attraction in kept]


@given(many_proposals, st.integers(1, 47))
def test_there_are_always_as_many_regions_as_asked_and_the_whole_picture_last(pairs, keep):
    regions = choose_regions(proposals_of(pairs), (320, 240), keep=keep, proposer="test")
    assert regions.boxes.shape == (keep + 1, 4)
    assert regions.attraction.shape == (keep + 1,)
    assert regions.boxes.dtype == regions.attraction.dtype == np.float32
    assert regions.boxes[-1].tolist() == [0, 0, 1, 1]


@given(many_proposals)
def test_what_fills_up_are_the_largest_windows_that_repeat_no_kept_box(pairs):
    regions = choose_regions(proposals_of(pairs), (320, 240), proposer="test")
    kept = [box for box, _ in chosen_slowly(pairs, (320, 240), 20)]
    free = [window for window in WINDOWS.tolist() if not any(alike(window, box) for box in kept)]
    free.sort(key=lambda window: -round(area(window), 5))
    assert regions.boxes[len(kept) : -1].tolist() == free[: 20 - len(kept)]


def test_more_boxes_than_one_portion_are_suppressed_as_one_by_one():
    rng = np.random.default_rng(0)
    corners = np.sort(rng.integers(0, 9, size=(1500, 2, 2)), axis=1)
    corners[:, 1] += 1
    dense = (corners / 10).reshape(-1, 4).astype(np.float32)
    confidence = rng.permutation(1500).astype(np.float32) / 1500
    kept: list[int] = []
    for place in np.argsort(-confidence).tolist():
        if not any(alike(dense[place].tolist(), dense[other].tolist()) for other in kept):
            kept.append(place)
    assert suppress(dense, confidence).tolist() == kept[:300]
    assert len(kept) > 300


def test_regions_name_their_proposer():
    assert choose_regions(proposals_of([]), (64, 64), proposer="grid").proposer == "grid"


def test_without_proposals_the_largest_windows_stand_in():
    regions = choose_regions(proposals_of([]), (8, 8), keep=4, proposer="test")
    assert regions.boxes[:4].tolist() == WINDOWS[:4].tolist()
    assert_allclose(regions.attraction, [9 / 32, 9 / 32, 9 / 32, 9 / 32, 1 / 2])


def test_a_window_that_repeats_a_kept_box_comes_only_when_no_other_is_left():
    between = (0, 0, 0.85, 0.62)  # repeats both windows 0 and 4, so that 45 of 47 are left
    regions = choose_regions(proposals_of([(between, 0.5)]), (640, 480), keep=47, proposer="test")
    assert_array_equal(regions.boxes[1:46], np.delete(WINDOWS, [0, 4], axis=0))
    assert_array_equal(regions.boxes[46], WINDOWS[0])


@pytest.mark.parametrize("side", [16, 15])
def test_a_side_of_16_pixels_is_kept_and_one_of_15_is_not(side):
    box = np.array([[0.1, 0.1, 0.1 + side / 479, 0.9]], dtype=np.float32)
    regions = choose_regions(Proposals(box, np.array([1], np.float32)), (479, 640), keep=1, proposer="test")
    assert (regions.boxes[0] == box[0]).all() == (side == 16)


@pytest.mark.parametrize("keep", [-1, 48, 1000])
def test_a_number_of_regions_that_cannot_be_filled_is_refused(keep):
    with pytest.raises(UsageError, match=f"keep={keep} is outside 0..47"):
        choose_regions(proposals_of([]), (64, 64), keep=keep, proposer="test")


@pytest.mark.parametrize(
    ("box", "confidence", "problem"),
    [
        ([[0, 0, 1]], [0.5], "shape"),
        ([[0, 0, 1, 1]], [0.5, 0.5], "shape"),
        ([[0, 0, 1, np.nan]], [0.5], "not finite"),
        ([[0, 0, 1, 1]], [1.5], "between 0 and 1"),
        ([[0, 0, 1, 1]], [np.nan], "between 0 and 1"),
    ],
)
def test_proposals_that_are_none_are_refused(box, confidence, problem):
    with pytest.raises(DataError, match=problem):
        Proposals(np.array(box, np.float32), np.array(confidence, np.float32))


def test_positions_are_height_width_and_centre():
    assert_allclose(positions(np.array([[0.1, 0.2, 0.5, 0.8]])), [[0.6, 0.4, 0.3, 0.5]], rtol=1e-6)


def test_the_whole_picture_has_the_positions_of_the_paper():
    regions = choose_regions(proposals_of([]), (64, 64), keep=2, proposer="test")
    assert positions(regions.boxes)[-1].tolist() == [1, 1, 0.5, 0.5]


def test_windows_lie_inside_the_picture_in_descending_size():
    assert WINDOWS.min() >= 0
    assert WINDOWS.max() <= 1
    assert (np.diff(areas(WINDOWS)) < 1e-6).all()


def test_no_window_would_suppress_another():
    overlap = overlaps(WINDOWS, WINDOWS)
    np.fill_diagonal(overlap, 0)
    assert overlap.max() < 0.55
