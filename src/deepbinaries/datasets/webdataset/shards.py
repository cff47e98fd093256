"""Tar shards: which ones are meant, and the pictures in them, read where they lie."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deepbinaries.datasets.base import file_stamp
from deepbinaries.errors import DataError, PictureError, UsageError
from deepbinaries.vision import MAX_BYTES

COMPRESSED_SUFFIXES = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")
COMPRESSED_STARTS = (b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # gzip, xz, zstandard
RANGE = re.compile(r"(.*)\{([0-9]{1,9})\.\.([0-9]{1,9})\}(.*)")
MAX_SHARDS = 100_000


@dataclass(frozen=True)
class ShardMember:
    """A picture inside a shard."""

    shard: Path
    offset: int
    size: int

    def stamp(self) -> str:
        return f"{file_stamp(self.shard)} {self.offset} {self.size}"

    def read(self) -> bytes:
        size = min(self.size, MAX_BYTES + 1)  # one more than allowed, so that the reader notices
        try:
            # By descriptor: a file object would take longer to make than a small picture takes to read.
            descriptor = os.open(self.shard, os.O_RDONLY | os.O_CLOEXEC)
            try:
                content = os.pread(descriptor, size, self.offset)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise PictureError(
                f"{self.shard} cannot be read ({error.strerror})", next_step="restore the file or its permissions"
            ) from error
        if len(content) < size:
            raise PictureError(f"{self.shard} has become shorter", next_step="open the dataset again")
        return content


def find_shards(root: Path) -> list[Path]:
    """The shards in a folder, by name; or the one, or the range `shard-{000000..000011}.tar`, that `root` names."""
    if root.is_dir():
        shards = _shards_in(root)
    elif wanted := RANGE.fullmatch(root.name):
        shards = [root.with_name(name) for name in _names_in(wanted)]
    else:
        shards = [root]
    if not shards:
        raise DataError(f"{root} holds no .tar file", next_step="give the folder that holds the shards")
    if shards == [root] and not root.suffix and not root.exists():
        raise DataError(f"there is no folder {root}", next_step="give the folder that holds the shards")
    for shard in shards:
        if shard.name.endswith(COMPRESSED_SUFFIXES):
            raise _compressed(shard)
        if not shard.is_file():
            raise DataError(f"{shard} does not exist or is not a file", next_step="copy it from its source")
    return shards


@contextmanager
def open_shard(shard: Path) -> Iterator[int]:
    """The descriptor of a shard, open for reading."""
    try:
        descriptor = os.open(shard, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise DataError(f"{shard} cannot be read ({error.strerror})", next_step="restore its permissions") from error
    try:
        if os.pread(descriptor, 6, 0).startswith(COMPRESSED_STARTS):
            raise _compressed(shard)
        yield descriptor
    finally:
        os.close(descriptor)


def _shards_in(folder: Path) -> list[Path]:
    endings = (".tar", *COMPRESSED_SUFFIXES)
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(endings) and path.name[0] != ".")
    except OSError as error:
        raise DataError(f"{folder} cannot be read ({error.strerror})", next_step="allow reading it") from error


def _names_in(wanted: re.Match[str]) -> Iterator[str]:
    """The file names of a range: both ends included, the width kept."""
    before, first, last, after = wanted.groups()
    if not 0 <= int(last) - int(first) < MAX_SHARDS:
        raise UsageError(
            f"the range {{{first}..{last}}} does not name 1 to {MAX_SHARDS:,} shards",
            next_step="write it as {000000..000011}",
        )
    return (f"{before}{number:0{len(first)}d}{after}" for number in range(int(first), int(last) + 1))


def _compressed(shard: Path) -> DataError:
    return DataError(
        f"{shard} is compressed, so single items in it cannot be reached",
        next_step="decompress it once: pictures hardly shrink",
    )
