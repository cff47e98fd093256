"""The official files of IAPR TC-12: a picture and a description for each number."""

from collections.abc import Iterable
from pathlib import Path

from deepbinaries.datasets.base import Skips
from deepbinaries.datasets.official import Publication, names_in, read_item
from deepbinaries.datasets.tagged_text import is_closed, text_between

IAPR = Publication("IAPR TC-12 Benchmark", "imageclef.org/photodata")
TEXTS = "annotations_complete_eng"
SENTENCES = ("clauses", "whole", "first")


def with_inner(folders: Iterable[Path]) -> list[Path]:
    """Those of the folders that exist, and the folders in them."""
    outer = [folder for folder in folders if folder.is_dir()]
    return outer + [folder / name for folder in outer for name in names_in(folder) if (folder / name).is_dir()]


def numbered(folders: Iterable[Path], suffix: str) -> dict[int, Path]:
    """The files called `<number><suffix>` in the folders, by number."""
    found: dict[int, Path] = {}
    for folder in folders:
        for name in names_in(folder):
            stem = name.removesuffix(suffix)
            if name.endswith(suffix) and stem.isascii() and stem.isdigit() and len(stem) < 10:
                found.setdefault(int(stem), folder / name)
    return found


def sentences_of(path: Path, sentence: str, title_if_empty: bool, skips: Skips) -> tuple[str, ...]:
    """The sentences of an `.eng` file; none where it has nothing to say."""
    text = read_item(path, "cp1252", skips=skips)
    description = text_between(text, "DESCRIPTION") or ""
    if description and not is_closed(text, "DESCRIPTION"):
        skips.add("description without an end (kept up to the next tag)", str(path))
    clauses = [clause for part in description.split(";") if (clause := part.strip())]
    title = text_between(text, "TITLE") if title_if_empty and not clauses else None
    if title:
        clauses = [title]
    if not clauses:
        skips.add("empty description", str(path))
        return ()
    if sentence == "whole":
        return (" ".join(clauses),)
    return tuple(clauses[:1]) if sentence == "first" else tuple(clauses)
