"""An index of photographs of every format is read, and gone on with; a sample of each is kept in `samples`."""

import shutil
from pathlib import Path

import pytest
from photo_library import Library
from plain_model import PlainFolder

from deepbinaries.search import Collection
from deepbinaries.search.verifying import verify

SAMPLES = Path(__file__).parent / "samples"


class Stored(Library):
    """Photographs that are there already, with their index beside them."""

    def __init__(self, root):
        self.root, self.by = root, PlainFolder()


@pytest.fixture(params=sorted(path.name for path in SAMPLES.iterdir()))
def sample(request, tmp_path):
    """A copy of a sample: three photographs, one of them with a caption, and an empty file."""
    return shutil.copytree(SAMPLES / request.param, tmp_path / "sample")


def test_an_index_of_every_format_answers(sample):
    assert verify(sample / "index").sound
    with Collection(sample / "index", model=PlainFolder()) as collection:
        hits = collection.by_text("red", least="none").hits
        (said,) = collection.by_text("red", least="none", kind="sentences").hits
        assert sorted(hit.paths for hit in hits) == [("blue.png",), ("green.png",), ("red.png",)]
        assert (hits[0].paths, hits[0].captions) == (("red.png",), ("a red field",))
        assert {(hit.width, hit.height) for hit in hits} == {(72, 64)}
        assert (said.sentence, said.picture) == ("a red field", hits[0].id)
        assert [file.path for file in collection.failures()] == ["broken.jpg"]


def test_an_index_of_every_format_is_gone_on_with(sample):
    library = Stored(sample / "photographs")
    report = library.index(index=sample / "index")
    assert (report.files, report.encoded, report.removed) == (4, 0, 0)
