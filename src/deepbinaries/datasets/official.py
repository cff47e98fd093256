"""What the readers of official collections share.

Nothing is downloaded here: a reader takes the folder into which the owner's archives were unpacked,
and says which file is missing, in which archive it comes and on which page that archive is offered.
"""

import json
import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepbinaries.datasets.base import Record, Records, Skips
from deepbinaries.errors import DataError, UsageError, unknown_name
from deepbinaries.files import read_bytes

MAX_JSON_BYTES = 2 * 2**30  # four times the largest official file
MAX_TEXT_BYTES = 64 * 2**20  # lists of labels and words
MAX_ITEM_BYTES = 2**20  # the text of one item
PICTURES = ("required", "optional")


@dataclass(frozen=True)
class Publication:
    """A collection of pictures and the page on which its owner offers it."""

    title: str
    page: str

    def home(self, root: str | Path | None, *inner: str) -> Path:
        """The folder that holds the collection: the root, or one inside it when the root has it."""
        if root is None:
            raise UsageError(
                f"{self.title} is read from files, and no folder was given",
                next_step=f"download it from {self.page} and give the folder in which it was unpacked as root (--root)",
            )
        root = Path(root)
        if not root.is_dir():
            raise DataError(
                f"{root} is no folder", next_step=f"give the folder in which {self.title} ({self.page}) was unpacked"
            )
        return next((root / name for name in inner if (root / name).is_dir()), root)

    def need(self, home: Path, archive_of: Mapping[str, str]) -> None:
        """Nothing, when all files (relative to the folder) are there; otherwise the error that names those missing."""
        missing = [file for file in archive_of if not (home / file).exists()]
        if missing:
            raise self.lacks(home, missing, [archive_of[file] for file in missing])

    def lacks(self, home: Path, missing: Sequence[str], archives: Sequence[str]) -> DataError:
        """The error for files that are not there.

        >>> flowers = Publication("Flowers", "flowers.example")
        >>> print(flowers.lacks(Path("data"), ["a.txt", "b.txt"], ["f.zip", "f.zip"]))
        data has no a.txt, b.txt; download f.zip of Flowers (flowers.example) and unpack it there
        """
        wanted = ", ".join(dict.fromkeys(archives))
        return DataError(
            f"{home} has no {', '.join(missing)}",
            next_step=f"download {wanted} of {self.title} ({self.page}) and unpack it there",
        )


def records(name: str, items: Iterable[Record], *, label_names: Sequence[str], skips: Skips) -> Records:
    """The items as a dataset; when none is left, the error that says why."""
    items = list(items)
    if not items:
        reasons = [f"{reason}: {count:,}" for reason, count in skips.counts.most_common()] or ["the lists are empty"]
        raise DataError(
            f"no item of {name} can be used ({', '.join(reasons)})", next_step="check that all archives are unpacked"
        )
    return Records(name, items, label_names=label_names, skips=skips)


def choice(setting: str, value: str, known: Collection[str]) -> str:
    """The value of a setting, when it is one of the known ones.

    >>> choice("pictures", "optional", PICTURES)
    'optional'
    """
    if value not in known:
        raise unknown_name(f"choice for the setting {setting!r}", value, known)
    return value


def read_json(path: Path, *, keep: Collection[str]) -> dict[str, Any]:
    """The JSON object of a file, in which every object has lost all keys but those to `keep`.

    Keys go as soon as their object is read, so that the outlines of COCO, most of its bytes, never
    stand in memory together: the peak is about twice the size of the file.
    """
    keep = frozenset(keep)
    try:
        size = path.stat().st_size
        if size > MAX_JSON_BYTES:
            raise DataError(f"{path} has {size:,} bytes, more than any official file", next_step="unpack it again")
        with path.open(encoding="utf-8") as file:
            content = json.load(file, object_hook=lambda entry: {key: entry[key] for key in keep & entry.keys()})
    except OSError as error:
        raise _unreadable(path, error) from error
    except (ValueError, RecursionError) as error:  # also what is not UTF-8
        raise DataError(f"{path} is not whole JSON ({error})", next_step="unpack its archive again") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} holds no JSON object", next_step="unpack its archive again")
    return content


def entries(content: Mapping[str, Any], key: str, path: Path) -> list[Any]:
    """The list under a key of a JSON file."""
    found = content.get(key)
    if not isinstance(found, list):
        raise DataError(f"{path} has no list {key!r}", next_step="unpack its archive again")
    return found


def read_text(path: Path, *encodings: str, limit: int = MAX_TEXT_BYTES) -> str:
    """The text of a small file, in the first encoding that fits; Latin-1, which always fits, comes last."""
    content = read_bytes(path, limit=limit)
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1")


def read_item(path: Path, *encodings: str, skips: Skips) -> str:
    """The text of one item's own file; one that cannot be read counts as empty, unless reading is strict."""
    try:
        return read_text(path, *encodings, limit=MAX_ITEM_BYTES)
    except DataError as error:
        skips.add("text file that cannot be read", error.problem)
        return ""


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; one call for all is faster than asking for each picture."""
    try:
        with os.scandir(folder) as found:
            return sorted(entry.name for entry in found)
    except OSError as error:
        raise _unreadable(folder, error) from error


def whole_number(text: str) -> int | None:
    """The number a text stands for, or None.

    >>> whole_number("27"), whole_number("2.7000000e+01"), whole_number("27.5"), whole_number("x")
    (27, 27, None, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if math.isfinite(value) and value.is_integer() and abs(value) < 2**53 else None


def most_frequent(sets: Iterable[Collection[str]], names: Sequence[str], n: int) -> list[str]:
    """The `n` names that most sets hold, in the order of `names`, which also decides ties; 0 keeps all that occur.

    >>> most_frequent([{"sea"}, {"sky", "sea"}, {"sky"}, {"boat"}], ["boat", "sky", "sea"], 2)
    ['sky', 'sea']
    """
    if n < 0:
        raise UsageError(f"{n} labels cannot be kept", next_step="give a positive number, or 0 for all")
    counts = Counter(name for labels in sets for name in labels)
    ranked = sorted((name for name in names if counts[name]), key=lambda name: -counts[name])
    kept = set(ranked[:n] if n else ranked)
    return [name for name in names if name in kept]


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"{path} cannot be read ({error.strerror})", next_step="restore it or its permissions")
