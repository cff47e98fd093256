"""The pictures of a collection, each under an id: files in a folder, members of tar files, rows of parquet files.

Nothing is decoded here, and no picture is read: an item only knows where its picture lies.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from deepbinaries.bulk.parquet import rows_of
from deepbinaries.datasets import load
from deepbinaries.datasets.base import Picture, PictureFile, Records
from deepbinaries.datasets.formats import SUFFIXES
from deepbinaries.datasets.item_columns import is_text
from deepbinaries.datasets.webdataset.shards import find_shards
from deepbinaries.errors import DataError, UsageError
from deepbinaries.index.id_order import MAX_ID_BYTES
from deepbinaries.search.walking import walk

KINDS = ("folder", "webdataset", "parquet")
BY_SUFFIX = {".tar": "webdataset", ".parquet": "parquet"}


class Item(NamedTuple):
    """One picture of a collection."""

    id: str
    picture: Picture


@dataclass
class Listing:
    """The items of a collection in a fixed order, and how many it holds that are none, by reason."""

    items: list[Item] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def kind_of(source: Path) -> str:
    """What a collection is, judged by its name and by what lies right inside.

    >>> kind_of(Path("train-{000..011}.tar")), kind_of(Path("train.parquet"))
    ('webdataset', 'parquet')
    """
    if not source.is_dir():
        if source.suffix not in BY_SUFFIX:
            raise DataError(f"{source} is no folder, .tar or .parquet file", next_step="give the pictures to encode")
        return BY_SUFFIX[source.suffix]
    suffixes = {path.suffix.lower() for path in source.iterdir() if not path.name.startswith(".")}
    found = [kind for suffix, kind in BY_SUFFIX.items() if suffix in suffixes]
    found += ["folder"] if suffixes & {f".{suffix}" for suffix in SUFFIXES} else []
    if len(found) > 1:
        raise UsageError(f"{source} holds files of several kinds", next_step=f"say which: --kind {' or '.join(found)}")
    return found[0] if found else "folder"


def list_items(
    source: Path,
    kind: str,
    *,
    apart: Sequence[Path] = (),
    id_column: str | None = None,
    picture_column: str | None = None,
) -> Listing:
    """The items of a collection of some kind; files and folders `apart` are passed over.

    Ids are those that `datasets.load` gives: paths below a folder, keys of tar files; and of parquet files what a
    column says, or else the file and the row.
    """
    source = source.absolute()
    listing = Listing()
    if kind == "folder":
        found = _files(source, apart, listing.left_out)
    elif kind == "webdataset":
        found = _members(source, listing.left_out)
    elif kind == "parquet":
        rows = rows_of(source, id_column=id_column, picture_column=picture_column)
        found = (Item(id_, picture) for id_, picture in rows)
    else:
        raise UsageError(f"no collection is a {kind!r}", next_step=f"choose one of {', '.join(KINDS)}")
    seen: set[str] = set()
    for item in found:
        if reason := _why_no_id(item.id) or ("its id stands for an earlier item" if item.id in seen else ""):
            listing.left_out[reason] += 1
        else:
            seen.add(item.id)
            listing.items.append(item)
    if not listing.items:
        raise DataError(f"there are no pictures in {source}", next_step="give another folder, or --kind")
    return listing


def _files(root: Path, apart: Sequence[Path], left_out: Counter[str]) -> Iterator[Item]:
    found = walk(root, apart=apart)
    left_out.update(found.refused.values())
    return (Item(seen.path, PictureFile(root / seen.path)) for seen in found.pictures)


def _members(root: Path, left_out: Counter[str]) -> Iterator[Item]:
    # One by one: of what the dataset's reader says of an item, only its place is kept.
    for shard in find_shards(root):
        dataset = load("webdataset", shard)
        if isinstance(dataset, Records):
            left_out.update(dataset.skips.counts)
            yield from _pictured(dataset)


def _pictured(dataset: Records) -> Iterable[Item]:
    return (Item(record.id, record.picture) for record in dataset.records if record.picture is not None)


def _why_no_id(text: str) -> str:
    """Why a text cannot be a line in a list of ids, and an id of an index; nothing where it can.

    >>> _why_no_id("beach.jpg"), _why_no_id("beach\\n.jpg")
    ('', 'its id holds a line break or another sign that lists of ids cannot hold')
    """
    if not is_text(text):
        return "its id is no valid Unicode"
    if not 1 <= len(text.encode()) <= MAX_ID_BYTES:
        return f"its id is empty or has more than {MAX_ID_BYTES:,} bytes"
    if any(sign in text for sign in "\n\r\0\ufeff"):
        return "its id holds a line break or another sign that lists of ids cannot hold"
    return ""
