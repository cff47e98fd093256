"""Any dataset, written as a folder or as WebDataset shards; read back, it has the same items in the same order.

Pictures keep their bytes; their suffix is that of their content. File names begin with the item's number, since
ids may hold anything; the id itself stands in the metadata. A destination appears whole or not at all.
"""

import io
import json
import os
import re
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from deepbinaries.datasets.base import Dataset, check_dataset
from deepbinaries.datasets.formats import suffix_by_content
from deepbinaries.datasets.splits import PARTS, Split
from deepbinaries.errors import DataError, Error, PictureError, SplitError, UsageError, unknown_name
from deepbinaries.progress import track
from deepbinaries.vision import MAX_BYTES

FORMS = ("folder", "webdataset")


class _Item(NamedTuple):
    key: str  # a name that is safe in any file system and in a shard
    suffix: str
    picture: bytes
    row: dict[str, Any]  # id, captions and labels


def export(
    dataset: Dataset,
    destination: str | Path,
    *,
    form: str = "folder",
    rows: Sequence[int] | None = None,
    split: Split | None = None,
    items_per_shard: int = 1000,
    progress: str = "",
) -> Path:
    """The folder that now holds the dataset, or the chosen rows of it, and `split.json` when a split is given.

    `form` is "folder" (pictures and `metadata.jsonl`) or "webdataset" (tar shards); the same dataset always gives
    the same bytes. `progress` is a mode of `progress.track`.
    """
    if form not in FORMS:
        raise unknown_name("form of export", form, FORMS)
    if items_per_shard < 1:
        raise UsageError(f"{items_per_shard} items a shard is too few", next_step="give 1 or more")
    check_dataset(dataset)
    chosen = _checked_rows(dataset, rows)
    if split is not None:
        _check_split(split, {dataset.ids[row] for row in chosen})
    destination = Path(destination).resolve()
    if not destination.name:
        raise UsageError(f"{destination} is no folder of its own", next_step="name a new folder")
    unfinished = destination.with_name(f".{destination.name}.{os.getpid()}.part")
    items = track(_items(dataset, chosen), f"writing {destination.name}", total=len(chosen), mode=progress)
    try:
        _check_free(destination)
        unfinished.mkdir(parents=True)
        label_names = list(dataset.labels.names)
        if form == "folder":
            _write_json(unfinished / "dataset.json", {"items": len(chosen), "label_names": label_names})
            _write_folder(items, unfinished)
        else:
            _write_json(unfinished / "info.json", {"items": len(chosen), "labels": label_names})
            _write_shards(items, unfinished, -(-len(chosen) // items_per_shard), items_per_shard)
        if split is not None:
            split.save(unfinished / "split.json")
        unfinished.rename(destination)
    except OSError as error:
        raise Error(
            f"{destination} cannot be written ({error.strerror})", next_step="make room, or choose another place"
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return destination


def safe_key(number: int, id_: str) -> str:
    """A file name without dots or folders for an item; the number makes it unique and keeps the order.

    >>> safe_key(7, "coco:391895"), safe_key(8, "a/b/c.jpg"), safe_key(9, "山")
    ('000007-coco-391895', '000008-a-b-c-jpg', '000009')
    """
    readable = re.sub(r"[^A-Za-z0-9_]+", "-", id_[:60]).strip("-")
    return f"{number:06d}-{readable}" if readable else f"{number:06d}"


def _items(dataset: Dataset, rows: Sequence[int]) -> Iterator[_Item]:
    for number, row in enumerate(rows):
        id_ = dataset.ids[row]
        picture = dataset.picture(row)
        suffix = suffix_by_content(picture)
        if suffix is None or len(picture) > MAX_BYTES:
            raise PictureError(
                f"the picture of {id_} is of no format that is read, or has more than {MAX_BYTES:,} bytes",
                next_step="repair it in the dataset, or take it away",
            )
        captions, labels = list(dataset.sentences(row)), list(dataset.labels.of(row))
        yield _Item(safe_key(number, id_), suffix, picture, {"id": id_, "captions": captions, "labels": labels})


def _write_folder(items: Iterator[_Item], folder: Path) -> None:
    (folder / "pictures").mkdir()
    with (folder / "metadata.jsonl").open("wb") as metadata:
        for item in items:
            name = f"pictures/{item.key}.{item.suffix}"
            (folder / name).write_bytes(item.picture)
            metadata.write(_json_bytes({"file_name": name, **item.row}) + b"\n")


def _write_shards(items: Iterator[_Item], folder: Path, n_shards: int, items_per_shard: int) -> None:
    for number in range(max(n_shards, 1)):  # no items are one empty shard, so that the folder can be read
        with tarfile.open(folder / f"shard-{number:06d}.tar", "w", format=tarfile.USTAR_FORMAT) as shard:
            for item in islice(items, items_per_shard):
                _add(shard, f"{item.key}.{item.suffix}", item.picture)
                _add(shard, f"{item.key}.json", _json_bytes(item.row))


def _add(shard: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)  # its time and owner are 0 unless they are set
    member.size = len(content)
    shard.addfile(member, io.BytesIO(content))


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_bytes(_json_bytes(content) + b"\n")


def _json_bytes(content: dict[str, Any]) -> bytes:
    try:
        return json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise DataError(
            f"{content.get('id', 'a label name')!a} holds text that is not valid Unicode",
            next_step="correct the text, or leave its row out",
        ) from None


def _checked_rows(dataset: Dataset, rows: Sequence[int] | None) -> list[int]:
    n_items = len(dataset.ids)
    chosen = list(range(n_items)) if rows is None else [int(row) for row in rows]
    if len(set(chosen)) != len(chosen) or any(not 0 <= row < n_items for row in chosen):
        raise UsageError(
            f"the rows repeat, or one is outside 0 to {n_items - 1}", next_step="give each row of the dataset once"
        )
    return chosen


def _check_split(split: Split, ids: set[str]) -> None:
    for part in PARTS:
        missing = sorted(set(getattr(split, part)) - ids)
        if missing:
            raise SplitError(
                f"{len(missing):,} {part} ids of the split are not among the items to write (first: {missing[0]})",
                next_step="write all items of the split, or make a split of the chosen ones",
            )


def _check_free(destination: Path) -> None:
    if destination.exists() and not (destination.is_dir() and not any(destination.iterdir())):
        raise UsageError(f"{destination} is not empty", next_step="choose a new folder, or empty this one first")
