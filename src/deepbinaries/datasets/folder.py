"""A folder of pictures, with captions and labels where somebody wrote them down.

Three ways of annotating, all optional:

- `metadata.jsonl` or `metadata.csv`, in any folder: one row a picture, `file_name` relative to the file itself,
  and the columns of `annotations`. It speaks for its folder and all below: a picture there that no row names is
  left out and counted.
- `beach.txt` beside `beach.jpg`, where no metadata file speaks for the folder: one caption a line.
- Neither: a plain folder of photographs, without captions and labels.

`dataset.json` in the root may list `label_names`; labels then are these names or their numbers, from 0.
An item's id is its path below the root, unless its row states another. Rows are in natural order (2 before 10).
"""

import csv
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from deepbinaries.datasets.annotations import (
    MAX_TEXT_BYTES,
    UnusableItemError,
    Vocabulary,
    decode,
    id_in,
    is_text,
    labels_in,
    parse_object,
    sentences_in,
    without_blanks,
)
from deepbinaries.datasets.base import PictureFile, Record, Records, Skips
from deepbinaries.datasets.formats import SUFFIXES, UNREAD, UNREAD_SUFFIXES
from deepbinaries.errors import DataError, UsageError

METADATA = ("metadata.jsonl", "metadata.csv")
MAX_LINE_BYTES = 4 * MAX_TEXT_BYTES


def load(root: str | Path | None, *, strict: bool = False) -> Records:
    """The pictures in a folder and its subfolders; `strict` refuses what is otherwise left out and counted."""
    if root is None or not Path(root).is_dir():
        raise UsageError(
            "no folder was given" if root is None else f"{root} is not a folder",
            next_step="give the folder that holds the pictures",
        )
    root = Path(root).resolve()
    skips = Skips(strict=strict)
    vocabulary = Vocabulary.read(root / "dataset.json", "label_names")
    listing = _look_through(root, skips)
    records, mentioned = [], {}
    for path in listing.metadata:
        for where, row in _rows(root / path, skips):
            picture = _picture_of(row, path, where, skips)
            if picture is None:
                continue
            if picture in mentioned:
                raise DataError(
                    f"{where} names {picture}, which {mentioned[picture]} names already",
                    next_step="keep one row a picture",
                )
            mentioned[picture] = where
            if picture in listing.pictures:
                records += _taken(root, picture, row, vocabulary, skips, where)
            elif picture not in listing.refused:
                skips.add("a row names a picture that is not there", f"{where}, {picture}")
    for picture, spoken_for in listing.pictures.items():
        if picture not in mentioned and spoken_for:
            skips.add("no row of its metadata names it", picture)
        elif picture not in mentioned:
            records += _taken(root, picture, {}, vocabulary, skips, picture, listing.texts)
    records.sort(key=lambda record: natural_key(record.extra["file_name"]))
    return Records(root.name or "folder", records, label_names=vocabulary.order(records), skips=skips)


def natural_key(path: str) -> list[Any]:
    """A key that sorts paths as people count: numbers by size, the rest letter by letter.

    >>> sorted(["b10.jpg", "b2.jpg", "a.jpg", "b02.jpg"], key=natural_key)
    ['a.jpg', 'b02.jpg', 'b2.jpg', 'b10.jpg']
    """
    pieces = re.split(r"([0-9]+)", path)
    # Digits stay text: a number of a thousand digits is slow to read, its length compares at once.
    numbers = [(len(digits.lstrip("0")), digits.lstrip("0")) for digits in pieces[1::2]]
    return [*(key for pair in zip(pieces[::2], [*numbers, (0, "")], strict=True) for key in pair), path]


@dataclass
class _Listing:
    """What lies below the root, as paths relative to it."""

    pictures: dict[str, bool] = field(default_factory=dict)  # whether a metadata file speaks for it
    metadata: list[str] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)  # named like pictures, counted already


def _look_through(root: Path, skips: Skips) -> _Listing:
    listing = _Listing()
    waiting = [("", False)]
    while waiting:
        folder, spoken_for = waiting.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise DataError(f"{root} cannot be read ({error.strerror})", next_step="allow reading it") from error
            skips.add("a folder cannot be read", folder)
            continue
        here = [entry.name for entry in entries if entry.name in METADATA and not entry.is_dir()]
        if len(here) > 1:
            raise DataError(f"{root / folder} holds both {' and '.join(here)}", next_step="keep one of them")
        for entry in entries:
            if not entry.name.startswith("."):
                below = _sort_in(entry, f"{folder}{entry.name}", root, listing, spoken_for or bool(here), skips)
                waiting += [(f"{below}/", spoken_for or bool(here))] if below else []
    listing.metadata.sort(key=natural_key)
    return listing


