"""What commands print: data on standard output, everything else on standard error.

A terminal gets tables, a pipe gets plain tab-separated lines, `--json` gets JSON.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from deepbinaries.errors import UsageError
from deepbinaries.files import check_place

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def write_json(data: Any) -> None:
    """Print one JSON document."""
    write_text(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False))


def write_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows: as a table on a terminal, tab-separated and without the head in a pipe."""
    if not sys.stdout.isatty():
        write_text("\n".join("\t".join(row) for row in rows))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table, markup=False)


def write_text(text: str) -> None:
    """Print lines of data; where nobody reads them any more, as behind `head`, the work ends in peace."""
    try:
        sys.stdout.write(text + "\n" if text else "")
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at its end, and must not complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None


def free_path(path: Path) -> Path:
    """The path, when nothing is there yet: no command writes over a file."""
    if path.exists():
        raise UsageError(f"{path} exists", next_step="give another name, or move it away first")
    return path


def free_file(path: Path) -> Path:
    """The same for a file that is written at the end of long work: its folder must be there, and take it."""
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is no folder", next_step="make it first, or give another name")
    check_place(free_path(path))
    return path


def say(text: str) -> None:
    """Print a line for the person in front of a terminal, on standard error; silent in a pipe."""
    if sys.stderr.isatty():
        sys.stderr.write(text + "\n")


def complain(text: str) -> None:
    """Print a line on standard error, always."""
    sys.stderr.write(text + "\n")
