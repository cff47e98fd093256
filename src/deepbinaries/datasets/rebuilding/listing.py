"""The items of a dataset by id, with the part of the split and the labels of each, in one small file."""

import hashlib
import json
import lzma
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets.base import Dataset, Record, digest
from deepbinaries.datasets.rebuilding.pictures import look
from deepbinaries.datasets.splits import PARTS, Split
from deepbinaries.errors import SplitError
from deepbinaries.files import read_bytes, written_whole
from deepbinaries.vision import read_picture

# The lists that hold an item, by the smallest of them.
LISTS_OF = {
    "query": ("query",),
    "database": ("database",),
    "train": ("database", "train"),
    "validation": ("database", "train", "validation"),
}
WORD = re.compile(r"[^\W_]+")

Numbers = NDArray[np.uint32]


@dataclass(frozen=True)
class Found:
    """What a release has of a list."""

    records: list[Record] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)  # ids, and what is wanting


@dataclass(frozen=True, eq=False)
class Listing:
    """Which items there are, in the order of the dataset's rows; arrays have one entry an item."""

    ids: tuple[str, ...]
    parts: NDArray[np.uint8]  # the smallest list of the split that holds it, by its place in PARTS
    labels: Numbers  # bit b is set where it carries label b
    label_names: tuple[str, ...]
    digest: str  # of ids, sentences and labels: what results record
    note: str = ""  # of the split
    captions: Numbers = field(default_factory=lambda: np.empty(0, np.uint32))  # digests, where captions find items
    looks: Numbers = field(default_factory=lambda: np.empty(0, np.uint32))  # of pictures, where captions are shared

    @classmethod
    def of(cls, dataset: Dataset, split: Split, *, by_caption: bool) -> "Listing":
        """The list of a dataset that is at hand; `by_caption` adds what finds its items among others."""
        part_of = {id_: number for number, part in enumerate(PARTS) for id_ in getattr(split, part)}
        left = [id_ for id_ in dataset.ids if id_ not in part_of]
        if left:
            raise SplitError(f"{len(left):,} items are in no part (first: {left[0]})", next_step="split all items")
        rows = range(len(dataset.ids) if by_caption else 0)
        return cls(
            ids=tuple(dataset.ids),
            parts=np.array([part_of[id_] for id_ in dataset.ids], dtype=np.uint8),
            labels=np.array([sum(1 << column for column in of_item) for of_item in dataset.labels.sets()], np.uint32),
            label_names=tuple(dataset.labels.names),
            digest=digest(dataset),
            note=split.note,
            captions=np.array([caption_digest(dataset.sentences(row)[0]) for row in rows], np.uint32),
            looks=np.array([look(read_picture(dataset.picture(row))) for row in rows], np.uint32),
        )

    def labels_of(self, row: int) -> tuple[str, ...]:
        """The label names of an item."""
        return tuple(name for bit, name in enumerate(self.label_names) if self.labels[row] >> bit & 1)

    def split(self, name: str, *, only: Collection[str]) -> Split:
        """The split, of some of the items."""
        listed = [(id_, PARTS[number]) for id_, number in zip(self.ids, self.parts, strict=True) if id_ in only]
        query, database, train, validation = (
            tuple(id_ for id_, smallest in listed if part in LISTS_OF[smallest]) for part in PARTS
        )
        return Split(name, query, database, train, validation, note=self.note)

    def write(self, path: Path) -> None:
        """Write the list, arrays of numpy packed by xz; the same list gives the same bytes."""
        about = {"label_names": self.label_names, "digest": self.digest, "note": self.note}
        file = BytesIO()
        np.savez(
            file,
            about=np.array(json.dumps(about)),
            ids=np.array([id_.encode() for id_ in self.ids]),
            parts=self.parts,
            labels=self.labels,
            captions=self.captions,
            looks=self.looks,
        )
        with written_whole(path) as packed:
            packed.write(lzma.compress(file.getvalue(), preset=9))

    @classmethod
    def read(cls, path: Path) -> "Listing":
        """The list in a file."""
        with np.load(BytesIO(lzma.decompress(read_bytes(path))), allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
        about = json.loads(str(arrays.pop("about")))
        ids = tuple(id_.decode() for id_ in arrays.pop("ids").tolist())
        return cls(ids, label_names=tuple(about.pop("label_names")), **about, **arrays)


def caption_digest(caption: str) -> int:
    """32 bits of the SHA-256 of a caption's words; blanks, signs and capitals make no difference.

    >>> caption_digest("Two dogs, running.\\n") == caption_digest("two dogs running")
    True
    """
    words = " ".join(WORD.findall(caption.lower()))
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:4])
