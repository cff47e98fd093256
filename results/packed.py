"""Cells that are kept packed: half of what they say is said a hundred times.

`comparison.jsonl` of a dataset holds those of `deepbinaries compare`, `cells.jsonl` in a folder of reproduce those of
`deepbinaries reproduce`. Unpack one with `xz -d`, add to it, and `python results/findings.py` packs it again.
"""

import json
import lzma
from pathlib import Path

from deepbinaries.experiments.cells import Cell, read_cells
from deepbinaries.files import written_whole

PATTERNS = ("*/comparison.jsonl", "reproduce/*/cells.jsonl")
COMPARISON = "comparison.jsonl.xz"


def pack(root: Path) -> None:
    """Pack what lies unpacked in the results."""
    for path in (path for pattern in PATTERNS for path in root.glob(pattern)):
        with written_whole(path.with_name(f"{path.name}.xz")) as file:
            file.write(lzma.compress(path.read_bytes()))


def unpacked(path: Path) -> list[Cell]:
    """The cells of a packed file; none where it is not there."""
    return [json.loads(line) for line in lzma.open(path, "rt", encoding="utf-8")] if path.exists() else []


def cells_of(folder: Path) -> list[Cell]:
    """All cells of a dataset: those that lie open and those of the comparison."""
    return read_cells(folder / "cells.jsonl") + unpacked(folder / COMPARISON)
