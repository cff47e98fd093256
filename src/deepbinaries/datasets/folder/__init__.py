"""A folder of pictures, with captions and labels where somebody wrote them down.

Three ways of writing them down, all optional:

- `metadata.jsonl` or `metadata.csv`, in any folder: one row a picture, `file_name` relative to the file itself,
  other columns as in `item_columns`. It speaks for its folder and all below: a picture there that no row names
  is left out and counted.
- `beach.txt` beside `beach.jpg`, where no metadata file speaks for the folder: one caption a line.
- Neither: a plain folder of photographs, without captions and labels.

`dataset.json` in the root may list `label_names`; labels then are these names or their numbers, from 0.
An item's id is its path below the root, unless its row states another. Rows are in natural order (2 before 10).
"""

from pathlib import Path, PurePosixPath
from typing import Any

from deepbinaries.datasets.base import PictureFile, Record, Records, Skips
from deepbinaries.datasets.folder.listing import Listing, look_through, natural_key
from deepbinaries.datasets.folder.metadata import rows_of
from deepbinaries.datasets.item_columns import (
    MAX_TEXT_BYTES,
    LabelNames,
    UnusableItemError,
    id_in,
    labels_in,
    sentences_in,
)
from deepbinaries.errors import DataError, UsageError


def load(root: str | Path | None, *, strict: bool = False) -> Records:
    """The pictures in a folder and its subfolders; `strict` refuses what is otherwise left out and counted."""
    if root is None:
        raise UsageError("no folder was given", next_step="give the folder that holds the pictures as root (--root)")
    if not Path(root).is_dir():
        raise DataError(f"{root} is not a folder", next_step="give the folder that holds the pictures")
    root = Path(root).resolve()
    skips = Skips(strict=strict)
    label_names = LabelNames.read(root / "dataset.json", "label_names")
    listing = look_through(root, skips)
    rows = _rows_by_picture(root, listing, skips)
    records = []
    for picture in sorted(listing.pictures, key=natural_key):
        where, row = rows.get(picture, (picture, None))
        try:
            if row is None and listing.pictures[picture]:
                raise UnusableItemError("its metadata has no row for it")
            row = _text_beside(root, picture, listing) if row is None else row
            record = Record(
                id=id_in(row, default=picture),
                picture=PictureFile(root / picture),
                sentences=sentences_in(row, skips, where),
                labels=labels_in(row, label_names),
                source=str(PurePosixPath(picture).parent),
            )
        except UnusableItemError as problem:
            problem.count(skips, where)
        else:
            records.append(record)
    return Records(root.name or "folder", records, label_names=label_names.order(records), skips=skips)


def _rows_by_picture(root: Path, listing: Listing, skips: Skips) -> dict[str, tuple[str, dict[str, Any]]]:
    """For each picture that metadata names: where, and the row."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for metadata in listing.metadata:
        for where, row in rows_of(root / metadata, skips):
            name = row.get("file_name")
            if not isinstance(name, str) or not name:
                skips.add("a row has no file_name", where)
                continue
            picture = _below(metadata, name, where)
            if picture in found:
                raise DataError(
                    f"{where} names {picture}, which {found[picture][0]} names already",
                    next_step="keep one row a picture",
                )
            found[picture] = where, row
            if picture not in listing.pictures and picture not in listing.refused:
                skips.add("a row names a picture that is not there", f"{where}, {picture}")
    return found


def _below(metadata: str, name: str, where: str) -> str:
    """The path below the root that a row means; one that could leave the folder is refused."""
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise DataError(
            f"{where} names {name!r}, a path that can leave the folder",
            next_step="give file_name relative to the metadata file, without '..'",
        )
    return str(PurePosixPath(metadata).parent / relative)


def _text_beside(root: Path, picture: str, listing: Listing) -> dict[str, Any]:
    """The captions in the text file of the same name, one a line, as a row of metadata would hold them."""
    text = str(PurePosixPath(picture).with_suffix(".txt"))
    if text not in listing.texts:
        return {}
    try:
        with (root / text).open("rb") as file:
            content = file.read(MAX_TEXT_BYTES + 1)
        if len(content) > MAX_TEXT_BYTES:
            raise UnusableItemError(f"its text has more than {MAX_TEXT_BYTES:,} bytes")
        lines = [line.strip() for line in content.decode("utf-8-sig").splitlines()]
    except OSError as error:
        raise UnusableItemError("its text cannot be read", error.strerror or "") from error
    except UnicodeDecodeError:
        raise UnusableItemError("its text is not valid UTF-8") from None
    return {"captions": [line for line in lines if line] or [""]}
