"""WebDataset: tar shards, read where they lie, without unpacking.

Neighbouring members of one key are one item; the key is the path up to the first dot of its last part.
An item has exactly one picture (`0001.jpg`, or another suffix of `formats`), and may have `0001.json` with the
columns of `item_columns`, `0001.txt` with one caption and `0001.cls` with one class number; json wins over both.
Its id is its key, unless its json states another. Links, devices, folders, dotfiles and other suffixes are
passed over.

`info.json` beside the shards may list the label names (`labels`) and state how many `items` there are;
a folder that holds another number is refused, so that a missing shard does not go unnoticed.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from deepbinaries.datasets.base import Record, Records, Skips
from deepbinaries.datasets.formats import SUFFIXES
from deepbinaries.datasets.item_columns import (
    CAPTION_COLUMNS,
    LABEL_COLUMNS,
    MAX_TEXT_BYTES,
    LabelNames,
    UnusableItemError,
    first_present,
    id_in,
    labels_in,
    parse_object,
    read_object,
    sentences_in,
)
from deepbinaries.datasets.webdataset.shards import ShardMember, find_shards, open_shard
from deepbinaries.datasets.webdataset.tar import Member, members
from deepbinaries.errors import DataError, UsageError

Members = Sequence[tuple[str, Member]]  # suffix and member, all of one key


def load(root: str | Path | None, *, name: str = "", strict: bool = False) -> Records:
    """The items of a folder of shards, of one shard, or of a range such as `shard-{000000..000011}.tar`.

    Without a `name`, results call the dataset by its folder.
    """
    if root is None:
        raise UsageError(
            "no shards were given",
            next_step="give the folder that holds them as root (--root), or name the one above it in DEEPBINARIES_DATA",
        )
    root = Path(root).absolute()
    shards = find_shards(root)
    folder = root if root.is_dir() else root.parent
    label_names = LabelNames.read(folder / "info.json", "labels")
    skips = Skips(strict=strict)
    records: list[Record] = []
    keys: set[str] = set()
    n_items = 0
    for shard in shards:
        with open_shard(shard) as descriptor:
            for key, parts in _items(descriptor, shard):
                n_items += 1
                where = f"{shard.name}, {key}".encode(errors="backslashreplace").decode()
                try:
                    if key in keys:
                        raise UnusableItemError("its key stands for an earlier item already")
                    keys.add(key)
                    records.append(_record(key, parts, descriptor, shard, label_names, skips, where))
                except UnusableItemError as problem:
                    problem.count(skips, where)
    if root.is_dir():
        _check_whole(root, n_items)
    return Records(
        name or folder.resolve().name or "webdataset", records, label_names=label_names.order(records), skips=skips
    )


def key_and_suffix(name: str) -> tuple[str, str]:
    """A member's key and its suffix, which is empty when the member belongs to no item.

    >>> key_and_suffix("a.b/0001.seg.PNG"), key_and_suffix("./0001.jpg"), key_and_suffix(".hidden.jpg")
    (('a.b/0001', 'seg.png'), ('0001', 'jpg'), ('', ''))
    """
    folder, slash, base = name.removeprefix("./").rpartition("/")
    stem, _, suffix = base.partition(".")
    return (folder + slash + stem, suffix.lower()) if stem and suffix else ("", "")


def _items(descriptor: int, shard: Path) -> Iterator[tuple[str, Members]]:
    named = ((*key_and_suffix(member.name), member) for member in members(descriptor, shard))
    for key, group in groupby((entry for entry in named if entry[1]), key=lambda entry: entry[0]):
        yield key, [(suffix, member) for _, suffix, member in group]


def _record(
    key: str, parts: Members, descriptor: int, shard: Path, label_names: LabelNames, skips: Skips, where: str
) -> Record:
    by_suffix = dict(parts)
    if len(by_suffix) < len(parts):
        raise UnusableItemError("two members have the same suffix")
    pictures = [member for suffix, member in parts if suffix in SUFFIXES]
    if len(pictures) > 1:
        raise UnusableItemError("it has more than one picture")
    if not pictures:
        raise UnusableItemError("it has no picture")
    row = _row(
        {suffix: _text(descriptor, by_suffix[suffix]) for suffix in ("json", "txt", "cls") if suffix in by_suffix}
    )
    return Record(
        id=id_in(row, default=key),
        picture=ShardMember(shard, pictures[0].offset, pictures[0].size),
        sentences=sentences_in(row, skips, where),
        labels=labels_in(row, label_names),
        source=shard.name,
    )


def _row(texts: dict[str, str]) -> dict[str, Any]:
    """The columns of an item; what json leaves open is taken from txt and cls."""
    try:
        row = parse_object(texts.get("json", "{}"))
    except ValueError as error:
        raise UnusableItemError("its json is not a JSON object", str(error)) from error
    if "txt" in texts and first_present(row, CAPTION_COLUMNS) is None:
        row["text"] = " ".join(texts["txt"].split())
    if "cls" in texts and first_present(row, LABEL_COLUMNS) is None:
        row["label"] = texts["cls"].strip()
        if not row["label"].isascii() or not row["label"].isdecimal():
            raise UnusableItemError("its cls is not a class number", f"{row['label']!a:.80}")
    return row


def _text(descriptor: int, member: Member) -> str:
    if member.size > MAX_TEXT_BYTES:
        raise UnusableItemError(f"a text has more than {MAX_TEXT_BYTES:,} bytes")
    try:
        return os.pread(descriptor, member.size, member.offset).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnusableItemError("a text is not valid UTF-8") from None


def _check_whole(root: Path, n_items: int) -> None:
    stated = read_object(root / "info.json").get("items")
    if isinstance(stated, int) and stated != n_items:
        raise DataError(
            f"{root} holds {n_items:,} items, and its info.json says {stated:,}",
            next_step="copy the missing shards, or name those you want as shard-{000..001}.tar",
        )
