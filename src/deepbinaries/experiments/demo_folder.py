"""The folder that a demo writes to: it holds what a demo wrote and nothing else, so that a later one may write anew."""

from collections.abc import Iterator
from pathlib import Path

from deepbinaries.errors import DataError, UsageError
from deepbinaries.files import read_json, write_json
from deepbinaries.model_folder import CARD, CONFIG, LOG, VOCABULARY

MANIFEST, REPORT, MODEL = "demo.json", "report.html", "model"
OF_MODEL = (CONFIG, VOCABULARY, CARD, LOG, "hasher.json", "hasher.safetensors")
FILES = (MANIFEST, REPORT, *(f"{MODEL}/{name}" for name in OF_MODEL))
FORMAT = "deepbinaries-demo"
VERSION = 1


def claim(folder: Path) -> None:
    """Make the folder, or take that of an earlier demo; one that holds anything else is refused and left as it is."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is no folder", next_step="give another one with --out")
    if folder.is_dir():
        foreign = next(_foreign(folder), None)
        if foreign is not None:
            raise UsageError(
                f"{folder} holds {foreign}, which no demo wrote",
                next_step="give another folder with --out, or move it away",
            )
    folder.mkdir(parents=True, exist_ok=True)
    # First of all, so that what an interrupted demo leaves is known to be one's.
    write_json({"format": FORMAT, "version": VERSION, "files": FILES}, folder / MANIFEST, indent=1)


def _foreign(folder: Path) -> Iterator[Path]:
    """What is in the folder and no demo's, by its path below the folder."""
    ours = _written_earlier(folder)
    if not ours:  # nothing here is ours: one look is enough, and a large folder is not gone through
        yield from (path.relative_to(folder) for path in sorted(folder.iterdir()))
        return
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        if below.as_posix() not in ours and below.as_posix() != MODEL:
            yield below


def _written_earlier(folder: Path) -> set[str]:
    """The files that an earlier demo says it wrote; none without its word."""
    try:
        manifest = read_json(folder / MANIFEST)
    except DataError:
        return set()
    if (
        not isinstance(manifest, dict)
        or manifest.get("format") != FORMAT
        or not isinstance(manifest.get("files"), list)
    ):
        return set()
    return {name for name in manifest["files"] if isinstance(name, str)}
