"""Whenever the power goes, no picture that was indexed is lost, and the next run goes on."""

import random
import shutil
import sys
from pathlib import Path

import pytest
from photo_library import RED, draw
from plain_model import PlainFolder

from deepbinaries.errors import Error
from deepbinaries.search import index_folder
from deepbinaries.search.verifying import verify

sys.path.insert(0, str(Path(__file__).parents[1] / "index"))  # the disk that forgets

from disk import Disk, build, memory_folder, preload_library, read_log, run_watched

EVERY = 12  # calls, of which one is followed by a power cut
PICTURES = 2


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A root, and the calls under it by which an index of two photographs came to be in folders that were not there."""
    library = preload_library(tmp_path_factory.mktemp("library"))
    with memory_folder() as memory:
        for number in range(PICTURES):
            draw(memory / f"photographs/{number}.png", RED, seed=number)
        root = memory / "disk"
        root.mkdir()
        program = Path(__file__).with_name("indexed_and_watched.py")
        place = root / "mine/index"
        run_watched(library, root, program, memory / "photographs", place, root / "acknowledged", log=memory / "log")
        yield root, read_log(memory / "log")


def acknowledged(disk):
    """How many pictures were acknowledged."""
    file = disk.names.get(str(disk.root / "acknowledged"))
    return int(file.content(file.pending).split()[-1]) if file and file.pending else 0


def broken_promises(root, calls, *, every=EVERY):
    """What goes wrong after a power cut, by the call before it."""
    rng, disk, broken, seen = random.Random(0), Disk(root), [], set()
    target, photographs = root.with_name("after"), root.with_name("photographs")
    for number, call in enumerate(calls):
        disk.apply(call)
        if number % every and number < len(calls) - 1:
            continue
        for case, state in disk.states(rng):
            key = acknowledged(disk), frozenset((name, content) for name, content in state.items())
            if key in seen:
                continue
            seen.add(key)
            build(state, root, target)
            try:
                place = target / "mine/index"
                report = index_folder(photographs, PlainFolder(), workers=1, progress=False, index=place)
                assert report.unchanged >= key[0], f"{report.unchanged} of {key[0]} were kept"
                assert verify(place).problems == ()
            except (AssertionError, Error) as error:
                broken.append(f"{case} after call {number} ({call.operation} {call.path}): {error}")
    shutil.rmtree(target)
    return broken, len(seen)


def test_no_power_cut_loses_a_picture_that_was_indexed(recorded):
    broken, n_states = broken_promises(*recorded)
    assert broken == []
    assert n_states > 50


@pytest.mark.parametrize("unsynced", ["disk", "disk/mine", "disk/mine/index", "disk/mine/index/generations"])
def test_a_folder_that_is_not_synced_would_be_seen(recorded, unsynced):
    root, calls = recorded
    folder = str(root.parent / unsynced)
    kept = [call for call in calls if (call.operation, call.path) != ("sync", folder)]
    assert len(kept) < len(calls)
    broken, _ = broken_promises(root, kept, every=len(calls))
    assert broken
