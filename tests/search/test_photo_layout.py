"""The folder of a collection: what a power cut leaves of it, whose photographs it is of, and who may change it."""

import json

import pytest
from photo_library import BLUE, Library, draw
from plain_model import PlainFolder

from deepbinaries.errors import DataError
from deepbinaries.search import Collection, indexing
from deepbinaries.search.verifying import verify


@pytest.fixture
def place(library):
    library.index()
    return library.root / ".deepbinaries"


@pytest.mark.parametrize("left", [b"", b"\0" * 80, b'{"format": "deepb'], ids=["nothing", "zeros", "a part"])
@pytest.mark.parametrize("name", ["collection.json", "generations/cccccccccccccccc/generation.json"])
def test_a_description_that_a_power_cut_took_is_written_again(library, place, name, left):
    whole = (place / name).read_bytes()
    (place / name).write_bytes(left)
    with pytest.raises(DataError, match=r"is damaged; index the photographs again with --model"):
        library.open()
    assert library.index().unchanged == 6
    assert (place / name).read_bytes() == whole


def test_a_description_whose_name_a_power_cut_took_is_written_again(library, place):
    (place / "collection.json").unlink()
    (place / "collection.json.part").touch()
    assert library.index().unchanged == 6
    assert verify(library.root).sound


def test_generations_of_something_else_are_not_taken_for_ours(library, tmp_path):
    (tmp_path / "family/generations/grandparents").mkdir(parents=True)
    with pytest.raises(DataError, match="holds something else"):
        library.index(index=tmp_path / "family")
    assert [path.name for path in (tmp_path / "family").rglob("*")] == ["generations", "grandparents"]


def test_a_description_of_something_else_is_not_written_over(library, place):
    (place / "collection.json").write_text('{"stamps": 12}')
    with pytest.raises(DataError, match="does not describe an index of photographs"):
        library.index()
    assert json.loads((place / "collection.json").read_text()) == {"stamps": 12}


def test_what_another_run_has_made_until_the_lock_is_had_is_seen(library, place, monkeypatch):
    """Else the generation that answers would be taken for an old one, and removed."""
    real, other = indexing.WriterLock, PlainFolder("a" * 64)

    def late(folder):
        monkeypatch.setattr(indexing, "WriterLock", real)
        library.index(by=other)
        monkeypatch.setattr(indexing, "walk", cut)
        return real(folder)

    def cut(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(indexing, "WriterLock", late)
    with pytest.raises(KeyboardInterrupt):
        library.index(by=PlainFolder("b" * 64))
    assert json.loads((place / "collection.json").read_text())["generation"] == "a" * 16
    with Collection(library.root, model=other) as collection:
        assert collection.by_text("red", least="none").hits


class TestOtherPhotographs:
    """An index that lies elsewhere, and is given with other photographs than its own."""

    @pytest.fixture
    def elsewhere(self, library, tmp_path):
        library.index(index=tmp_path / "index")
        return tmp_path / "index"

    def test_others_are_refused_and_nothing_is_forgotten(self, elsewhere, library, tmp_path):
        other = Library(tmp_path / "other")
        draw(other.root / "reds/1.png", BLUE, seed=3).rename(other.root / "reds/9.png")
        with pytest.raises(DataError, match=r"is the index of .*photographs, and .*other holds none of its"):
            other.index(index=elsewhere)
        with Collection(elsewhere, model=library.by) as collection:
            assert (collection.status()["files"], collection.photographs) == (6, library.root)

    def test_those_that_have_moved_are_followed(self, elsewhere, library, tmp_path):
        library.root = library.root.rename(tmp_path / "moved")
        assert library.index(index=elsewhere).unchanged == 6
        with Collection(elsewhere, model=library.by) as collection:
            assert collection.photographs == tmp_path / "moved"
