"""Small generated pairs, for all tests of hashers."""

import pytest
from small_pairs import make_pairs

from deepbinaries.features.inputs import Pairs


@pytest.fixture(scope="session")
def pairs() -> Pairs:
    return make_pairs(240, seed=1)


@pytest.fixture(scope="session")
def others() -> Pairs:
    """Pairs that are not learnt from."""
    return make_pairs(80, seed=2)


@pytest.fixture(scope="session")
def many_pairs() -> Pairs:
    """2,000 pairs of 20 labels, what a deep method has to learn something from."""
    return make_pairs(2000, seed=3, n_labels=20)


@pytest.fixture(scope="session")
def other_pairs() -> Pairs:
    """Pairs of the same 20 labels that are not learnt from."""
    return make_pairs(200, seed=4, n_labels=20)
