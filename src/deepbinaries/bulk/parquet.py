"""Pictures in the rows of parquet files, as many published collections have them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from deepbinaries.errors import DataError, MissingExtraError, PictureError, UsageError

ID = "id"
CONTENT = "bytes"  # the field of a struct that holds a picture's file, beside its path
MOST_BYTES = 2 * 2**30  # of the pictures in a row group, which are read together


_reading = threading.Lock()  # else all threads that decode would read the same row group at once


@dataclass(frozen=True)
class ParquetPicture:
    """A picture in a row of a parquet file."""

    file: Path
    column: str
    group: int
    row: int  # within the group

    def read(self) -> bytes:
        with _reading:
            pictures = _pictures(self.file, self.column, self.group)
        content = pictures[self.row].as_py()
        if isinstance(content, dict):
            content = content.get(CONTENT)
        if not isinstance(content, bytes):
            raise PictureError("its row holds no picture", next_step="write the picture's file into the column")
        return content


def rows_of(
    source: Path, *, id_column: str | None = None, picture_column: str | None = None
) -> Iterator[tuple[str, ParquetPicture]]:
    """The rows of a parquet file, or of all files in a folder and below, by name; each with its id.

    Without an `id_column`, the column `id` names rows, and where there is none, the file and the number of the row.
    """
    files = sorted(source.rglob("*.parquet")) if source.is_dir() else [source]
    for file in files:
        name = file.relative_to(source).as_posix() if source.is_dir() else file.name
        with _opened(file) as opened:
            picture = _picture_column(opened.schema_arrow, file, picture_column)
            ids = _id_column(opened.schema_arrow, file, id_column)
            number = 0
            for group in range(opened.num_row_groups):
                n_rows = opened.metadata.row_group(group).num_rows
                stated = opened.read_row_group(group, columns=[ids])[ids].to_pylist() if ids else [None] * n_rows
                for row, id_ in enumerate(stated):
                    yield f"{name}#{number}" if id_ is None else str(id_), ParquetPicture(file, picture, group, row)
                    number += 1


@lru_cache(maxsize=2)  # items come in the order of their rows, and some threads are a little ahead of others
def _pictures(file: Path, column: str, group: int) -> Any:
    with _opened(file) as opened:
        facts = opened.metadata.row_group(group)
        if facts.total_byte_size > MOST_BYTES:
            raise DataError(
                f"row group {group} of {file} has {facts.total_byte_size:,} bytes, more than {MOST_BYTES:,}",
                next_step="write the file anew with fewer rows in a group",
            )
        return opened.read_row_group(group, columns=[column])[column].combine_chunks()


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """A parquet file; whatever is wrong with it is an error that names it."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "ray") from None
    try:
        with parquet.ParquetFile(file) as opened:
            yield opened
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, IndexError) as error:
        what = " ".join(str(error).split())
        raise DataError(f"{file} cannot be read ({what:.200})", next_step="copy it again from its source") from error


def _picture_column(schema: Any, file: Path, wanted: str | None) -> str:
    pictures = [field.name for field in schema if _holds_files(field.type)]
    if wanted is not None and wanted not in pictures:
        raise UsageError(
            f"{file} has no column {wanted!r} of pictures", next_step=f"choose one of {', '.join(pictures) or 'none'}"
        )
    if wanted is None and len(pictures) != 1:
        raise UsageError(
            f"{file} has {len(pictures)} columns that may hold pictures",
            next_step=f"name one by --picture-column: {', '.join(pictures) or 'bytes, or a struct with bytes in it'}",
        )
    return wanted or pictures[0]


def _holds_files(kind: Any) -> bool:
    from pyarrow import types

    if types.is_struct(kind):
        return any(kind.field(i).name == CONTENT and _holds_files(kind.field(i).type) for i in range(kind.num_fields))
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def _id_column(schema: Any, file: Path, wanted: str | None) -> str | None:
    from pyarrow import types

    column = wanted or ID
    if column not in schema.names:
        if wanted is not None:
            raise UsageError(f"{file} has no column {wanted!r}", next_step=f"choose one of {', '.join(schema.names)}")
        return None
    kind = schema.field(column).type
    if not (types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind)):
        raise UsageError(
            f"the column {column!r} of {file} holds {kind}", next_step="name ids of texts or whole numbers"
        )
    return column
