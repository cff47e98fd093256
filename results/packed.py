"""Cells that are kept packed: half of what they say is said a hundred times.

`comparison.jsonl` of a dataset holds those of `deepbinaries compare`, `choices.jsonl` the trials that settings were
chosen by, `forms.jsonl` the forms of regions, `cells.jsonl` in a folder of reproduce those of `deepbinaries reproduce`,
and in `wiki` those of `wiki.py`.
Unpack one with `xz -dk`, add to it, and `python results/findings.py` packs it again. What lies open beside a packed
file counts with it, so that no order of the scripts is a wrong one.
"""

import json
import lzma
from pathlib import Path

from deepbinaries.experiments.cells import Cell, identity, read_cells
from deepbinaries.files import written_whole

PATTERNS = ("*/comparison.jsonl", "*/choices.jsonl", "*/forms.jsonl", "wiki/cells.jsonl", "reproduce/*/cells.jsonl")


def pack(root: Path) -> None:
    """Pack what lies open in the results, into what is packed already: no cell is lost by it."""
    for path in (path for pattern in PATTERNS for path in root.glob(pattern)):
        lines = "".join(json.dumps(cell, allow_nan=False) + "\n" for cell in packed_cells(path))
        with written_whole(_packed(path)) as file:
            file.write(lzma.compress(lines.encode("ascii")))


def packed_cells(path: Path) -> list[Cell]:
    """The cells of a file that is kept packed, and those that lie open; of one made again the open one counts."""
    text = lzma.decompress(_packed(path).read_bytes()) if _packed(path).exists() else b""
    kept: list[Cell] = [json.loads(line) for line in text.splitlines()]
    if not path.exists():
        return kept
    return list({identity(cell): cell for cell in [*kept, *read_cells(path)]}.values())


def cells_of(folder: Path) -> list[Cell]:
    """All cells of a dataset that queries asked for: those that are always open and those that are packed."""
    packed = (cell for name in ("comparison", "forms") for cell in packed_cells(folder / f"{name}.jsonl"))
    return [*read_cells(folder / "cells.jsonl"), *packed]


def _packed(path: Path) -> Path:
    return path.with_name(f"{path.name}.xz")
