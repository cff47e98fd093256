"""Splits: which items ask, which are searched, which are learnt from.

A split is four lists of ids with a digest each, never only a seed. Lists are drawn by hashing
ids with the seed, so that a draw is the same on every machine and in every release, and does not
depend on the order of the items.

Two galleries can be searched: `database` holds the training items, as the paper's does; `clean`
leaves them out. A third, `with-queries`, is the paper's literal wording: the queries stay in.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets.base import Dataset, digest
from deepbinaries.datasets.labels import Labels
from deepbinaries.errors import SplitError, UsageError, unknown_name
from deepbinaries.files import read_json, write_json

FORMAT = "deepbinaries-split"
VERSION = 1
PARTS = ("query", "database", "train", "validation")
GALLERIES = ("database", "clean", "with-queries")


def ids_digest(ids: Iterable[str]) -> str:
    """SHA-256 of the sorted ids joined by newlines.

    >>> ids_digest(["b", "a"]) == ids_digest(["a", "b"])
    True
    """
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


def draw(ids: Iterable[str], n: int, *, seed: int, purpose: str) -> list[str]:
    """`n` of the ids, drawn by a seed; another purpose gives an independent draw.

    >>> draw(["a", "b", "c"], 2, seed=0, purpose="query") == draw(["c", "b", "a"], 2, seed=0, purpose="query")
    True
    """
    ids = list(ids)
    if n > len(ids):
        raise SplitError(
            f"{n:,} items are asked for as {purpose}, but only {len(ids):,} can be drawn from",
            next_step="ask for fewer, or check that the dataset is whole with `deepbinaries dataset check`",
        )
    return sorted(sorted(ids, key=lambda id_: hashlib.sha256(f"{seed}/{purpose}/{id_}".encode()).digest())[:n])


@dataclass(frozen=True)
class Split:
    """Lists of ids: `train` is a part of `database`, `validation` a part of `train`, `query` is apart from both."""

    dataset: str
    query: tuple[str, ...]
    database: tuple[str, ...]
    train: tuple[str, ...] = ()
    validation: tuple[str, ...] = ()
    protocol: str = "file"  # how the lists came about
    seed: int | None = None
    queries_in_gallery: bool = False  # only a split that says so may hold a query in its database
    sentence_of: Mapping[str, int] = field(default_factory=dict)  # which sentence stands for an item; else the first
    note: str = ""
    items: str = ""  # the digest of the dataset's items, where it was known when the split was made

    def __post_init__(self) -> None:
        for part in PARTS:
            ids = getattr(self, part)
            if len(set(ids)) != len(ids):
                raise SplitError(f"the {part} list of {self.dataset} repeats an id", next_step="list every id once")
        overlap = sorted(set(self.query) & set(self.database))
        if overlap and not self.queries_in_gallery:
            raise SplitError(
                f"the split of {self.dataset} has {len(overlap)} ids in both query and database "
                f"(first: {', '.join(overlap[:3])})",
                next_step="take them out of one, or set queries_in_gallery to follow a paper that leaves them in",
            )
        learnt = sorted(set(self.query) & set(self.train))
        if learnt:
            raise SplitError(
                f"the split of {self.dataset} trains on {len(learnt)} of its queries (first: {', '.join(learnt[:3])})",
                next_step="take them out of train: no flag allows this",
            )
        for part, whole in (("train", "database"), ("validation", "train")):
            outside = sorted(set(getattr(self, part)) - set(getattr(self, whole)))
            if outside:
                raise SplitError(
                    f"{len(outside)} {part} ids of {self.dataset} are not in {whole} (first: {outside[0]})",
                    next_step=f"add them to {whole}",
                )

    def digests(self) -> dict[str, str]:
        """The digest of each list: what a result records."""
        return {part: ids_digest(getattr(self, part)) for part in PARTS}

    def sentence(self, dataset: Dataset, row: int) -> str:
        """The one sentence that stands for an item, the same in every run."""
        sentences, chosen = dataset.sentences(row), self.sentence_of.get(dataset.ids[row], 0)
        if not 0 <= chosen < len(sentences):
            raise SplitError(
                f"{dataset.ids[row]} has {len(sentences)} sentences, number {chosen} is asked for",
                next_step="give it one, or leave it out of the split",
            )
        return sentences[chosen]

    def save(self, path: str | Path) -> None:
        """Write the split as JSON."""
        content: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        content |= {"name": self.dataset, "protocol": self.protocol, "seed": self.seed}
        content |= {"queries_in_gallery": self.queries_in_gallery, "note": self.note, "digests": self.digests()}
        content |= {"items": self.items}
        content |= {part: list(getattr(self, part)) for part in PARTS}
        if self.sentence_of:
            content["sentence_of"] = dict(self.sentence_of)
        write_json(content, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> "Split":
        """Read a split file and prove its digests."""
        path = Path(path)
        content = read_json(path)
        # The first published splits name no format; a later one that this release cannot read does.
        if not isinstance(content, dict) or content.get("version", VERSION) != VERSION:
            raise SplitError(
                f"{path} is no split of version {VERSION}", next_step="update deepbinaries, or see docs/datasets.md"
            )
        lists = {part: _id_list(content, part, path) for part in PARTS}
        digests, sentence_of = (_object(content, key, path) for key in ("digests", "sentence_of"))
        if not all(type(number) is int for number in sentence_of.values()):
            raise SplitError(f"{path} has a sentence_of that is no number", next_step="number sentences from 0")
        for part, ids in lists.items():
            stated = digests.get(part)
            if stated is not None and stated != ids_digest(ids):
                raise SplitError(
                    f"the {part} list of {path} is not the one its digest was made for", next_step="copy it again"
                )
        return cls(
            dataset=str(content.get("name", path.stem)),
            protocol=str(content.get("protocol", "file")),
            seed=content.get("seed"),
            queries_in_gallery=content.get("queries_in_gallery") is True,
            sentence_of=sentence_of,
            note=str(content.get("note", "")),
            items=str(content.get("items", "")),
            **lists,
        )

    def parts(self, dataset: Dataset, *, ignore_labels: Collection[str] = ()) -> "Parts":
        """The rows of each list in `dataset`; items without a label (left) are dropped and counted."""
        if self.items and self.items != digest(dataset, labels=False):
            raise SplitError(
                f"the split was made for other items of the name {self.dataset!r} than {dataset.name!r} holds",
                next_step="give the split that was made for this dataset, or make a new one",
            )
        row_of = {id_: row for row, id_ in enumerate(dataset.ids)}
        labels = dataset.labels.without(ignore_labels)
        labelled = labels.sizes() > 0 if len(labels.names) else np.ones(len(labels), dtype=bool)
        rows, dropped = {}, {}
        for part in PARTS:
            ids = getattr(self, part)
            unknown = [id_ for id_ in ids if id_ not in row_of]
            if unknown:
                raise SplitError(
                    f"{len(unknown):,} of {len(ids):,} {part} ids of the split of {self.dataset!r} are not in "
                    f"{dataset.name!r} (first: {unknown[0]})",
                    next_step="give the split that was made for this dataset",
                )
            all_rows = np.array([row_of[id_] for id_ in ids], dtype=np.int64)
            rows[part] = all_rows[labelled[all_rows]]
            dropped[part] = len(all_rows) - len(rows[part])
        return Parts(split=self, labels=labels, ignored=tuple(ignore_labels), dropped=dropped, **rows)


@dataclass(frozen=True, eq=False)
class Parts:
    """The rows of a dataset that take part, and the labels that decide what is relevant."""

    split: Split
    labels: Labels  # of all rows, ignored labels left out
    query: NDArray[np.int64]
    database: NDArray[np.int64]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    ignored: tuple[str, ...]
    dropped: Mapping[str, int]  # items without a label, by part

    def gallery(self, kind: str = "database") -> NDArray[np.int64]:
        """The rows that are searched, ascending: `database`, `clean` or `with-queries`."""
        others = np.setdiff1d(self.database, self.query)  # a split may leave its queries in the database
        if kind == "database":
            return others
        if kind == "clean":
            return np.setdiff1d(others, self.train)
        if kind == "with-queries":
            return np.union1d(others, self.query)
        raise unknown_name("gallery", kind, GALLERIES)

    def chance(self, kind: str = "database") -> float:
        """The probability that a random query and a random gallery item are relevant to each other."""
        return self.labels.chance(self.query, self.gallery(kind))

    def queries_without_positives(self, kind: str = "database") -> NDArray[np.int64]:
        """The queries to which nothing in the gallery is relevant."""
        present = self.labels.select(self.gallery(kind)).counts() > 0
        alone = [row for row in self.query if not present[self.labels.columns_of(row)].any()]
        return np.array(alone, dtype=np.int64)


def by_fraction(dataset: Dataset, query: float, *, seed: int = 0) -> Split:
    """A split of one's own data: a share of the items asks, half of the rest is learnt from.

    >>> from deepbinaries.datasets import load
    >>> split = by_fraction(load("scenes", items=100), 0.1)
    >>> [len(ids) for ids in (split.query, split.database, split.train, split.validation)]
    [10, 90, 45, 4]
    """
    if not 0 < query < 1:
        raise UsageError(f"a fraction of {query} leaves a side empty", next_step="give a number between 0 and 1")
    ids = set(dataset.ids)
    asking = draw(ids, max(1, round(len(ids) * query)), seed=seed, purpose="query")
    database = sorted(ids - set(asking))
    train = draw(database, len(database) // 2, seed=seed, purpose="train")
    validation = draw(train, len(train) // 10, seed=seed, purpose="validation")
    return Split(
        dataset=dataset.name,
        query=tuple(asking),
        database=tuple(database),
        train=tuple(train),
        validation=tuple(validation),
        protocol=f"fraction:{query}",
        seed=seed,
        items=digest(dataset, labels=False),
    )


def _object(content: dict[str, Any], key: str, path: Path) -> dict[str, Any]:
    found = content.get(key, {})
    if not isinstance(found, dict):
        raise SplitError(f"{path}: {key!r} is no object", next_step="see docs/datasets.md for the format")
    return found


def _id_list(content: dict[str, Any], part: str, path: Path) -> tuple[str, ...]:
    ids = content.get(part)
    if ids is None and part in ("train", "validation"):
        return ()
    if not isinstance(ids, list) or not all(isinstance(id_, str) for id_ in ids):
        raise SplitError(f"{path} has no list of ids called {part!r}", next_step="see docs/datasets.md for the format")
    return tuple(ids)
