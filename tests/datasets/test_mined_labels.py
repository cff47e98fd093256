import pytest

from deepbinaries.datasets import Record, Records, check_dataset
from deepbinaries.datasets.base import Skips
from deepbinaries.datasets.mined_labels import with_mined_labels
from deepbinaries.errors import DataError


def album(*captions: str) -> Records:
    return Records(
        "album", [Record(str(i), None, (text,)) for i, text in enumerate(captions)], skips=Skips(strict=True)
    )


def test_captions_that_name_the_same_thing_share_a_label():
    mined = with_mined_labels(album("two dogs play", "a dog sleeps", "a red car", "nothing to see"))
    assert [mined.labels.of(row) for row in range(4)] == [("dog",), ("dog",), (), ()]


def test_a_relabelled_dataset_keeps_the_contract():
    check_dataset(with_mined_labels(album("two dogs play", "a dog sleeps", "a cat", "the cars")))


def test_everything_but_the_labels_is_the_originals():
    original = album("two dogs play", "a dog sleeps", "a cat", "the cars")
    mined = with_mined_labels(original)
    assert (mined.name, mined.ids, mined.sentences(1)) == ("album-mined", original.ids, ("a dog sleeps",))
    assert (mined.sources, mined.skips) == (original.sources, original.skips)
    assert mined.picture_stamp(0) == original.picture_stamp(0)


def test_captions_without_a_common_word_say_what_to_do():
    with pytest.raises(DataError, match="give more captions"):
        with_mined_labels(album("a dog", "the cat"))
