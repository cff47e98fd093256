"""The folder of a collection.

    collection.json          where the photographs are, relative to this folder, and which generation answers
    skipped.csv              files that could not be read, with the reasons
    lock                     held by the process that indexes
    generations/3f1c.../     all that one model has made of the photographs:
        generation.json      the model it was made by
        catalogue.db         files, pictures, sentences, thumbnails (`deepbinaries.search.catalogue`)
        pictures/            their codes (`deepbinaries.index.EmbeddedIndex`)
        sentences/           codes of the sentences beside them

Another model makes another generation; the old one answers until `collection.json` names the new one.
"""

import json
import os
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.files import read_bytes, read_json
from deepbinaries.index.durable import UNFINISHED, make_durably, sync_folder, write_durably
from deepbinaries.index.locking import FILE as LOCK

NAME = ".deepbinaries"  # inside the photographs' folder, unless another place is given
CONFIG, SKIPPED, GENERATIONS, GENERATION = "collection.json", "skipped.csv", "generations", "generation.json"
FORMAT, VERSION = "deepbinaries-collection", 1

_OURS = {CONFIG, CONFIG + UNFINISHED, SKIPPED, LOCK}
_NAME_OF_GENERATION = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True)
class Layout:
    """What `collection.json` says."""

    folder: Path
    root: str  # the photographs' folder, relative to this one: both may travel together
    generation: str = ""  # the one that answers

    @property
    def photographs(self) -> Path:
        """The photographs' folder."""
        return Path(os.path.normpath(self.folder.absolute() / self.root))

    @property
    def home(self) -> Path:
        """The folder of the generation that answers; refused where a first run was cut short before there was one."""
        if not self.generation:
            raise DataError(f"{self.folder} was never filled", next_step="run deepbinaries index again")
        return self.folder / GENERATIONS / self.generation

    def switched_to(self, generation: str) -> "Layout":
        """Let a generation answer from now on."""
        new = replace(self, generation=generation)
        new.write()
        return new

    def write(self) -> None:
        """Write `collection.json`, at once."""
        content = {"format": FORMAT, "version": VERSION, "root": self.root, "generation": self.generation}
        _write(content, self.folder / CONFIG)


def read_layout(folder: Path) -> Layout:
    """The layout of the collection in a folder."""
    path = folder / CONFIG
    if not path.is_file():
        raise DataError(
            f"there is no index of photographs in {folder}", next_step="make one: deepbinaries index FOLDER"
        )
    if _is_lost(path):
        raise _damaged(path)
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path} does not describe an index of photographs", next_step="give another folder")
    if content.get("version") != VERSION:
        raise DataError(
            f"{folder} has version {content.get('version')!r}, this release reads version {VERSION}",
            next_step="update deepbinaries, or index the photographs again",
        )
    root, generation = content.get("root"), content.get("generation")
    if not isinstance(root, str) or not isinstance(generation, str) or Path(generation).name != generation:
        raise DataError(
            f"{path} is damaged", next_step="remove it and index the photographs again; they are not touched"
        )
    return Layout(folder, root, generation)


def stored_layout(folder: Path) -> Layout | None:
    """The layout of the collection in a folder; None where there is none, or nothing of it can be read."""
    return None if _is_lost(folder / CONFIG) else read_layout(folder)


def has_answers(folder: Path) -> bool:
    """Whether a first run has come so far that something answers in the collection of a folder."""
    layout = stored_layout(folder)
    return layout is not None and bool(layout.generation)


def find_folder(where: Path | None) -> Path:
    """The folder of a collection: a given one, the one inside a folder of photographs, or that of the current folder
    or of one above it."""
    if where is not None:
        _refuse_database(where)
        return where if (where / CONFIG).is_file() or where.name == NAME else where / NAME
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / NAME / CONFIG).is_file():
            return folder / NAME
    raise DataError(f"there is no index of photographs in {here} or above it", next_step="give its folder with --index")


def make_folder(folder: Path, photographs: Path) -> Layout:
    """The layout of a collection for these photographs, in its folder or in one that is still to be made."""
    _refuse_database(folder)
    root = os.path.relpath(photographs.resolve(), folder.resolve())
    if (layout := stored_layout(folder)) is not None:
        return replace(layout, root=root)
    if folder.is_dir() and not _is_free(folder):
        raise DataError(f"{folder} holds something else", next_step="give an empty folder, or one that is not there")
    return Layout(folder, root)


def _refuse_database(folder: Path) -> None:
    """Say that the address of a database is no folder, without repeating it: it may hold a password."""
    if str(folder).startswith(("postgresql:/", "postgres:/", "milvus:", "ray:")):
        raise UsageError(
            "photographs are indexed in a folder; a database holds codes alone",
            next_step="give --index a folder, or put codes into the database with deepbinaries import-codes",
        )


def claim_generation(layout: Layout, fingerprint: str, facts: dict[str, Any]) -> Path:
    """The folder of a model's generation; what other models made goes, but for what answers."""
    name = fingerprint[:16]
    for other in (layout.folder / GENERATIONS).glob("*"):
        if other.name not in (name, layout.generation):
            shutil.rmtree(other, ignore_errors=True)
    home = layout.folder / GENERATIONS / name
    content = {"model": fingerprint, **facts}
    try:
        if not (home / GENERATION).exists():
            make_durably(home)
        if _is_lost(home / GENERATION) or read_json(home / GENERATION) != content:
            _write(content, home / GENERATION)
    except OSError as error:
        raise Error(
            f"{home} cannot be made ({error.strerror})", next_step="check permissions, or give --index another folder"
        ) from error
    return home


def generation_facts(home: Path) -> dict[str, Any]:
    """By which model a generation was made."""
    facts = None if _is_lost(home / GENERATION) else read_json(home / GENERATION)
    if not isinstance(facts, dict) or not isinstance(facts.get("model"), str):
        raise _damaged(home / GENERATION)
    return facts


def _write(content: dict[str, Any], path: Path) -> None:
    """Write a description; it is on the disk afterwards, and so is its name."""
    write_durably(path, [json.dumps(content, allow_nan=False, indent=1).encode("ascii") + b"\n"])
    sync_folder(path.parent)


def _is_lost(path: Path) -> bool:
    """Whether a description is not there, or a power cut has left nothing of it that could be read."""
    if not path.exists():
        return True
    try:
        json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        return True
    return False


def _is_free(folder: Path) -> bool:
    """Whether nothing lies in a folder but what a run has left there before it, or a power cut, ended it."""
    rest = [path for path in folder.iterdir() if path.name not in _OURS and path.name[0] != "."]
    inside = [one for path in rest if path.is_dir() for one in path.iterdir()]
    known = all(path.name == GENERATIONS for path in rest)
    return known and all(_NAME_OF_GENERATION.fullmatch(one.name) for one in inside)


def _damaged(path: Path) -> DataError:
    return DataError(f"{path} is damaged", next_step="index the photographs again with --model; they are not touched")
