"""A change of an index in shards is made to all of them or to none, whenever the power goes."""

import pytest
import workload
from disk import HERE, memory_folder, preload_library, read_log, run_watched
from sharded_workload import TwoShards
from test_power_cuts import MODELS, failures

from deepbinaries.index import manifest


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return preload_library(tmp_path_factory.mktemp("library"))


@pytest.fixture
def broken_after(library):
    """How the promises are broken in the states that a life with some defects can leave, and how many there were."""

    def broken_after(*defects, **options):
        with memory_folder() as memory:
            (memory / "disk").mkdir()
            run_watched(
                library, memory / "disk", HERE / "sharded_workload.py", memory / "disk", *defects, log=memory / "log"
            )
            return failures(memory / "disk", read_log(memory / "log"), memory / "after", prove=check, **options)

    return broken_after


def check(folder, step):
    """The index is as after the step, or as after the next one, and in order."""
    allowed = [model for place, model in enumerate(MODELS) if place in (step, step + 1)]
    # Before the index was acknowledged it may be missing, and can be made again.
    with TwoShards(folder, bits=workload.BITS if step < 0 else None, writable=True) as index:
        items = workload.items_of(index)
        assert items in allowed, f"{items} after step {step}"
        found = index.search(workload.codes([1]), k=3)[0]
        expected = sorted(((code ^ 1).bit_count(), id_.encode()) for id_, code in items.items())[:3]
        assert [(hit.distance, hit.id.encode()) for hit in found] == expected
        assert set(folder.glob("shards/*/segments/*")) == manifest._paths(folder, manifest.read_manifest(folder))
        assert index.verify().problems == ()
        index.replace(["afterwards"], workload.codes([1]))


def test_the_life_changes_both_shards_at_once(tmp_path):
    with TwoShards(tmp_path / "index", bits=workload.BITS, writable=True) as index:
        assert any(len(index._by_shard(list(items))) == 2 for _, items in workload.STEPS if items)


def test_no_power_cut_loses_what_was_acknowledged_or_leaves_half_of_a_change(broken_after):
    broken, n_states = broken_after()
    assert broken == []
    assert n_states > 100


@pytest.mark.parametrize(
    "defect",
    [
        "no_sync_of_files",
        "no_sync_of_the_names_of_segments",
        "no_sync_of_the_name_of_the_manifest",
        "removal_before_the_commit",
        "a_commit_for_each_shard",
    ],
)
def test_a_defect_in_the_order_of_writing_would_be_seen(defect, broken_after):
    broken, _ = broken_after(defect, stop_at=1)
    assert broken
