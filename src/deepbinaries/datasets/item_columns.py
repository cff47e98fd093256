"""Ids, sentences and labels out of one JSON object: the columns that folders and shards share.

`captions`, `caption` or `text` holds a text or a list of texts, `labels` or `label` a name, a number
or a list of them, `id` the item's own name. What is missing or null is simply not known.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from deepbinaries.datasets.base import Record, Skips
from deepbinaries.errors import DataError
from deepbinaries.files import read_json

CAPTION_COLUMNS = ("captions", "caption", "text")
LABEL_COLUMNS = ("labels", "label")
MAX_TEXT_BYTES = 2**20  # the largest text that annotates one item


class UnusableItemError(Exception):
    """One item that cannot be taken; readers count the reason, or refuse the item when they are strict."""

    def __init__(self, reason: str, detail: str = ""):
        super().__init__(reason)
        self.reason = reason
        self.detail = detail

    def count(self, skips: Skips, where: str) -> None:
        skips.add(self.reason, f"{where}, {self.detail}" if self.detail else where)


class LabelNames:
    """The label names a dataset states; without such a list every name is taken, and a number is its own name.

    >>> LabelNames(["cat", "dog"]).name(1), LabelNames(None).name(1)
    ('dog', '1')
    """

    def __init__(self, names: Sequence[str] | None):
        self.names = names
        self._known = frozenset(names or ())

    @classmethod
    def read(cls, path: Path, key: str) -> "LabelNames":
        """The list called `key` in a JSON file, where there is such a file and such a list."""
        names = read_object(path).get(key)
        if names is None:
            return cls(None)
        if not isinstance(names, list) or not all(is_text(name) and name for name in names):
            raise DataError(f"{key!r} in {path} is not a list of names", next_step="list the label names in order")
        if len(set(names)) != len(names):
            raise DataError(f"{key!r} in {path} has a name twice", next_step="give every label a name of its own")
        return cls(names)

    def name(self, value: object) -> str:
        """The name of a label that a file gives by name or by number; numbers may be written as text."""
        if isinstance(value, str) and (value in self._known if self.names is not None else _is_name(value)):
            return value
        number = _whole_number(value)
        if self.names is None and number is not None:
            return str(number)
        if self.names is not None and number is not None and number < len(self.names):
            return self.names[number]
        known = "one of the list of labels" if self.names is not None else "a name or a number from 0 on"
        raise UnusableItemError(f"a label is not {known}", f"{value!a:.80}")

    def order(self, records: Iterable[Record]) -> Sequence[str]:
        """The stated names, or those that occur: numbers by size, anything else by alphabet."""
        if self.names is not None:
            return self.names
        names = sorted({name for record in records for name in record.labels})
        if all(name.isascii() and name.isdecimal() for name in names):
            names.sort(key=lambda name: (len(name.lstrip("0")), name.lstrip("0")))
        return names


def sentences_in(row: Mapping[str, Any], skips: Skips, where: str) -> tuple[str, ...]:
    """An item's sentences; blank ones are left out and counted.

    >>> sentences_in({"captions": ["two dogs", " "]}, Skips(strict=False), "line 1")
    ('two dogs',)
    """
    column = first_present(row, CAPTION_COLUMNS)
    texts = _as_list(row[column]) if column else []
    if not all(is_text(text) for text in texts):
        raise UnusableItemError(f"{column!r} is neither a text nor a list of texts")
    for text in texts:
        if not text.strip():
            skips.add("a caption is blank", where)
    return tuple(text for text in texts if text.strip())


def labels_in(row: Mapping[str, Any], label_names: LabelNames) -> tuple[str, ...]:
    """An item's label names, each once.

    >>> labels_in({"labels": [1, "cat"]}, LabelNames(["cat", "dog"]))
    ('dog', 'cat')
    """
    column = first_present(row, LABEL_COLUMNS)
    values = _as_list(row[column]) if column else []
    return tuple(dict.fromkeys(label_names.name(value) for value in values))


def id_in(row: Mapping[str, Any], default: str) -> str:
    """The id an item states, else the default; ids are lines of split files, so they hold no line break."""
    stated = row.get("id")
    if isinstance(stated, int) and not isinstance(stated, bool):
        return str(stated)
    id_ = default if stated is None else stated
    if not is_text(id_) or not id_ or "\n" in id_ or "\r" in id_:
        raise UnusableItemError("an id is empty, holds a line break or is no valid text", f"{id_!a:.80}")
    return id_


def first_present(row: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    """The first of the columns that holds anything, or None."""
    return next((column for column in columns if row.get(column) is not None), None)


def is_text(value: object) -> TypeGuard[str]:
    """Whether a value is text that can be written as UTF-8; JSON may hold half characters, which cannot.

    >>> is_text("é"), is_text(json.loads('"' + chr(92) + 'ud800"')), is_text(3)
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def parse_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object in a text; a ValueError says why there is none."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"it holds {type(value).__name__}, not an object")
    return value


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object that describes a dataset, empty where there is no such file."""
    if not path.is_file():
        return {}
    content = read_json(path)
    if not isinstance(content, dict):
        raise DataError(f"{path} is not a JSON object", next_step="correct it or copy it again")
    return content


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_name(text: str) -> bool:
    return bool(text.strip()) and is_text(text)


def _whole_number(value: object) -> int | None:
    """The number from 0 on that a value is, or spells."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
