import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from PIL import Image

from deepbinaries.datasets import load
from deepbinaries.errors import DataError, UsageError
from deepbinaries.vision import read_picture
from deepbinaries.vision.proposers import Proposer, make_proposer
from deepbinaries.vision.proposers.grid import mean_energy
from deepbinaries.vision.regions import choose_regions
from deepbinaries.vision.windows import WINDOWS

PICTURE = Image.new("RGB", (32, 24))


@pytest.fixture
def grid() -> Proposer:
    return make_proposer("grid")


def test_it_keeps_the_contract_and_has_no_weights_to_name(grid):
    assert isinstance(grid, Proposer)
    assert (grid.name, grid.digest) == ("grid", "")


@pytest.mark.parametrize("energy", [None, np.zeros((3, 4)), np.full((14, 14), 0.1, dtype=np.float16)])
def test_without_energy_or_with_the_same_everywhere_every_window_has_a_half(grid, energy):
    proposals = grid.propose(PICTURE, energy)
    assert (proposals.confidence == 0.5).all()
    assert len(proposals.boxes) == len(proposals.confidence) == 47


def test_confidence_runs_from_0_to_1_and_is_highest_where_the_energy_is(grid):
    energy = np.ones((12, 12))
    energy[:4, 8:] = 9  # the upper right ninth, which is one of the windows
    proposals = grid.propose(PICTURE, energy)
    assert (proposals.confidence.min(), proposals.confidence.max()) == (0, 1)
    assert_allclose(proposals.boxes[proposals.confidence.argmax()], [2 / 3, 0, 1, 1 / 3], atol=1e-6)


def test_the_first_region_is_where_the_energy_is(grid):
    energy = np.zeros((12, 12))
    energy[8:, :4] = 1
    regions = choose_regions(grid.propose(PICTURE, energy), (640, 480), proposer="grid")
    x0, y0, x1, y1 = regions.boxes[0]
    assert (x0, y1) == (0, 1)
    assert (x1 - x0) * (y1 - y0) < 0.2


@settings(max_examples=10, deadline=None)
@given(arrays(np.float64, (12, 24), elements=st.integers(0, 9).map(float)))
def test_the_mean_energy_of_a_window_that_cuts_no_cell_is_that_of_the_cells_inside(energy):
    whole = [window for window in WINDOWS.astype(np.float64) if np.allclose(window * 12, np.rint(window * 12))]
    slowly = [
        np.mean(
            [energy[y, x] for y in range(round(y0 * 12), round(y1 * 12)) for x in range(round(x0 * 24), round(x1 * 24))]
        )
        for x0, y0, x1, y1 in whole
    ]
    assert len(whole) > 20
    assert_allclose(mean_energy(energy, np.array(whole)), slowly, atol=1e-5)


def one_by_one(grid, energies, sizes, keep):
    """What `choose_all` must give: the choice of one picture after the other."""
    each = [None] * len(sizes) if energies is None else energies
    proposed = [(grid.propose(PICTURE, energy), size) for energy, size in zip(each, sizes, strict=True)]
    return np.stack([choose_regions(found, size, keep=keep, proposer="grid").boxes for found, size in proposed])


SIZES = st.lists(st.tuples(st.integers(1, 200), st.integers(1, 200)), min_size=1, max_size=5)  # the smallest is tiny
VALUES = {
    "real": st.floats(0, 1e6, width=32),
    "with ties": st.integers(0, 2).map(float),
    "almost the same": st.sampled_from([1.0, np.nextafter(np.float32(1), np.float32(2)).item()]),
    "the same": st.just(0.25),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@settings(max_examples=30, deadline=None)
@given(st.data(), SIZES, st.integers(1, 47), st.sampled_from([(14, 14), (7, 7), (1, 1), (3, 20)]))
def test_a_batch_is_chosen_as_its_pictures_are(values, data, sizes, keep, cells):
    energies = data.draw(arrays(np.float32, (len(sizes), *cells), elements=values))
    grid = make_proposer("grid")
    assert np.array_equal(grid.choose_all(energies, sizes, keep), one_by_one(grid, energies, sizes, keep))


def test_a_batch_without_energy_is_chosen_by_area(grid):
    sizes = [(640, 480), (20, 20)]
    assert np.array_equal(grid.choose_all(None, sizes, 20), one_by_one(grid, None, sizes, 20))


def test_a_batch_cannot_have_more_regions_than_there_are_windows(grid):
    with pytest.raises(UsageError, match="keep=48 is outside 0..47"):
        grid.choose_all(np.ones((1, 7, 7)), [(640, 480)], 48)


@pytest.mark.parametrize("energies", [np.zeros((2, 2)), np.zeros((2, 2, 2)), np.full((1, 2, 2), np.inf)])
def test_energy_maps_that_do_not_go_with_the_pictures_are_refused(grid, energies):
    with pytest.raises(DataError, match="energy map of shape"):
        grid.choose_all(energies, [(64, 64)], 20)


@pytest.mark.parametrize("energy", [np.zeros(4), np.zeros((0, 3)), np.full((2, 2), np.nan), np.zeros((1, 2, 2))])
def test_an_energy_map_that_is_none_is_refused(grid, energy):
    with pytest.raises(DataError, match="energy map of shape"):
        grid.propose(PICTURE, energy)


def test_the_windows_of_a_photograph_are_all_distinct_regions(grid, real_data):
    photographs = load("coco18", root=real_data / "coco18")
    picture = read_picture(photographs.picture(7))
    regions = choose_regions(grid.propose(picture), picture.size, proposer="grid")
    assert len(np.unique(regions.boxes, axis=0)) == 21
