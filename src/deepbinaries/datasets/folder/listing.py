"""What lies in a folder and below: pictures, texts and metadata files, and why something is not looked into."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from deepbinaries.datasets.base import Skips
from deepbinaries.datasets.formats import SUFFIXES
from deepbinaries.datasets.item_columns import is_text
from deepbinaries.errors import DataError

METADATA = ("metadata.jsonl", "metadata.csv")
WANTED = SUFFIXES | {"txt"}


@dataclass
class Listing:
    """The files below a folder that matter, as POSIX paths relative to it."""

    pictures: dict[str, bool] = field(default_factory=dict)  # True where a metadata file speaks for the folder
    texts: set[str] = field(default_factory=set)
    metadata: list[str] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)  # counted already, with the reason


def look_through(root: Path, skips: Skips) -> Listing:
    """The files below `root`, which is absolute and free of links; hidden files and folders are passed over."""
    listing = Listing()
    waiting = [("", False)]
    while waiting:
        folder, spoken_for = waiting.pop()
        try:
            with os.scandir(root / folder) as scan:
                entries = sorted((entry for entry in scan if not entry.name.startswith(".")), key=lambda e: e.name)
        except OSError as error:
            if not folder:
                raise DataError(f"{root} cannot be read ({error.strerror})", next_step="allow reading it") from error
            skips.add("a folder cannot be read", folder)
            continue
        metadata = [entry for entry in entries if entry.name in METADATA and not _is_folder(entry)]
        _note_metadata(metadata, folder, root, listing)
        spoken_for = spoken_for or bool(metadata)
        files = [entry for entry in entries if entry not in metadata]
        folders = [entry.name for entry in files if _sort_in(entry, folder, root, listing, spoken_for, skips)]
        waiting += [(f"{folder}{name}/", spoken_for) for name in folders]
    return listing


def natural_key(path: str) -> list[Any]:
    """A key that sorts paths as people count: numbers by size, the rest letter by letter.

    >>> sorted(["b10.jpg", "b2.jpg", "a.jpg", "b02.jpg"], key=natural_key)
    ['a.jpg', 'b02.jpg', 'b2.jpg', 'b10.jpg']
    """
    words = re.split(r"[0-9]+", path)
    # Digits stay text: their number compares at once, however long they are.
    numbers = [(len(digits.lstrip("0")), digits.lstrip("0")) for digits in re.findall(r"[0-9]+", path)]
    return [*zip(words, [*numbers, (0, "")], strict=True), (path, (0, ""))]


def _note_metadata(entries: list[os.DirEntry[str]], folder: str, root: Path, listing: Listing) -> None:
    if len(entries) > 1:
        raise DataError(f"{root / folder} holds both {' and '.join(METADATA)}", next_step="keep one of them")
    for entry in entries:
        problem = _why_not(entry, root)
        if problem:
            raise DataError(f"{entry.path}: {problem}", next_step="put the metadata file itself there")
        listing.metadata.append(folder + entry.name)


def _sort_in(
    entry: os.DirEntry[str], folder: str, root: Path, listing: Listing, spoken_for: bool, skips: Skips
) -> bool:
    """Put a file where it belongs in the listing; True for a folder that is to be looked through."""
    path = folder + entry.name
    is_folder = _is_folder(entry)
    suffix = PurePosixPath(entry.name).suffix[1:].lower()
    if not is_folder and suffix not in WANTED:
        return False
    problem = _why_not(entry, root)
    if problem:
        listing.refused.add(path)
        skips.add(problem, os.fsencode(path).decode(errors="replace"))
    elif not is_folder and suffix == "txt":
        listing.texts.add(path)
    elif not is_folder:
        listing.pictures[path] = spoken_for
    return is_folder and not problem


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a loop of links
        return False


def _why_not(entry: os.DirEntry[str], root: Path) -> str | None:
    """Why a file or folder is not looked into, or None."""
    if not is_text(entry.name) or "\n" in entry.name or "\r" in entry.name:
        return "a name is not valid UTF-8 or holds a line break"
    if entry.is_symlink():
        try:
            target = Path(entry.path).resolve(strict=True)
        except (OSError, RuntimeError):  # a loop of links is a RuntimeError before Python 3.13
            return "a link leads nowhere"
        if not target.is_relative_to(root):
            return "a link leaves the folder"
        if target.is_dir():
            return "a link to a folder is not followed"  # what it leads to is read in its own place
    return None if entry.is_dir() or entry.is_file() else "not a regular file"
