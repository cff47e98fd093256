"""Names of methods, datasets, backbones and indexes, and the classes behind them.

A name costs nothing until it is used: the table holds import paths as text, so that listing
what exists imports none of it. To add one, write its file and add one line here.
"""

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deepbinaries.errors import Error, MissingExtraError, UsageError, unknown_name


@dataclass(frozen=True)
class Entry:
    """One registered name: where its code is, what it is in a few words, and the extra it needs."""

    target: str  # "package.module:attribute"
    summary: str
    extra: str = ""  # the optional dependency group, when there is one


class Registry(Mapping[str, Entry]):
    """The known names of one kind of thing."""

    def __init__(self, kind: str, entries: Mapping[str, Entry]):
        self.kind = kind
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> Entry:
        try:
            return self._entries[name]
        except KeyError:
            raise unknown_name(self.kind, name, self._entries) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def load(self, name: str) -> Any:
        """The class or function behind a name; `my.module:Class` names a user's own.

        >>> Registry("number", {}).load("math:pi")
        3.141592653589793
        """
        entry = Entry(target=name, summary="") if ":" in name else self[name]
        module, _, attribute = entry.target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as missing:
            if entry.extra:
                raise MissingExtraError(missing.name or module, entry.extra) from missing
            raise self._cannot_import(name, str(missing)) from missing
        except AttributeError as missing:
            raise self._cannot_import(name, str(missing)) from missing

    def _cannot_import(self, name: str, reason: str) -> Error:
        return UsageError(
            f"the {self.kind} {name!r} cannot be imported ({reason})",
            next_step="give it as package.module:Name and check that Python finds the module",
        )


METHODS = Registry("method", {})

DATASETS = Registry(
    "dataset",
    {
        "arrays": Entry("deepbinaries.datasets.arrays:load", "features and labels from .npz or .mat files"),
        "coco": Entry("deepbinaries.datasets.coco:load", "Microsoft COCO, official 2014 or 2017 files"),
        "coco18": Entry("deepbinaries.datasets.webdataset:load", "25,000 COCO photographs with 18 labels, tar shards"),
        "folder": Entry("deepbinaries.datasets.folder:load", "a folder of pictures, with or without captions"),
        "iapr-tc12": Entry("deepbinaries.datasets.iapr_tc12:load", "IAPR TC-12, official files"),
        "iapr22": Entry("deepbinaries.datasets.webdataset:load", "IAPR TC-12 in the paper's size, tar shards"),
        "inria-web-queries": Entry("deepbinaries.datasets.inria_web_queries:load", "INRIA Web Queries"),
        "scenes": Entry("deepbinaries.datasets.scenes:load", "generated pictures and sentences, no files needed"),
        "wiki": Entry("deepbinaries.datasets.arrays:load", "features of 2,866 Wikipedia articles with ten classes"),
        "webdataset": Entry("deepbinaries.datasets.webdataset:load", "tar shards, read without unpacking"),
    },
)

BACKBONES = Registry("backbone", {})

INDEXES = Registry("index", {})

KINDS = {"methods": METHODS, "datasets": DATASETS, "backbones": BACKBONES, "indexes": INDEXES}
