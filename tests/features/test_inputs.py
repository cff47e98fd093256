"""What a hasher may be given."""

import numpy as np
import pytest

from deepbinaries.errors import DataError
from deepbinaries.features import Images, Texts


@pytest.mark.parametrize("id_", [-1, 9, 40])
def test_a_token_id_outside_the_vocabulary_is_refused(id_):
    with pytest.raises(DataError, match=f"a token id is {id_}, the vocabulary has 9; give ids from 0 on"):
        Texts(np.array([[3, 4], [8, id_]], dtype=np.int32), 9)


def test_regions_are_counted_without_the_whole_picture():
    assert Images(np.zeros((2, 5, 7))).n_regions == 4
    assert Images.from_vectors(np.zeros((2, 3))).n_regions == 0
