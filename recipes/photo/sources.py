"""The photographs and sentences of the recipe, and which of them are learnt from: never a query, never validation."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets import Dataset, Split, load
from deepbinaries.files import read_lines

Rows = NDArray[np.int64]
NONE: Rows = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Source:
    """A collection and the rows of it that are learnt from, chosen by, and kept for the test."""

    dataset: Dataset
    train: Rows
    validation: Rows
    query: Rows
    database: Rows

    @property
    def name(self) -> str:
        return self.dataset.name


def read_sources(root: Path) -> list[Source]:
    """coco18, iapr22 and, where `extra` was packed, the pairs without labels; from the folders of these names."""
    found = [_with_split(root, "coco18"), _with_split(root, "iapr22")]
    if (root / "extra").is_dir():
        extra = load("webdataset", root / "extra")
        found.append(Source(extra, np.arange(len(extra.ids)), NONE, NONE, NONE))
    return found


def _with_split(root: Path, name: str) -> Source:
    dataset = load("webdataset", root / name)
    parts = Split.load(root / name / "split.json").parts(dataset)
    train = np.setdiff1d(parts.database, parts.validation)
    return Source(dataset, train, parts.validation, parts.query, parts.database)


def training_sentences(sources: Iterable[Source]) -> list[str]:
    """Every different sentence that is learnt from, in the order of spelling."""
    return sorted({text for source in sources for row in source.train for text in source.dataset.sentences(int(row))})


def captions(data: Path, sources: Sequence[Source]) -> list[str]:
    """Every different sentence that is learnt from, also where the photographs of `extra` were not packed."""
    return sorted({*training_sentences(sources), *unpacked_extra(data, sources).values()})


def unpacked_extra(data: Path, sources: Sequence[Source]) -> dict[str, str]:
    """Ids and captions of `extra`, where its photographs are not among the sources."""
    listing = data / "coco18" / "extra.jsonl"
    if any(source.name == "extra" for source in sources) or not listing.exists():
        return {}
    return {item["id"]: item["text"] for item in map(json.loads, read_lines(listing))}


def digest_of(lines: Iterable[str]) -> str:
    """SHA-256 of lines in their order."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
