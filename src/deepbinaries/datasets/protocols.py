"""Named splits: how papers cut their collections into queries, database and training items.

A protocol takes a dataset and gives a `Split`. Where a paper leaves something open, the choice is a
setting, and the counts that came out stand in the split's note. The sizes are settings too.

In every protocol the training items are a part of the database, as in the paper, and the validation
items a part of the training items: a tenth, unless `validation` says otherwise.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from deepbinaries.datasets.base import Dataset, digest
from deepbinaries.datasets.coco.karpathy import SOURCES
from deepbinaries.datasets.official import choice
from deepbinaries.datasets.splits import Split, by_fraction, draw
from deepbinaries.errors import SplitError, UsageError, unknown_name
from deepbinaries.registry import check_settings

TRAIN_2014 = ("train2014", *SOURCES["train"])
VAL_2014 = ("val2014", *SOURCES["val"])


def make_split(
    name: str,
    dataset: Dataset,
    *,
    seed: int = 0,
    root: str | Path | None = None,
    sentence: str = "first",  # or "random": the sentence that stands for an item is drawn by the seed
    **settings: Any,
) -> Split:
    """The split called `name`: a protocol, `fraction:0.1`, `published`, `file` or the path of a JSON file.

    `published` is the split the dataset itself carries, `file` is `split.json` in the root. An empty name
    takes the first of these that is there, and otherwise lets a tenth of the items ask.

    >>> from deepbinaries.datasets import load
    >>> split = make_split("fraction:0.2", load("scenes", items=50))
    >>> len(split.query), len(split.database)
    (10, 40)
    """
    choice("sentence", sentence, ("first", "random"))
    split = _resolve(name, dataset, seed, None if root is None else Path(root), settings)
    if sentence == "random":
        split = replace(split, sentence_of=_random_sentences(split, dataset, seed))
    return split


def coco_tvdb(
    dataset: Dataset,
    *,
    seed: int = 0,
    query: int = 5_000,
    train: int = 50_000,
    extra: int = 5_000,  # validation images that join the training images
    query_source: str = "val",  # or "any": queries may also be training images of 2014
    validation: int | None = None,
) -> Split:
    """COCO in the paper: the training images of 2014 and 5,000 of validation; 50,000 to learn from, 5,000 queries.

    The paper does not say which images ask. When the 5,000 of validation do, all its sizes come out.
    """
    choice("query_source", query_source, ("val", "any"))
    first, second = _labelled(dataset, TRAIN_2014), _labelled(dataset, VAL_2014)
    if not first or not second:
        raise SplitError(
            f"{dataset.name!r} does not say which of its images were training and which validation images in 2014",
            next_step="read coco with release='2014', or release='karpathy' where only the files of 2017 are there",
        )
    added = draw(second, extra, seed=seed, purpose="candidates")
    asking = draw(added if query_source == "val" else [*first, *added], query, seed=seed, purpose="query")
    return _assemble(
        dataset,
        "coco-tvdb",
        query=asking,
        database=[*first, *added],
        train=draw(set(first) - set(asking), train, seed=seed, purpose="train"),
        validation=validation,
        seed=seed,
        note=f"{len(first):,} labelled training images, {len(added):,} of {len(second):,} validation images",
    )


def coco_karpathy(dataset: Dataset, *, seed: int = 0, validation: int | None = None) -> Split:
    """COCO as captioning and matching papers cut it: the 5,000 test images ask, train and restval are searched."""
    asking, learnt = _labelled(dataset, ("test",)), _labelled(dataset, ("train", "restval"))
    if not asking or not learnt:
        raise SplitError(
            f"{dataset.name!r} does not say which images are test images",
            next_step="read coco with release='karpathy'",
        )
    note = f"{len(asking):,} labelled test images, {len(learnt):,} of train and restval"
    return _assemble(
        dataset,
        "coco-karpathy",
        query=asking,
        database=learnt,
        train=sorted(learnt),
        validation=validation,
        seed=seed,
        note=note,
    )


def coco_modern(
    dataset: Dataset, *, seed: int = 0, query: int = 5_000, train: int = 10_000, validation: int | None = None
) -> Split:
    """COCO in later hashing papers: of all labelled images 5,000 ask, 10,000 are learnt from, the rest is searched."""
    items = _labelled(dataset)
    asking = draw(items, query, seed=seed, purpose="query")
    return _assemble(
        dataset,
        "coco-modern",
        query=asking,
        database=items,
        train=draw(set(items) - set(asking), train, seed=seed, purpose="train"),
        validation=validation,
        seed=seed,
        note=f"{len(items):,} labelled images",
    )


def iapr_tvdb(
    dataset: Dataset,
    *,
    seed: int = 0,
    candidates: int = 18_000,
    query: int = 2_200,
    train: int = 5_000,
    validation: int | None = None,
) -> Split:
    """IAPR TC-12 in the paper: at most 18,000 items with one of 22 labels, 2,200 queries, 5,000 to learn from."""
    found = _labelled(dataset)
    items = draw(found, min(candidates, len(found)), seed=seed, purpose="candidates")
    asking = draw(items, query, seed=seed, purpose="query")
    return _assemble(
        dataset,
        "iapr-tvdb",
        query=asking,
        database=items,
        train=draw(set(items) - set(asking), train, seed=seed, purpose="train"),
        validation=validation,
        seed=seed,
        note=f"{len(items):,} of {len(found):,} items with one of {len(dataset.labels.names)} labels",
    )


def webqueries_tvdb(
    dataset: Dataset,
    *,
    seed: int = 0,
    query: int = 10,  # of each concept
    train: int | None = None,  # the rest, as in the paper; fewer leave items for the clean gallery
    validation: int | None = None,
) -> Split:
    """INRIA Web Queries in the paper: 10 items of each concept ask, the rest is searched and learnt from."""
    if (dataset.labels.sizes() > 1).any():
        raise SplitError(
            f"an item of {dataset.name!r} has two labels; webqueries-tvdb draws by the one concept of each item",
            next_step="take another protocol",
        )
    of_concept: dict[int, list[str]] = defaultdict(list)
    for id_, labels in zip(dataset.ids, dataset.labels.sets(), strict=True):
        for column in labels:
            of_concept[column].append(id_)
    asking: list[str] = []
    for column, ids in sorted(of_concept.items()):
        asking += draw(ids, query, seed=seed, purpose=f"query of {dataset.labels.names[column]!r}")
    items = _labelled(dataset)
    rest = set(items) - set(asking)
    return _assemble(
        dataset,
        "webqueries-tvdb",
        query=sorted(asking),
        database=items,
        train=draw(rest, len(rest) if train is None else train, seed=seed, purpose="train"),
        validation=validation,
        seed=seed,
        note=f"{len(items):,} items of {len(of_concept):,} concepts",
    )


PROTOCOLS: dict[str, Callable[..., Split]] = {
    "coco-tvdb": coco_tvdb,
    "coco-karpathy": coco_karpathy,
    "coco-modern": coco_modern,
    "iapr-tvdb": iapr_tvdb,
    "webqueries-tvdb": webqueries_tvdb,
}


def _resolve(name: str, dataset: Dataset, seed: int, root: Path | None, settings: dict[str, Any]) -> Split:
    if name in PROTOCOLS:
        check_settings(PROTOCOLS[name], settings, of=f"the protocol {name!r}", apart=["dataset", "seed"])
        return PROTOCOLS[name](dataset, seed=seed, **settings)
    for setting in settings:
        raise UsageError(f"the split {name!r} has no setting {setting!r}", next_step="leave it out, or name a protocol")
    published = getattr(dataset, "split", None)
    beside = None if root is None else root / "split.json"
    if name in ("", "published") and isinstance(published, Split):
        return published
    if beside is not None and (name == "file" or (name in ("", "published") and beside.exists())):
        return Split.load(beside)
    if name in ("published", "file"):
        raise SplitError(
            f"no published split of {dataset.name!r} is at hand",
            next_step="give the folder that holds split.json, the path of a split file, or the name of a protocol",
        )
    if name.endswith(".json") or Path(name).is_file():
        return Split.load(name)
    if not name or name.startswith("fraction:"):
        return by_fraction(dataset, _fraction(name.removeprefix("fraction:") if name else "0.1"), seed=seed)
    raise unknown_name("split", name, [*PROTOCOLS, "fraction:0.1", "published", "file"])


def _fraction(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{text!r} is no fraction", next_step="write it as fraction:0.1") from None


def _labelled(dataset: Dataset, sources: Collection[str] = ()) -> list[str]:
    """The ids of items that carry a label; of some sources only, when these are given."""
    labelled = [id_ for id_, size in zip(dataset.ids, dataset.labels.sizes(), strict=True) if size]
    if not sources:
        return labelled
    source_of = dict(zip(dataset.ids, getattr(dataset, "sources", ()), strict=False))
    return [id_ for id_ in labelled if source_of.get(id_) in sources]


def _assemble(
    dataset: Dataset,
    protocol: str,
    *,
    query: Iterable[str],
    database: Iterable[str],
    train: list[str],
    validation: int | None,
    seed: int,
    note: str,
) -> Split:
    """The split; queries leave the database, validation items are drawn from the training items."""
    query = tuple(query)
    chosen = draw(train, len(train) // 10 if validation is None else validation, seed=seed, purpose="validation")
    return Split(
        dataset=dataset.name,
        query=query,
        database=tuple(sorted(set(database) - set(query))),
        train=tuple(train),
        validation=tuple(chosen),
        protocol=protocol,
        seed=seed,
        note=note,
        items=digest(dataset, labels=False),
    )


def _random_sentences(split: Split, dataset: Dataset, seed: int) -> dict[str, int]:
    """Which sentence stands for each item of the split, drawn as ids are: by hashing, whatever their order."""
    wanted = {*split.query, *split.database}
    chosen = {}
    for row, id_ in enumerate(dataset.ids):
        n = len(dataset.sentences(row)) if id_ in wanted else 0
        if n > 1:
            chosen[id_] = int.from_bytes(hashlib.sha256(f"{seed}/sentence/{id_}".encode()).digest()) % n
    return chosen
