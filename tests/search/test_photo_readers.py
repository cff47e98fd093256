"""Reading an index while it changes: on disks that cannot be written, when it was made anew, while a run commits."""

import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from photo_library import BLUE, RED, Library, draw

from deepbinaries.errors import Error
from deepbinaries.index import connecting
from deepbinaries.search import Filter
from deepbinaries.search.catalogue import Catalogue
from deepbinaries.search.verifying import verify


def everything(collection, **options):
    return sorted(hit.paths[0] for hit in collection.by_text("red", k=100, least="none", alike=None, **options).hits)


def test_a_reader_who_may_not_write_follows_the_runs_of_others(library, refusing):
    library.index()
    refusing("SQLITE_CANTOPEN")
    with library.open() as collection:
        assert len(everything(collection)) == 6
        for number in range(30):
            draw(library.root / f"more/{number}.png", BLUE, seed=100 + number)
        library.index()
        (library.root / "reds/1.png").unlink()
        library.index()
        assert len(everything(collection)) == 35
        assert collection.status()["files"] == 35


def test_a_filter_of_a_reader_who_may_not_write_follows_as_well(library, refusing):
    library.index()
    refusing("SQLITE_CANTOPEN")
    with library.open() as collection:
        assert everything(collection, where=Filter("reds")) == ["reds/1.png", "reds/2.png"]
        (library.root / "reds/1.png").rename(library.root / "blues/9.png")
        library.index()
        assert everything(collection, where=Filter("reds")) == ["reds/2.png"]


def test_a_failing_disk_is_no_reason_to_read_without_the_log(library, refusing, monkeypatch):
    library.index()
    refusing("SQLITE_IOERR_READ")
    monkeypatch.setattr(connecting, "PATIENCE", 0.02)
    with pytest.raises(Error, match="SQLITE_IOERR_READ"):
        library.open()


def test_a_log_that_cannot_be_read_is_not_passed_over(library, refusing, monkeypatch):
    library.index()
    (path,) = library.root.glob(".deepbinaries/generations/*/catalogue.db")
    path.with_name("catalogue.db-wal").write_bytes(b"commits")
    refusing("SQLITE_CANTOPEN")
    monkeypatch.setattr(connecting, "PATIENCE", 0.02)
    with pytest.raises(Error, match="was not closed"):
        library.open()


def test_an_index_that_was_removed_and_made_anew_is_the_one_that_answers(library):
    library.index()
    with library.open() as collection:
        assert len(everything(collection)) == 6
        shutil.rmtree(library.root / ".deepbinaries")
        shutil.rmtree(library.root / "reds")
        draw(library.root / "new.png", RED, seed=9)
        library.index()
        expected = ["blues/1.png", "blues/2.png", "greens/1.png", "greens/2.png", "new.png"]
        assert (everything(collection), collection.status()["files"]) == (expected, 5)


def test_a_catalogue_that_was_put_back_from_a_copy_is_the_one_that_answers(library):
    library.index()
    (home,) = library.root.glob(".deepbinaries/generations/*")
    with library.open() as collection:
        before = collection.status()["finished"]
        shutil.copy(home / "catalogue.db", home / "copy")
        with closing(Catalogue(home, writable=True)) as catalogue:
            catalogue.note(finished="2030-01-01T00:00:00")
        assert collection.status()["finished"] == "2030-01-01T00:00:00"
        (home / "copy").rename(home / "catalogue.db")
        assert collection.status()["finished"] == before


def test_the_last_filters_keep_no_old_version_open(library):
    library.index()
    filters = [Filter(folder) for folder in ("reds", "greens", "blues")]
    with library.open() as collection:
        for where in filters:
            everything(collection, where=where)
        draw(library.root / "reds/3.png", RED, seed=33)
        library.index()
        everything(collection, where=filters[0])
        assert len(collection._current()._selections) == 1


def test_status_is_told_while_files_come_and_go(library, monkeypatch):
    library.index()
    real = Path.stat

    def vanished(path, **settings):
        if path.name == "generation.json":
            raise FileNotFoundError(2, "No such file", str(path))
        return real(path, **settings)

    with library.open() as collection:
        monkeypatch.setattr(Path, "is_file", lambda path: not path.is_dir())
        monkeypatch.setattr(Path, "stat", vanished)
        assert collection.status()["n_bytes"] > 1000


def test_a_run_that_commits_while_an_index_is_proven_is_no_damage(library, monkeypatch):
    library.index()
    ids, calls = Catalogue.ids, []

    def meanwhile(catalogue, *kind):
        calls.append(kind)
        if len(calls) == 2:  # its codes were read, the rows that they belong to were not
            draw(library.root / "new.png", BLUE, seed=50)
            library.index()
        return ids(catalogue, *kind)

    monkeypatch.setattr(Catalogue, "ids", meanwhile)
    proof = verify(library.root)
    assert (proof.problems, proof.items) == ((), 7)


def test_photographs_in_a_folder_whose_name_is_no_text_are_found(tmp_path):
    library = Library(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 ?#%41")))
    draw(library.root / "1.png", RED, seed=1)
    library.index()
    assert library.paths("red", least="none") == ["1.png"]
    assert library.index().unchanged == 1
