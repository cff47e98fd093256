"""What the forms are compared on: a dataset with a rule, and the rows of it that take part, none of them a query."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from deepbinaries.datasets import Dataset, Parts, load
from deepbinaries.datasets.splits import Split
from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.texts import Read
from recipes.photo.sources import Rows


@dataclass(frozen=True)
class Task:
    """What is to be found; rule, batch and reading as in results/photographs.py."""

    dataset: str
    rule: str
    ignored: tuple[str, ...]  # labels that do not count
    batch: int
    reading: tuple[Read, int]
    epochs: int


TASKS = {
    "r18": Task("coco18", "r18", (), 512, ("first", 16), epochs=12),
    "r17": Task("coco18", "r17", ("person",), 512, ("first", 16), epochs=20),
    "iapr22": Task("iapr22", "all", (), 256, ("whole", 40), epochs=25),
}


@dataclass(frozen=True, eq=False)
class Collection:
    """A dataset and the rows of it that take part; no query is among them."""

    dataset: Dataset
    parts: Parts  # those of the split, with validation items in the place of its queries
    learnt: Rows

    @property
    def judged(self) -> Rows:
        """The validation items, and after them the gallery."""
        return np.concatenate([self.parts.query, self.parts.gallery("clean")])


def read_collection(data: Path, task: Task, limit: int | None) -> Collection:
    """The task's dataset; with a limit, a split of only so many items to learn from, to ask for, and to search."""
    dataset = load(task.dataset, data / task.dataset)
    split = Split.load(data / task.dataset / "split.json")
    if limit is not None:
        split = cut(split, limit)
    parts = split.parts(dataset, ignore_labels=task.ignored)
    gallery = parts.gallery("clean")
    # A split may leave its queries in the database; with validation items in their place nothing else would leave
    # them out of what is searched.
    without = replace(parts, query=parts.validation, database=np.setdiff1d(parts.database, parts.query))
    collection = Collection(dataset, without, np.setdiff1d(parts.train, parts.validation))
    if len(collection.learnt) < 2 or not len(parts.validation) or not len(gallery):
        raise DataError(
            f"the split of {task.dataset} has {len(collection.learnt)} items to learn from, {len(parts.validation)} "
            f"that ask and {len(gallery)} in the clean gallery",
            next_step="give a split with a validation part and with items outside of the training part",
        )
    return collection


def cut(split: Split, n: int) -> Split:
    """A split of `n` items to learn from, `n` validation items and `n` of the clean gallery, without queries."""
    if n < 2:
        raise UsageError(f"{n} items teach nothing", next_step="give --items 2 or more, such as 64")
    validation, apart = set(split.validation), {*split.train, *split.query}
    learnt = [id_ for id_ in split.train if id_ not in validation][:n]
    gallery = [id_ for id_ in split.database if id_ not in apart][:n]
    asking = split.validation[:n]
    return replace(split, query=(), database=(*learnt, *asking, *gallery), train=(*learnt, *asking), validation=asking)
