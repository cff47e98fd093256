"""The picture files below a folder, in a fixed order; links are not followed, and what is passed over is told."""

import fnmatch
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from deepbinaries.datasets.folder.listing import METADATA
from deepbinaries.datasets.formats import SUFFIXES
from deepbinaries.errors import DataError

# Folders that other programs keep beside photographs: small copies, and what was thrown away.
FOREIGN = frozenset(("@eadir", "#recycle", "@recycle", "$recycle.bin", "lost+found", "__macosx"))
FOREIGN |= {"system volume information"}

# What cameras write that nothing here reads; most of them write a JPEG of the same name beside it.
RAW = frozenset(("arw", "cr2", "cr3", "dng", "nef", "nrw", "orf", "pef", "raf", "raw", "rw2", "srw"))


@dataclass(frozen=True)
class Seen:
    """A file as the walk finds it."""

    path: str  # relative to the folder, with "/"
    size: int
    changed: int  # nanoseconds


@dataclass
class Walk:
    """What lies below a folder."""

    pictures: list[Seen] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # why by path: links, pipes, folders that cannot be read
    unreadable: list[str] = field(default_factory=list)  # folders; nothing is known of what is below
    has_texts: bool = False  # files that may hold captions


def walk(root: Path, *, excludes: Sequence[str] = (), apart: Sequence[Path] = ()) -> Walk:
    """The pictures below a folder, `apart` from some folders and from what a pattern excludes.

    A pattern is compared with each name and with each path below the folder: `*.gif`, `scans`, `2019/raw/*`.
    """
    found = Walk()
    try:
        real = root.resolve(strict=True)
        skipped = {(entry.st_dev, entry.st_ino) for entry in (path.stat() for path in apart if path.exists())}
    except (OSError, RuntimeError) as error:
        raise DataError(f"{root} cannot be read ({error})", next_step="give the folder of the pictures") from error
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(real / folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise DataError(f"{root} cannot be read ({error.strerror})", next_step="allow reading it") from error
            found.unreadable.append(folder.rstrip("/"))
            found.refused[folder.rstrip("/")] = f"this folder cannot be read ({error.strerror})"
            continue
        below = []
        entries = [one for one in entries if not (_is_hidden(one.name) or is_excluded(folder + one.name, excludes))]
        for entry in entries:
            path = folder + entry.name
            if _look_at(entry, path, real, skipped, found):
                below.append(f"{path}/")
        for name in _raw_alone([entry.name for entry in entries]):
            found.refused[folder + name] = "it is a RAW photograph, which is not read; save it as JPEG beside it"
        waiting += reversed(below)
    return found


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern speaks of this path.

    >>> is_excluded("2019/raw/a.jpg", ["2019/raw/*"]), is_excluded("2019/a.gif", ["*.GIF"]), is_excluded("b", ["a"])
    (True, True, False)
    """
    name = PurePosixPath(path).name
    # Capitals do not matter: cameras write .JPG, people *.jpg.
    return any(
        fnmatch.fnmatchcase(text.lower(), pattern.lower().rstrip("/")) for pattern in patterns for text in (name, path)
    )


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name.lower() in FOREIGN


def _raw_alone(names: Sequence[str]) -> list[str]:
    """The RAW photographs among the names of a folder that have no picture of the same name beside them.

    >>> _raw_alone(["a.NEF", "a.jpg", "b.nef"])
    ['b.nef']
    """
    parts = [(name, *name.rpartition(".")[::2]) for name in names]
    pictured = {stem for _, stem, suffix in parts if suffix.lower() in SUFFIXES}
    return [name for name, stem, suffix in parts if suffix.lower() in RAW and stem not in pictured]


def _look_at(entry: os.DirEntry[str], path: str, root: Path, skipped: set[tuple[int, int]], found: Walk) -> bool:
    """Note a file where it belongs; True for a folder that is to be looked through."""
    suffix = PurePosixPath(entry.name).suffix[1:].lower()
    try:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            return (status.st_dev, status.st_ino) not in skipped
        if stat.S_ISLNK(status.st_mode):
            if reason := _why_not_followed(Path(entry.path), root, suffix):
                found.refused[path] = reason
        elif suffix == "txt" or entry.name in METADATA:
            found.has_texts = True
        elif suffix in SUFFIXES and stat.S_ISREG(status.st_mode):
            found.pictures.append(Seen(path, status.st_size, status.st_mtime_ns))
        elif suffix in SUFFIXES:
            found.refused[path] = "it is no regular file"
    except OSError as error:  # it was removed since, or cannot be looked at
        if suffix in SUFFIXES:
            found.refused[path] = f"it cannot be looked at ({error.strerror})"
    return False


def _why_not_followed(link: Path, root: Path, suffix: str) -> str | None:
    """Why a link is not followed; None where nothing is lost, since what it leads to is found in its own place."""
    try:
        target = link.resolve(strict=True)
        if target.is_relative_to(root):
            return None
        if target.is_dir() or suffix in SUFFIXES:
            return "it is a link that leads out of the folder"
    except (OSError, RuntimeError):  # a loop of links is a RuntimeError before Python 3.13
        return "it is a link that leads nowhere" if suffix in SUFFIXES else None
    return None
