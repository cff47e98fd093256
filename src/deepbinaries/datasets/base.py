"""What a dataset is: rows with stable ids, sentences, labels and a picture each.

Readers of files build `Records`; a generated or a user's own dataset only needs the four members
of `Dataset`, and `check_dataset` says which promise it breaks.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from deepbinaries.datasets.labels import Labels
from deepbinaries.errors import DataError, PictureError
from deepbinaries.vision import MAX_BYTES


@runtime_checkable
class Dataset(Protocol):
    """Items in a fixed order; row i is the same item on every machine and in every run.

    A dataset may also have `sources` (where each item came from, which some protocols ask), `split` (as
    published), `skips` (what its reader left out), `features` (arrays by side, where there are no pictures) and
    `picture_stamp(row)` (a text that is another one once the row's picture is; no picture is read for it).
    """

    @property
    def name(self) -> str: ...

    @property
    def ids(self) -> Sequence[str]: ...

    @property
    def labels(self) -> Labels: ...

    def sentences(self, row: int) -> Sequence[str]: ...

    def picture(self, row: int) -> bytes:
        """The picture's file, as stored; `vision.read_picture` decodes it."""


class Picture(Protocol):
    """Where a picture's bytes are; nothing is opened before `read`.

    It may also have `stamp()`: a text that is another one once the bytes are, found without reading them.
    """

    def read(self) -> bytes: ...


def file_stamp(path: Path) -> str:
    """The size of a file and when it was changed: a moved folder keeps its stamps, a replaced file does not."""
    try:
        found = path.stat()
    except OSError:
        return "absent"
    return f"{found.st_size} {found.st_mtime_ns}"


@dataclass(frozen=True)
class PictureFile:
    """A picture in a file of its own."""

    path: Path

    def stamp(self) -> str:
        return file_stamp(self.path)

    def read(self) -> bytes:
        try:
            with self.path.open("rb") as file:
                return file.read(MAX_BYTES + 1)  # one more than allowed, so that the reader notices
        except OSError as error:
            raise PictureError(
                f"{self.path} cannot be read ({error.strerror})", next_step="restore the file or its permissions"
            ) from error


@dataclass(frozen=True)
class Record:
    """One item as a reader found it."""

    id: str
    picture: Picture | None
    sentences: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    source: str = ""  # the split or folder it came from
    extra: Mapping[str, Any] = field(default_factory=dict)  # original ids, rank, language


class Skips:
    """Items that a reader leaves out, counted by reason; in strict mode the first one is an error."""

    def __init__(self, *, strict: bool):
        self.strict = strict
        self.counts: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def add(self, reason: str, where: str, *, expected: bool = False) -> None:
        """Leave an item out, or refuse it when `strict`, unless whole files are `expected` to hold such items.

        >>> skips = Skips(strict=False)
        >>> skips.add("no caption", "captions.json, image 9")
        >>> dict(skips.counts), skips.first
        ({'no caption': 1}, {'no caption': 'captions.json, image 9'})
        """
        if self.strict and not expected:
            raise DataError(f"{where}: {reason}", next_step="correct it, or read without strict to leave it out")
        self.counts[reason] += 1
        self.first.setdefault(reason, where)


class Records:
    """A dataset read from files: the records, ordered, with one list of label names."""

    def __init__(self, name: str, records: Iterable[Record], *, label_names: Sequence[str] | None = None, skips: Skips):
        self.name = name
        self.records = list(records)
        self.skips = skips
        self.ids = tuple(record.id for record in self.records)
        self.sources = tuple(record.source for record in self.records)
        repeated = [id_ for id_, count in Counter(self.ids).items() if count > 1]
        if repeated:
            raise DataError(
                f"{name} has {len(repeated)} ids more than once (first: {repeated[0]})",
                next_step="give every item an id of its own",
            )
        self.labels = Labels.from_names([record.labels for record in self.records], label_names)

    def __len__(self) -> int:
        return len(self.records)

    def sentences(self, row: int) -> Sequence[str]:
        return self.records[row].sentences

    def picture(self, row: int) -> bytes:
        picture = self.records[row].picture
        if picture is None:
            raise PictureError(
                f"{self.name} knows no picture of {self.ids[row]}", next_step="give the folder that holds the pictures"
            )
        return picture.read()

    def picture_stamp(self, row: int) -> str:
        """A text that is another one once the row's picture is; empty where none can be had without reading it."""
        stamp = getattr(self.records[row].picture, "stamp", None)
        return stamp() if stamp else ""


def digest(dataset: Dataset, *, labels: bool = True) -> str:
    """SHA-256 over ids, sentences, labels and features: what a result records instead of a path.

    Pictures are not read for it: a collection may hold many gigabytes of them. Without `labels` it names
    the items whatever they are labelled with, which is what a split belongs to. The order of rows does not matter.
    """
    state = hashlib.sha256()
    rows = sorted(range(len(dataset.ids)), key=dataset.ids.__getitem__)
    for row in rows:
        line = [dataset.ids[row], list(dataset.sentences(row)), *([list(dataset.labels.of(row))] if labels else [])]
        state.update(json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    for side, values in sorted(getattr(dataset, "features", {}).items()):
        state.update(f"{side} {values.dtype} {values.shape}\n".encode() + np.ascontiguousarray(values[rows]).tobytes())
    return state.hexdigest()


def check_dataset(dataset: Dataset) -> None:
    """Prove that a dataset keeps the contract; stop at the first broken promise, with what to do about it."""
    ids = list(dataset.ids)
    broken = None
    if not dataset.name:
        broken = "name is empty: results record it"
    elif len(set(ids)) != len(ids):
        broken = "ids repeat: every item needs one of its own"
    elif any(not isinstance(id_, str) or not id_ or "\n" in id_ for id_ in ids):
        broken = "an id is empty, holds a line break or is no text: splits are lists of ids, one a line"
    elif len(dataset.labels) != len(ids):
        broken = f"labels has {len(dataset.labels)} rows for {len(ids)} ids: give an empty set where there is none"
    elif list(dataset.ids) != ids:
        broken = "ids change between two looks: rows must be stable"
    elif any(isinstance(dataset.sentences(row), str) for row in range(len(ids))):
        broken = "sentences(row) returns one text: return a sequence of texts"
    elif ids and list(dataset.sentences(0)) != list(dataset.sentences(0)):
        broken = "sentences(0) changes between two looks: draw once, by a seed"
    if broken:
        raise DataError(f"the dataset {dataset.name!r} breaks its contract", next_step=broken)
