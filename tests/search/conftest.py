"""A folder of drawn photographs, and decoders that are quick to start."""

import pytest
from photo_library import BLUE, GREEN, RED, DecodersInThread, Library, draw


@pytest.fixture
def real_decoders():
    """For tests that want pictures decoded by processes, as users have it."""


@pytest.fixture(autouse=True)
def quick_decoders(request, monkeypatch):
    if "real_decoders" not in request.fixturenames:
        monkeypatch.setattr("deepbinaries.search.taking_up.Decoders", DecodersInThread)


@pytest.fixture
def library(tmp_path):
    """Two red, two green and two blue photographs in three folders."""
    library = Library(tmp_path / "photographs")
    for place, (folder, colour) in enumerate({"reds": RED, "greens": GREEN, "blues": BLUE}.items()):
        for number in (1, 2):
            draw(library.root / folder / f"{number}.png", colour, seed=10 * place + number)
    return library
