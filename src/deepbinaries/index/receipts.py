"""Receipts: beside the catalogue, a copy of its newest state, written after the commit and before it is acknowledged.

A damaged log makes SQLite forget commits without a word. A receipt that is newer than the catalogue proves that
this happened, and has what is needed to write the catalogue anew. It is not synced: after a power cut it may be
old, empty or gone, and the catalogue alone is right.
"""

import hashlib
import re
from pathlib import Path

from deepbinaries.errors import Error
from deepbinaries.files import read_bytes
from deepbinaries.index.catalogue import State
from deepbinaries.index.durable import sync_file, sync_folder

_NAME = re.compile(r"committed-(\d{12,18})\.json")
_LIMIT = 2**31  # bytes; removed rows take some six each


def receipts(folder: Path) -> dict[int, Path]:
    """The receipts in a folder by the version they are for."""
    found = ((path, _NAME.fullmatch(path.name)) for path in folder.iterdir())
    return {int(match[1]): path for path, match in found if match}


def receipt_path(folder: Path, version: int) -> Path:
    """Where the receipt of a version is."""
    return folder / f"committed-{version:012d}.json"


def newest_receipt(folder: Path) -> int:
    """The newest version that was acknowledged, as far as receipts tell; 0 without any."""
    return max(receipts(folder), default=0)


class Seen:
    """A receipt as it was when it was looked at: while the same one is there, no other version was acknowledged."""

    def __init__(self, receipt: Path):
        self._receipt = receipt
        self._stamp = self._look()

    def still_there(self) -> bool:
        """Whether it was there and still is, and not one of the same name that belongs to an index made anew."""
        return self._stamp is not None and self._look() == self._stamp

    def _look(self) -> tuple[int, int] | None:
        try:
            found = self._receipt.stat()
        except OSError:  # whoever looks into the folder is told why
            return None
        return found.st_ino, found.st_mtime_ns


def write_receipt(folder: Path, state: State, *, durably: bool = False) -> None:
    """Write the receipt of a committed state and remove those before it; it survives a power cut only if `durably`."""
    text = state.to_json()
    unfinished = folder / "committed.part"
    with unfinished.open("wb") as file:
        file.write(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n".encode("ascii"))
        file.flush()
        if durably:
            sync_file(file.fileno())
    unfinished.replace(receipt_path(folder, state.version))
    if durably:
        sync_folder(folder)
    for version, older in receipts(folder).items():
        if version < state.version:
            older.unlink(missing_ok=True)


def read_receipt(path: Path) -> State | None:
    """The state that a receipt holds; None where it is not whole."""
    try:
        digest, _, text = read_bytes(path, limit=_LIMIT).decode("ascii").rstrip("\n").partition("\n")
        state = State.from_json(text)
    except (Error, ValueError):
        return None
    return state if digest == hashlib.sha256(text.encode()).hexdigest() else None
