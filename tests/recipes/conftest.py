"""What several recipes are tested on: drawn scenes, packed as coco18 and iapr22 are."""

import json
import tarfile

import pytest

from deepbinaries.datasets import load
from deepbinaries.datasets.splits import ids_digest
from recipes.photo.pictures import add, smaller


@pytest.fixture(scope="module")
def collections(tmp_path_factory):
    """A folder of coco18, iapr22 and extra, each a few scenes; every file of tests has its own."""
    root = tmp_path_factory.mktemp("data")
    scenes = load("scenes", items=40)
    write_shards(root / "coco18", scenes, range(20), labels=True, split=True)
    write_shards(root / "iapr22", scenes, range(20, 36), labels=True, split=True)
    write_shards(root / "extra", scenes, range(36, 40), labels=False, split=False)
    return root


def write_shards(folder, scenes, rows, *, labels, split):
    folder.mkdir(parents=True)
    with tarfile.open(folder / "shard-000.tar", "w") as shard:
        for row in rows:
            add(shard, f"{row:03}.avif", smaller(scenes.picture(row)))
            about = {"text": list(scenes.sentences(row))} | ({"labels": list(scenes.labels.of(row))} if labels else {})
            add(shard, f"{row:03}.json", json.dumps(about).encode())
    if split:
        ids = [f"{row:03}" for row in rows]
        parts = {"query": ids[:4], "database": ids[4:], "train": ids[4:12], "validation": ids[4:8]}
        digests = {part: ids_digest(of) for part, of in parts.items()}
        (folder / "split.json").write_text(json.dumps(parts | {"name": folder.name, "digests": digests}))
