"""An error says the same wherever it is told, also in another process."""

import pickle

import pytest

from deepbinaries.errors import CorruptIndexError, DataError, Error, MissingExtraError, PictureError, unknown_name

ERRORS = [
    Error("the picture is empty", next_step="copy it again"),
    DataError("the file is broken", next_step="download it again"),
    PictureError("no picture", next_step="look at it"),
    CorruptIndexError("a byte differs", next_step="build it again"),
    MissingExtraError("torch", "train"),
    unknown_name("dataset", "scense", ["scenes"]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_of_another_process_says_the_same(error):
    told = pickle.loads(pickle.dumps(error))  # noqa: S301  # as processes do
    assert type(told) is type(error)
    assert (str(told), told.problem, told.next_step) == (str(error), error.problem, error.next_step)
