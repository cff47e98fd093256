"""Reading small files with a limit, writing files whole or not at all, and where they may go."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO

from deepbinaries.errors import DataError, Error

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_BYTES = 64 * 2**20  # of a file that describes something; a million ids need about 16 MB


def cache_folder() -> Path:
    """The folder for files that can be made again: `DEEPBINARIES_CACHE`, or the user's own cache."""
    if own := os.environ.get("DEEPBINARIES_CACHE"):
        return Path(own)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "deepbinaries"


def read_bytes(path: Path, *, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file that has at most `limit` of them."""
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist", next_step="check the path") from None
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or error})", next_step="check what it is and its permissions"
        ) from error
    if len(content) > limit:
        raise DataError(f"{path} has more than {limit:,} bytes", next_step="check that it is the right file")
    return content


def read_json(path: Path, *, limit: int = MAX_BYTES) -> Any:
    """The JSON value in a file; one that is not whole is refused by name."""
    try:
        return json.loads(read_bytes(path, limit=limit))
    except (ValueError, RecursionError) as error:  # also what is not UTF-8
        raise DataError(f"{path} is not whole JSON ({error})", next_step="write or copy it again") from error


def read_lines(path: Path, *, limit: int = MAX_BYTES) -> list[str]:
    """The lines of a UTF-8 text, with or without the mark that some editors put in front."""
    lines = _parted(path, limit)
    return lines[:-1] if lines[-1] == "" else lines


def read_json_lines(path: Path) -> tuple[list[str], bool]:
    """The lines of a file of JSON objects, and whether a last one was left out, which was torn as by a power cut.

    A torn line begins an object and has no end. Any other line that is none is given back, for whoever refuses it.
    """
    *lines, last = _parted(path, MAX_BYTES)
    if not last.startswith("{"):
        return [*lines, last] if last else lines, False
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        return lines, True
    return [*lines, last], False


def _parted(path: Path, limit: int) -> list[str]:
    """A text parted at the ends of lines; the last part is what has no end, "" where every line has one."""
    try:
        text = read_bytes(path, limit=limit).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8", next_step="save it as UTF-8") from None
    return text.replace("\r\n", "\n").split("\n")


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name at the end; what goes wrong before leaves no trace."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            yield file
        unfinished.replace(path)
    except OSError as error:
        raise Error(
            f"{path} cannot be written ({error.strerror or error})",  # numpy's short writes have words of their own
            next_step="check the folder, its permissions and free space",
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)


def write_array(array: "NDArray[Any]", file: BinaryIO) -> None:
    """Write an array as `numpy.save` does, which on a full disk may lose the last bytes without a word."""
    import numpy as np

    array = np.ascontiguousarray(array)
    np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
    file.write(array.reshape(-1).view(np.uint8).data)


def check_place(path: Path) -> None:
    """Refuse a path at which nothing can be made, before hours of work; folders on the way may be missing.

    It is tried, since permissions alone do not tell: in some folders not even the superuser can write.
    """
    there = next(folder for folder in path.absolute().parents if folder.exists())
    try:
        with TemporaryDirectory(prefix=".deepbinaries-", dir=there):
            pass
    except OSError as error:
        raise Error(
            f"{path} cannot be made: {there} cannot be written to ({error.strerror or error})",
            next_step="give a place that you may write to",
        ) from error


def write_json_lines(entries: Iterable[Any], path: Path) -> None:
    """Write JSON values, one a line."""
    with written_whole(path) as file:
        file.write("".join(json.dumps(entry, allow_nan=False) + "\n" for entry in entries).encode("ascii"))


def write_json(content: Any, path: Path, *, indent: int | None = None) -> None:
    """Write a JSON value, on one line and without spaces unless it is indented."""
    separators = (",", ":") if indent is None else None
    with written_whole(path) as file:
        file.write(json.dumps(content, allow_nan=False, indent=indent, separators=separators).encode("ascii") + b"\n")
