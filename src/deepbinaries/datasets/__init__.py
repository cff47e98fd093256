"""Datasets: one face for every format, splits that never leak, and checks.

>>> scenes = load("scenes", items=10)
>>> len(scenes.ids), type(scenes.picture(0))
(10, <class 'bytes'>)
"""

import os
from pathlib import Path
from typing import Any

from deepbinaries.datasets.base import Dataset, Record, Records, check_dataset, digest
from deepbinaries.datasets.labels import Labels
from deepbinaries.datasets.splits import Parts, Split
from deepbinaries.errors import DataError
from deepbinaries.registry import DATASETS, check_settings


def load(name: str, /, root: str | Path | None = None, **settings: Any) -> Dataset:
    """The dataset called `name`, read from `root` (formats and settings: docs/datasets.md).

    Without a root, the folder of that name under the environment variable `DEEPBINARIES_DATA` is taken.
    `name` may also be `my.module:function`; it is called with the root and the settings.
    """
    reader = DATASETS.load(name)
    check_settings(reader, settings, of=f"the dataset {name!r}", apart=["root"])
    dataset = reader(find_root(name, root), **{**DATASETS.find(name).settings, **settings})
    if not isinstance(dataset, Dataset):
        raise DataError(
            f"{name} gives {type(dataset).__name__}, which is no dataset",
            next_step="return an object with name, ids, labels, sentences and picture",
        )
    return dataset


def find_root(name: str, root: str | Path | None = None) -> Path | None:
    """The folder a dataset is read from: the given one, or the one of its name in `DEEPBINARIES_DATA`."""
    home = os.environ.get("DEEPBINARIES_DATA")
    if root is None and home and (Path(home) / name).is_dir():
        return Path(home) / name
    return None if root is None else Path(root)


__all__ = ["Dataset", "Labels", "Parts", "Record", "Records", "Split", "check_dataset", "digest", "find_root", "load"]
