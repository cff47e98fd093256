"""Runs that are cut short: nothing that was committed is lost, nothing is wrong, and the next run goes on."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from photo_library import BLUE, draw

from deepbinaries.errors import CorruptIndexError, DataError, Error
from deepbinaries.index import EmbeddedIndex
from deepbinaries.search import Collection, Filter, indexing
from deepbinaries.search.catalogue import PICTURES, SENTENCES, Catalogue
from deepbinaries.search.verifying import verify

HERE = Path(__file__).parent
KINDS = (PICTURES, SENTENCES)
STEPS = 150  # bits that are flipped, one after the other


class PowerOffError(BaseException):
    """Ends a run at once."""


@pytest.fixture
def cut(monkeypatch):
    """`cut(n)` ends whatever runs before its n-th change of the disk; one commit of a portion has several."""
    left = [0]

    def before(change):
        def changed(*arguments, **settings):
            left[0] -= 1
            if left[0] == 0:
                raise PowerOffError
            return change(*arguments, **settings)

        return changed

    for owner, names in ((EmbeddedIndex, ("replace", "remove")), (Catalogue, ("begin", "put", "put_said", "settle"))):
        for name in names:
            monkeypatch.setattr(owner, name, before(getattr(owner, name)))
    monkeypatch.setattr(Catalogue, "remove_items", before(Catalogue.remove_items))
    monkeypatch.setattr(Catalogue, "remove_files", before(Catalogue.remove_files))
    monkeypatch.setattr(indexing, "PORTION", 2)

    def cut(n):
        left[0] = n

    return cut


def test_a_run_cut_at_any_change_of_the_disk_loses_nothing_and_is_taken_up(library, cut):
    (library.root / "reds/1.txt").write_text("a red field")
    library.index()
    draw(library.root / "reds/1.png", BLUE, seed=98)
    (library.root / "greens/1.png").unlink()
    (library.root / "blues/1.txt").write_text("blue")
    (library.root / "reds/1.txt").unlink()
    changes = 0
    while True:
        changes += 1
        cut(changes)
        try:
            library.index()
            break
        except PowerOffError:
            cut(0)
            assert verify(library.root).sound
            found = library.paths("red", least="none", alike=None)
            assert {"reds/2.png", "greens/2.png", "blues/1.png", "blues/2.png"} <= set(found)
            assert len(found) == len(set(found))
    cut(0)
    resumed = library.content()
    (library.root / ".deepbinaries").rename(library.root / ".interrupted")
    library.index()
    assert resumed == library.content()
    assert changes > 5


def test_a_first_run_cut_in_the_middle_answers_with_what_it_has(library, cut):
    cut(4)  # the second portion
    with pytest.raises(PowerOffError):
        library.index()
    cut(0)
    assert len(library.paths("red", least="none")) == 2
    report = library.index()
    assert (report.unchanged, report.encoded) == (2, 4)


CHILD = """
import sys
sys.path.insert(0, sys.argv[2])
from photo_library import ReadersInThread, PlainFolder
from deepbinaries.search import index_folder, indexing, taking_up
taking_up.Readers, taking_up.CHUNK, indexing.PORTION = ReadersInThread, 1, 1
print("begins", flush=True)
index_folder(sys.argv[1], PlainFolder(), workers=1, progress=False)
"""


def is_filled(library):
    path = library.root / ".deepbinaries/collection.json"
    return path.exists() and bool(json.loads(path.read_text())["generation"])


def test_a_killed_process_leaves_an_index_that_the_next_run_completes(library):
    for number in range(12):
        draw(library.root / f"more/{number}.png", BLUE, seed=1000 + number)
    kept = 0
    for delay in (0.15, 0.4):
        child = subprocess.Popen([sys.executable, "-c", CHILD, library.root, HERE], stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        if is_filled(library):
            assert verify(library.root).sound
            with library.open() as collection:
                assert collection.status()["files"] >= kept
                kept = collection.status()["files"]
    report = library.index()
    assert (report.files, report.unchanged) == (18, kept)
    disturbed = library.content()
    (library.root / ".deepbinaries").rename(library.root / ".disturbed")
    library.index()
    assert disturbed == library.content()


def killed(*options):
    """The exit code and the words of runs that were killed, in a process that may fork."""
    command = [sys.executable, HERE / "photo_killing.py", *map(str, options)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def test_nothing_acknowledged_is_lost_and_no_answer_is_wrong_after_kills_at_random():
    code, said = killed("--kills", 8)
    assert code == 0, said
    assert "none lost" in said


def test_a_run_that_acknowledges_too_early_is_noticed():
    code, said = killed("--kills", 60, "--early")
    assert code == 1
    assert "was acknowledged and is lost" in said


def test_a_flipped_bit_anywhere_in_the_catalogue_is_an_error_or_changes_no_answer(library):
    (library.root / "reds/1.txt").write_text("a red field")
    library.index()
    (path,) = library.root.glob(".deepbinaries/generations/*/catalogue.db")
    whole = path.read_bytes()

    def answer():
        with Collection(library.root, model=library.by) as collection:
            hits = collection.by_text("red", least="none").hits
            among = Filter(since="2000", until="2100")
            filtered = [collection.by_text("red", least="none", where=among, kind=kind).hits for kind in KINDS]
            shown = [(hit.paths, hit.date, hit.captions) for hit in hits]
            return shown, filtered, [collection.thumbnail(hit.id) for hit in hits]

    expected, refused = answer(), 0
    for place in range(0, len(whole), max(1, len(whole) // STEPS)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            assert answer() == expected, f"byte {place}"
        except Error:
            refused += 1
    assert refused > 10
    path.write_bytes(whole)
    assert answer() == expected


@pytest.mark.parametrize(
    ("of", "kind", "where"),
    [
        (b"2026-11-15", PICTURES, Filter(since="2020")),
        (b"greens/2.png", PICTURES, Filter("greens")),
        (b"2026-11-15", SENTENCES, Filter(since="2020")),
        (b"greens/2.png", SENTENCES, Filter("greens")),
    ],
)
def test_a_filter_passes_over_nothing_that_a_flipped_bit_has_changed(library, of, kind, where):
    moment = 1794700800  # the 15th of November 2026
    for path in library.root.rglob("*.png"):
        path.with_suffix(".txt").write_text("a red field")
        os.utime(path, (moment, moment))
    library.index()
    (path,) = library.root.glob(".deepbinaries/generations/*/catalogue.db")
    whole = path.read_bytes()
    expected, places = library.paths("red", where=where, least="none", kind=kind), []
    assert expected
    while (place := whole.find(of, places[-1] + 1 if places else 0)) >= 0:
        places.append(place)
    assert places
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 2  # "2" becomes "0", "g" becomes "e"
        path.write_bytes(flipped)
        try:
            assert library.paths("red", where=where, least="none", kind=kind) == expected
        except CorruptIndexError:
            continue


def test_a_catalogue_that_lost_a_row_is_damaged(library):
    library.index()
    (path,) = library.root.glob(".deepbinaries/generations/*")
    catalogue = Catalogue(path, writable=True)
    catalogue.remove_items([min(catalogue.ids())])
    catalogue.close()
    with pytest.raises(CorruptIndexError, match="does not know"):
        library.paths("red", least="none")
    assert not verify(library.root).sound


def test_a_full_disk_is_one_clear_error_and_the_old_index_answers(library):
    library.index()
    for number in range(4):
        draw(library.root / f"more/{number}.png", BLUE, seed=2000 + number)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(Error, match="free space"):
            library.index()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert len(library.paths("red", k=2)) == 2
    assert library.index().files == 10


def test_an_index_whose_first_run_was_cut_at_once_says_so(library, monkeypatch):
    def cut(*_, **__):
        raise PowerOffError

    with monkeypatch.context() as patched:
        patched.setattr(indexing, "Generation", cut)
        with pytest.raises(PowerOffError):
            library.index()
    with pytest.raises(DataError, match="was never filled"):
        library.open()
    assert library.index().encoded == 6
