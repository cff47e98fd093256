"""The folder of shards: of which collection they are, who made them, and what has no code."""

import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deepbinaries.bulk.shards import names, sweep
from deepbinaries.datasets.webdataset.shards import find_shards
from deepbinaries.errors import DataError, Error, IndexBusyError, UsageError
from deepbinaries.files import read_json, write_json, written_whole
from deepbinaries.index.durable import make_durably
from deepbinaries.index.locking import FILE, WriterLock
from deepbinaries.search.models import LazyModel
from deepbinaries.search.skipped import shown

FORMAT, VERSION = "deepbinaries-encoding", 1
MANIFEST, FAILURES = "encoding.json", "failures.csv"


@dataclass(frozen=True)
class Manifest:
    """What the shards of a folder have in common."""

    source: str
    kind: str
    bits: int
    model: str  # a digest of everything that decides about its codes
    made_by: Mapping[str, Any]  # the model's folder and method
    id_column: str | None = None  # of parquet files, as they were asked for
    picture_column: str | None = None

    @classmethod
    def of(cls, source: Path, kind: str, model: LazyModel, **columns: str | None) -> "Manifest":
        """The manifest of a collection as this model encodes it."""
        return cls(str(source.absolute()), kind, model.bits, model.fingerprint, model.facts, **columns)

    @classmethod
    def read(cls, folder: Path) -> "Manifest | None":
        """The manifest of a folder; None where it has none."""
        path = folder / MANIFEST
        if not path.exists():
            return None
        content = read_json(path)
        try:
            if (content.pop("format"), content.pop("version")) != (FORMAT, VERSION):
                raise ValueError("another format")
            found = cls(**content)
            if type(found.bits) is not int or not isinstance(found.source, str) or not isinstance(found.made_by, dict):
                raise TypeError("a value of another kind")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path} describes no shards ({error})", next_step="give another folder") from error
        return found

    def write(self, folder: Path) -> None:
        """Write it."""
        write_json({"format": FORMAT, "version": VERSION, **asdict(self)}, folder / MANIFEST, indent=1)


@contextmanager
def writing(folder: Path, manifest: Manifest) -> Iterator[None]:
    """The right to write to a folder of shards, which is made where there is none; another collection's is refused."""
    if folder.exists() and not (folder.is_dir() and ((folder / MANIFEST).exists() or _is_empty(folder))):
        raise UsageError(f"{folder} holds something else than shards", next_step="give a new folder")
    try:
        make_durably(folder)
        lock = WriterLock(folder)
    except IndexBusyError as error:
        raise Error(f"another process encodes to {folder}", next_step="wait until it is done") from error
    except OSError as error:
        raise Error(f"{folder} cannot be written ({error.strerror})", next_step="check its permissions") from error
    try:
        if (before := Manifest.read(folder)) is not None and names(folder):
            _refuse_others(folder, before, manifest)
        if before != manifest:
            manifest.write(folder)
        sweep(folder)
        yield
    finally:
        lock.release()


def write_failures(folder: Path, failures: Mapping[str, str]) -> None:
    """List the pictures without a code, for people and spreadsheets; without any there is no such file."""
    path = folder / FAILURES
    if not failures:
        path.unlink(missing_ok=True)
        return
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(("id", "reason"))
    rows.writerows((shown(id_), reason) for id_, reason in sorted(failures.items()))
    with written_whole(path) as out:
        out.write(text.getvalue().encode())


def _is_empty(folder: Path) -> bool:
    """Whether nothing is in a folder, but for the lock of a run that was ended at once."""
    return all(path.name == FILE for path in folder.iterdir())


def _refuse_others(folder: Path, before: Manifest, now: Manifest) -> None:
    if before.model != now.model:
        raise DataError(
            f"the shards in {folder} were made by another model ({before.made_by.get('folder')})",
            next_step="give that one, or another folder for these codes",
        )
    if (before.id_column, before.picture_column) != (now.id_column, now.picture_column):
        named = ", ".join(filter(None, (before.id_column, before.picture_column))) or "not named"
        raise DataError(
            f"the columns of the shards in {folder} were {named}",
            next_step="ask for the same, or give another folder for these codes",
        )
    # A collection may have moved; as long as the old one is there, the same ids may mean other pictures.
    if _places(before) - (_places(now) if before.kind == now.kind else set()):
        raise DataError(
            f"the shards in {folder} are of {before.source} ({before.kind})",
            next_step="give another folder for these codes",
        )


def _places(manifest: Manifest) -> set[Path]:
    """Where a collection is, as long as it is there: tar files count one by one, since more of them may be given."""
    source = Path(manifest.source)
    if manifest.kind != "webdataset":
        return {source} if source.exists() else set()
    with suppress(DataError):
        return set(find_shards(source))
    return set()
