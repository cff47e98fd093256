"""The same small life of an index in two shards, and ways to do it wrong.

    python sharded_workload.py ROOT [DEFECT]

lives it in ROOT/index and appends the number of each step that was acknowledged to ROOT/acknowledged.
"""

import os
import sys
from functools import partial
from pathlib import Path

import workload
from local_shards import LocalIndex

from deepbinaries.index import durable, manifest, ray, shard

TwoShards = partial(LocalIndex, shards=2)


def no_sync_of_files():
    durable.sync_file = lambda _descriptor: None


def no_sync_of_the_names_of_segments():
    shard.sync_folder = lambda _folder: None


def no_sync_of_the_name_of_the_manifest():
    manifest.sync_folder = lambda _folder: None


def removal_before_the_commit():
    commit = ray.commit

    def remove_first(root, after):
        ray.remove_replaced(root, manifest.read_manifest(root), after)
        commit(root, after)

    ray.commit = remove_first


def a_commit_for_each_shard():
    commit = ray.commit

    def one_by_one(root, after):
        before = manifest.read_manifest(root)
        commit(root, manifest.Manifest(after.version, (after.shards[0], before.shards[1])))
        commit(root, after)

    ray.commit = one_by_one


if __name__ == "__main__":
    root = Path(sys.argv[1])
    for defect in sys.argv[2:]:
        globals()[defect]()
    workload.EmbeddedIndex = TwoShards
    acknowledged = os.open(root / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    workload.live(root / "index", lambda number: os.write(acknowledged, f"{number}\n".encode()))
