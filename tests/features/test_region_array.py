import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbinaries.datasets import Labels
from deepbinaries.errors import UsageError
from deepbinaries.features import Images, Pairs, RegionArray, Texts

WHOLE = np.arange(7 * 3 * 6, dtype=np.float16).reshape(7, 3, 6)
ARRAY = RegionArray([WHOLE[:3], WHOLE[3:6], WHOLE[6:]], shard_items=3)

slices = st.slices(7)
lists = st.lists(st.integers(-7, 6), max_size=9)
masks = st.lists(st.booleans(), min_size=7, max_size=7).map(np.array)
several = st.one_of(slices, lists, lists.map(lambda rows: np.array(rows, dtype=np.int64)), masks)


def as_numpy(rows):
    return np.array(rows, dtype=np.int64) if isinstance(rows, list) else rows


@given(several)
def test_items_are_found_as_numpy_finds_them(rows):
    assert np.array_equal(ARRAY[rows], WHOLE[as_numpy(rows)])


@given(several, st.one_of(st.integers(-3, 2), st.slices(3), st.lists(st.integers(0, 2), min_size=1)), st.slices(6))
def test_parts_of_items_are_found_as_numpy_finds_them(rows, regions, columns):
    items = WHOLE[as_numpy(rows)]
    assert np.array_equal(ARRAY[rows, regions, columns], items[:, regions][..., columns])


@given(several, st.data())
def test_a_selection_of_a_selection_is_found_as_numpy_finds_it(rows, data):
    once = WHOLE[as_numpy(rows)]
    again = data.draw(st.slices(len(once)))
    assert np.array_equal(ARRAY.select(rows).select(again)[:], once[again])


@pytest.mark.parametrize("row", [0, 6, -1, np.int64(4)])
def test_one_item_is_a_matrix(row):
    assert np.array_equal(ARRAY[row], WHOLE[row])


def test_an_item_that_is_not_there_is_refused():
    with pytest.raises(UsageError, match="index 7 is out of bounds"):
        ARRAY[[7]]


def test_it_describes_itself_as_an_array_does():
    for name in ("shape", "dtype", "ndim", "size", "nbytes"):
        assert getattr(ARRAY, name) == getattr(WHOLE, name)
    assert len(ARRAY) == len(WHOLE)


def test_numpy_takes_it_for_an_array():
    assert np.array_equal(np.asarray(ARRAY), WHOLE)
    assert np.asarray(ARRAY, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="without a copy"):
        np.array(ARRAY, copy=False)


def test_items_on_disk_are_known_by_their_places_and_the_checksums_of_their_shards():
    def array(*checksums):
        return RegionArray([WHOLE[:3], WHOLE[3:6], WHOLE[6:]], shard_items=3, checksums=checksums)

    one = array(1, 2, 3).select([0, 4])
    assert one.identity == array(1, 2, 3).select(slice(0, 5)).select([0, 4]).identity
    assert one.identity == array(1, 2, 9).select([0, 4]).identity  # nothing of that shard is among them
    others = (array(9, 2, 3).select([0, 4]), array(1, 2, 3).select([4, 0]), array(1, 2, 3).select([0, 3]))
    assert one.identity not in {other.identity for other in others}
    assert ARRAY.identity is None


def test_pictures_on_disk_stay_there_when_some_are_chosen():
    chosen = Images(ARRAY)[[5, 1]]
    assert isinstance(chosen.regions, RegionArray)
    assert np.array_equal(chosen.regions[:], WHOLE[[5, 1]])


def test_pictures_on_disk_give_the_same_whole_pictures_as_in_memory():
    assert Images(ARRAY).width == Images(WHOLE).width == 2
    assert np.array_equal(Images(ARRAY)[2].whole, Images(WHOLE)[2].whole)


def test_pairs_are_chosen_on_all_sides():
    texts = Texts(np.arange(14, dtype=np.int32).reshape(7, 2), n_words=14)
    labels = Labels.from_names([[str(row)] for row in range(7)])
    chosen = Pairs(Images(ARRAY), texts, labels).select(np.array([6, 0]))
    assert np.array_equal(chosen.images.regions[:], WHOLE[[6, 0]])
    assert chosen.texts.tokens.tolist() == [[12, 13], [0, 1]]
    assert [chosen.labels.of(row) for row in range(2)] == [("6",), ("0",)]
