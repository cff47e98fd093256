"""The rows of `metadata.jsonl` and `metadata.csv`; a file that is not what its name says is always refused.

CSV knows no lists, so its cells `captions` and `labels` may hold one as JSON: `["a dog", "two dogs"]`.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deepbinaries.datasets.base import Skips
from deepbinaries.datasets.item_columns import MAX_TEXT_BYTES, parse_object
from deepbinaries.errors import DataError


def rows_of(path: Path, skips: Skips) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where each row of a metadata file stands ("metadata.csv line 3"), and its columns."""
    return _csv_rows(path, skips) if path.suffix == ".csv" else _json_rows(path)


def _json_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(_lines(path), start=1):
        where = f"{path} line {number}"
        if line.strip():
            try:
                row = parse_object(line)
            except ValueError as error:
                raise DataError(f"{where} is not a JSON object ({error})", next_step="correct the line") from error
            yield where, row


def _csv_rows(path: Path, skips: Skips) -> Iterator[tuple[str, dict[str, Any]]]:
    reader = csv.reader(_lines(path), strict=True)
    try:
        header = next(reader, [])
        if "file_name" not in header or len(set(header)) != len(header):
            raise DataError(
                f"{path} line 1 lacks the column file_name, or has a column twice",
                next_step="begin with a line such as file_name,caption,label",
            )
        for cells in reader:
            where = f"{path} line {reader.line_num}"
            if cells and len(cells) != len(header):
                skips.add("a row has more or fewer cells than the header", where)
            elif cells:
                yield where, _with_lists(dict(zip(header, cells, strict=True)), where)
    except csv.Error as error:
        raise DataError(f"{path} line {reader.line_num} is not CSV ({error})", next_step="correct it") from error


def _with_lists(cells: dict[str, str], where: str) -> dict[str, Any]:
    """The row without its empty cells, and with the lists that are written as JSON."""
    row: dict[str, Any] = {column: cell for column, cell in cells.items() if cell}
    for column in ("captions", "labels"):
        if cells.get(column, "").startswith("["):
            try:
                row[column] = parse_object(f'{{"list": {cells[column]}}}')["list"]
            except ValueError as error:
                raise DataError(f"{where}: {column} is not a JSON list ({error})", next_step="correct it") from error
    return row


def _lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, none of them endless."""
    longest = 4 * MAX_TEXT_BYTES
    number = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(longest + 1):
                number += 1
                if len(line) > longest:
                    raise DataError(f"{path} line {number} has more than {longest:,} bytes", next_step="correct it")
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path} line {number} is not valid UTF-8", next_step="save the file as UTF-8") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})", next_step="restore its permissions") from error
