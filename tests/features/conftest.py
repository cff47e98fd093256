import pytest
from mean_colours import Drawn

from deepbinaries.datasets import load


@pytest.fixture(scope="session")
def scenes():
    """14 scenes, drawn once."""
    return Drawn(load("scenes", items=14))
