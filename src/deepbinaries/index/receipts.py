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

_NAME = re.compile(r"committed-(\d{12})\.json")
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


def write_receipt(folder: Path, state: State) -> None:
    """Write the receipt of a committed state and remove those before it."""
    text = state.to_json()
    unfinished = folder / "committed.part"
    unfinished.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n", encoding="ascii")
    unfinished.replace(receipt_path(folder, state.version))
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
