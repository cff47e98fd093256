"""Where the files in a plain tar archive lie: one pass over its headers, nothing unpacked.

The standard library's reader takes a header it cannot read for the end of the archive, so that half a shard
would look like a small one; and it reads every field of every header, where three are enough to find a file.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from deepbinaries.errors import DataError

BLOCK = 512
MAX_EXTENSION_BYTES = 2**20  # the largest long name or list of attributes that is read
FILES = (b"0", b"\0", b"7")
WITHOUT_DATA = (b"1", b"2", b"3", b"4", b"5", b"6")  # links, devices, folders, pipes: a size they state means nothing


class Member(NamedTuple):
    """A plain file in an archive."""

    name: str
    offset: int  # of its first byte
    size: int


def members(descriptor: int, archive: Path) -> Iterator[Member]:
    """The plain files of an open archive, in order; one that is cut or damaged anywhere is refused."""
    n_bytes = os.fstat(descriptor).st_size
    last, end = "none", 0
    position = 0
    extension: dict[str, str] = {}  # path and size of the next member where they do not fit its header
    try:
        while True:
            header = os.pread(descriptor, BLOCK, position)
            if _is_end(header, descriptor, position):
                return
            name, size, kind = _parse(header)
            name, size = extension.get("path", name), _decimal(extension.get("size"), size)
            data, size = position + BLOCK, 0 if kind in WITHOUT_DATA else size
            if data + size > n_bytes:
                raise ValueError(f"{name} goes beyond its end")
            if kind == b"S":
                raise ValueError(f"{name} is a sparse file")
            if kind in (b"L", b"x"):
                extension |= _extension(descriptor, data, size, kind)
            elif kind not in (b"K", b"g"):
                if kind in FILES:
                    yield Member(name, data, size)
                last, end, extension = name, data + size, {}
            position = data + -(-size // BLOCK) * BLOCK
    except (ValueError, OSError) as error:
        problem = (
            f"{archive} is cut or damaged at byte {position:,} ({error}); "
            f"the last whole file in it is {last}, up to byte {end:,}"
        )
        raise DataError(
            problem.encode(errors="backslashreplace").decode(), next_step="copy it again from its source"
        ) from error


def _is_end(block: bytes, descriptor: int, position: int) -> bool:
    """Whether a block is the end mark: zeros, with nothing but zeros behind it."""
    if len(block) < BLOCK:
        raise ValueError("it stops without an end mark")
    if any(block):
        return False
    while block := os.pread(descriptor, 2**20, position):
        if any(block):
            raise ValueError("something follows its end mark")
        position += len(block)
    return True


def _parse(header: bytes) -> tuple[str, int, bytes]:
    """Name, size and kind out of a header block whose checksum holds."""
    if sum(header) - sum(header[148:156]) + 8 * ord(" ") != _octal(header[148:156]):
        raise ValueError("a header is expected there, and its checksum is wrong")
    name = _until_zero(header[:100])
    # Only POSIX headers keep the front of a long path here; GNU ones keep times.
    if header[257:263] == b"ustar\0" and header[345]:
        name = _until_zero(header[345:500]) + b"/" + name
    return _decode(name), _octal(header[124:136]), header[156:157]


def _extension(descriptor: int, offset: int, size: int, kind: bytes) -> dict[str, str]:
    """What a long-name block (L) or a list of attributes (x) says about the member that follows."""
    if size > MAX_EXTENSION_BYTES:
        raise ValueError(f"a list of attributes has more than {MAX_EXTENSION_BYTES:,} bytes")
    content = os.pread(descriptor, size, offset)
    if kind == b"L":
        return {"path": _decode(_until_zero(content))}
    attributes = {}
    start = 0
    while start < len(content):
        space = content.find(b" ", start)
        end = start + _decimal(_decode(content[start : max(space, start)]), 0)
        key, equals, value = content[space + 1 : end].partition(b"=")
        if end > len(content) or not equals or not value.endswith(b"\n"):
            raise ValueError("a list of attributes is not well formed")
        if key.startswith(b"GNU.sparse."):
            raise ValueError("the next file is a sparse file")
        if key in (b"path", b"size"):
            attributes[_decode(key)] = _decode(value[:-1])
        start = end
    return attributes


def _octal(field: bytes) -> int:
    """A number in a header: octal digits or, when it is too large for them, plain bytes after a mark."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:])
    digits = _until_zero(field).strip(b" ")
    if digits and not digits.isdigit():
        raise ValueError("a header holds no number where one is due")
    return int(digits or b"0", 8)


def _decimal(digits: str | None, default: int) -> int:
    if digits is None:
        return default
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 18:
        raise ValueError("an attribute is no number where one is due")
    return int(digits)


def _until_zero(field: bytes) -> bytes:
    return field.split(b"\0", 1)[0]


def _decode(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
