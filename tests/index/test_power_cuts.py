"""Nothing that was acknowledged is lost, whenever the power goes; and these tests could tell if it were."""

import random
import sqlite3

import pytest
import workload
from disk import HERE, Disk, build, memory_folder, preload_library, read_log, run_watched

from deepbinaries.errors import Error
from deepbinaries.index import EmbeddedIndex

MODELS = workload.models()


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return preload_library(tmp_path_factory.mktemp("library"))


@pytest.fixture
def memory():
    with memory_folder() as folder:
        yield folder


@pytest.fixture
def recorded(library, memory):
    """The calls of a life of an index with some defects, and the root they were made under."""

    def record(*defects):
        root = memory / "disk"
        root.mkdir()
        run_watched(library, root, HERE / "workload.py", root, *defects, log=memory / "log")
        return root, read_log(memory / "log")

    return record


def failures(root, calls, target, *, stop_at=None, every=1, prove=None):
    """How the index breaks its promises in the states that the calls can leave, and how many states there were."""
    rng, disk, broken, seen = random.Random(0), Disk(root), [], set()
    n_states = 0
    for number, call in enumerate(calls):
        disk.apply(call)
        if number % every:
            continue
        for case, state in disk.states(rng):
            n_states += 1
            key = hash(tuple(sorted((name, content) for name, content in state.items() if "acknowledged" not in name)))
            steps = acknowledged(disk)
            if (key, steps) in seen:
                continue
            seen.add((key, steps))
            build(state, root, target)
            try:
                (prove or check)(target / "index", steps)
            except (AssertionError, Error, OSError, sqlite3.Error) as error:
                broken.append(f"{case} after call {number} ({call.operation} {call.path}): {error!r}")
                if stop_at and len(broken) >= stop_at:
                    return broken, n_states
    return broken, n_states


def acknowledged(disk):
    """The last step that was acknowledged, -1 before the index was."""
    file = disk.names.get(str(disk.root / "acknowledged"))
    return int(file.content(file.pending).split()[-1]) if file and file.pending else -1


def check(folder, step):
    """The index is as after the step, or as after the next one, and in order."""
    allowed = [model for place, model in enumerate(MODELS) if place in (step, step + 1)]
    # Before the index was acknowledged it may be missing, and can be made again.
    with EmbeddedIndex(folder, bits=workload.BITS if step < 0 else None, writable=True) as index:
        items = workload.items_of(index)
        assert items in allowed, f"{items} after step {step}"
        found = index.search(workload.codes([1]), k=3)[0]
        expected = sorted(((code ^ 1).bit_count(), id_.encode()) for id_, code in items.items())[:3]
        assert [(hit.distance, hit.id.encode()) for hit in found] == expected
        named = {f"{record.number:08d}.codes" for record in index._snapshot.state.segments}
        assert {path.name for path in (folder / "segments").iterdir()} == named
        assert index.verify().problems == ()
        index.replace(["afterwards"], workload.codes([1]))


def test_the_record_of_calls_is_complete(recorded):
    root, calls = recorded()
    disk = Disk(root)
    for call in calls:
        disk.apply(call)
    _, state = next(disk.states(random.Random(0)))
    on_disk = {str(path): path.read_bytes() if path.is_file() else None for path in (root, *root.rglob("*"))}
    assert {name: content for name, content in on_disk.items() if not name.endswith("-shm")} == state


def test_no_power_cut_loses_what_was_acknowledged(recorded, memory):
    broken, n_states = failures(*recorded(), memory / "after")
    assert broken == []
    assert n_states > 400


def test_commits_are_safe_in_the_log_too(recorded, memory):
    broken, _ = failures(*recorded("commits_left_in_the_log"), memory / "after", every=3)
    assert broken == []


@pytest.mark.parametrize(
    "defect",
    [
        "no_sync_of_the_segment",
        "no_sync_of_the_folder",
        "no_sync_of_the_catalogue",
        "late_sync_of_the_log",
        "commit_before_the_segment_is_in_place",
        "removal_before_the_commit",
    ],
)
def test_a_defect_in_the_order_of_writing_would_be_seen(defect, recorded, memory):
    broken, _ = failures(*recorded(defect), memory / "after", stop_at=1)
    assert broken