def _sort_in(
    entry: os.DirEntry[str], path: str, root: Path, listing: _Listing, spoken_for: bool, skips: Skips
) -> str | None:
    """Put a file where it belongs in the listing; a folder is given back to be looked through."""
    suffix = PurePosixPath(entry.name).suffix[1:].lower()
    problem = _why_not(entry, root)
    if entry.name in METADATA and not entry.is_dir():
        if problem:
            raise DataError(f"{entry.path}: {problem}", next_step="put the metadata file itself there")
        listing.metadata.append(path)
    elif entry.is_dir() or suffix in SUFFIXES or suffix in UNREAD_SUFFIXES or suffix == "txt":
        problem = problem or (UNREAD if suffix in UNREAD_SUFFIXES and not entry.is_dir() else None)
        if problem:
            listing.refused.add(path)
            skips.add(problem, os.fsencode(path).decode(errors="replace"))
        elif entry.is_dir():
            return path
        elif suffix == "txt":
            listing.texts.add(path)
        else:
            listing.pictures[path] = spoken_for
    return None


def _why_not(entry: os.DirEntry[str], root: Path) -> str | None:
    """Why a file or folder is not looked into, or None."""
    if not is_text(entry.name) or "\n" in entry.name or "\r" in entry.name:
        return "a name is not valid UTF-8 or holds a line break"
    if entry.is_symlink():
        try:
            target = Path(entry.path).resolve(strict=True)
        except (OSError, RuntimeError):  # a loop is a RuntimeError before Python 3.13
            return "a link leads nowhere"
        if not target.is_relative_to(root):
            return "a link leaves the folder"
        if target.is_dir():
            return "a link to a folder is not followed"  # what it leads to is read in its own place
    if not entry.is_dir() and not entry.is_file():
        return "not a regular file"
    return None


def _rows(path: Path, skips: Skips) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where each row of a metadata file stands, and its columns."""
    yield from _csv_rows(path, skips) if path.suffix == ".csv" else _json_rows(path)


def _json_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(_lines(path), start=1):
        where = f"{path} line {number}"
        if line.strip():
            try:
                row = parse_object(line)
            except ValueError as error:
                raise DataError(f"{where} is not a JSON object ({error})", next_step="correct the line") from error
            yield where, row


def _csv_rows(path: Path, skips: Skips) -> Iterator[tuple[str, dict[str, Any]]]:
    reader = csv.reader(_lines(path), strict=True)
    try:
        header = next(reader, [])
        if "file_name" not in header or len(set(header)) != len(header):
            raise DataError(
                f"{path} line 1 has no column file_name, or has a column twice",
                next_step="begin with a line such as file_name,caption,label",
            )
        for cells in reader:
            where = f"{path} line {reader.line_num}"
            if cells and len(cells) != len(header):
                skips.add("a row has more or fewer cells than the header", where)
            elif cells:
                yield where, _typed({column: cell for column, cell in zip(header, cells, strict=True) if cell}, where)
    except csv.Error as error:
        raise DataError(f"{path} line {reader.line_num} is not CSV ({error})", next_step="correct it") from error


def _typed(row: dict[str, Any], where: str) -> dict[str, Any]:
    """The row with its lists read: CSV has no lists, so `captions` and `labels` may hold one as JSON."""
    for column in ("captions", "labels"):
        if row.get(column, "").startswith("["):
            try:
                row[column] = parse_object(f'{{"list": {row[column]}}}')["list"]
            except ValueError as error:
                raise DataError(f"{where}: {column} is not a JSON list ({error})", next_step="correct it") from error
    return row


def _lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, each of a reasonable length."""
    number = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise DataError(
                        f"{path} line {number} has more than {MAX_LINE_BYTES:,} bytes", next_step="correct the line"
                    )
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path} line {number} is not valid UTF-8", next_step="save the file as UTF-8") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})", next_step="restore its permissions") from error


def _picture_of(row: dict[str, Any], metadata: str, where: str, skips: Skips) -> str | None:
    """The path below the root that a row speaks of; a path that could leave its folder is refused."""
    name = row.get("file_name")
    if not isinstance(name, str) or not name:
        skips.add("a row has no file_name", where)
        return None
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise DataError(
            f"{where} names {name!r}, a path that can leave the folder",
            next_step="give file_name relative to the metadata file, without '..'",
        )
    return str(PurePosixPath(metadata).parent / relative)


def _taken(
    root: Path,
    picture: str,
    row: dict[str, Any],
    vocabulary: Vocabulary,
    skips: Skips,
    where: str,
    texts: set[str] = frozenset(),
) -> list[Record]:
    ...
