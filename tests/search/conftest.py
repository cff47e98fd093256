"""A folder of drawn photographs, and readers that are quick to start."""

import pytest
from photo_library import BLUE, GREEN, RED, Library, ReadersInThread, draw


@pytest.fixture
def real_readers():
    """For tests that want photographs read by processes, as users have it."""


@pytest.fixture(autouse=True)
def quick_readers(request, monkeypatch):
    if "real_readers" not in request.fixturenames:
        monkeypatch.setattr("deepbinaries.search.taking_up.Readers", ReadersInThread)


@pytest.fixture
def library(tmp_path):
    """Two red, two green and two blue photographs in three folders."""
    library = Library(tmp_path / "photographs")
    for place, (folder, colour) in enumerate({"reds": RED, "greens": GREEN, "blues": BLUE}.items()):
        for number in (1, 2):
            draw(library.root / folder / f"{number}.png", colour, seed=10 * place + number)
    return library
