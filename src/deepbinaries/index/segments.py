"""Segments: immutable files of codes and their ids, which a search maps into memory.

    header   64 bytes: magic, format, bits, rows, bytes of all ids; the rest is zero
    columns  (words, rows) 64-bit words, word w of every code together
    starts   (rows + 1) where each id begins in the text
    finder   (rows) finds the row of an id; see `deepbinaries.index.ids`
    text     the ids, in the order of their bytes, without gaps

All numbers are little-endian. Rows are in the order of their ids, so that a scan meets equal distances in
the order in which they are answered. A segment is written once and never changed: a mapped file that
shrinks or is overwritten would end the process, and one that is unlinked stays readable.
"""

import hashlib
import mmap
import os
import struct
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import CorruptIndexError
from deepbinaries.index.durable import corrupt, own_errors, write_durably
from deepbinaries.index.ids import Ids

MAGIC = b"DBCODES\n"
FORMAT = 1
FOLDER = "segments"

_HEADER = struct.Struct("<8sIIQQ32x")
_CHUNK = 4 * 2**20  # bytes that one thread digests at a time
_MOST_THREADS = 4

# Files that this process has proven: device, inode, time, size and digest.
_proven: set[tuple[int, int, int, int, str]] = set()
_MOST_PROVEN = 10_000  # of them are remembered, or else a process that writes for years would remember them all

Columns = NDArray[np.uint64]


@dataclass(frozen=True)
class Record:
    """What the catalogue knows of a segment."""

    number: int
    rows: int
    id_bytes: int
    sha256: str  # of the file, see `digest`
    hidden: bytes = b""  # rows that were removed: ascending, 4 bytes each

    @property
    def hidden_rows(self) -> NDArray[np.uint32]:
        """The rows that were removed."""
        return np.frombuffer(self.hidden, dtype="<u4")

    @property
    def visible_rows(self) -> NDArray[np.int64]:
        """The rows that a search can find."""
        return np.delete(np.arange(self.rows, dtype=np.int64), self.hidden_rows.astype(np.int64))

    @property
    def n_visible(self) -> int:
        """How many rows a search can find."""
        return self.rows - len(self.hidden) // 4


class Segment:
    """A segment file, opened: its size and header are as the catalogue says; `prove` compares every byte."""

    def __init__(self, folder: Path, record: Record, bits: int):
        """Raises FileNotFoundError where the file is not there: a writer may have replaced it."""
        self.path, self.sha256 = segment_path(folder, record.number), record.sha256
        self._folder, self._proving = folder, threading.Lock()
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._close = weakref.finalize(self, os.close, descriptor)
        self._descriptor, self.n_bytes = descriptor, file_size(bits, record.rows, record.id_bytes)
        found = os.fstat(descriptor)
        self._identity = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size, record.sha256)
        expected = header(bits, record.rows, record.id_bytes)
        if found.st_size != self.n_bytes or os.pread(descriptor, len(expected), 0) != expected:
            raise self._damaged()
        self.content = content = mmap.mmap(descriptor, self.n_bytes, prot=mmap.PROT_READ)
        n_words, n = -(-bits // 64), record.rows
        words = np.frombuffer(content, dtype="<u8", count=n_words * n + 2 * n + 1, offset=len(expected))
        columns, starts, finder = np.split(words, [n_words * n, n_words * n + n + 1])
        text = np.frombuffer(content, dtype=np.uint8, count=record.id_bytes, offset=len(expected) + words.nbytes)
        self.columns: Columns = columns.reshape(n_words, n).astype(np.uint64, copy=False)
        self.ids = Ids(text, starts.astype(np.uint64, copy=False), finder.astype(np.uint64, copy=False))

    def prove(self, *, afresh: bool = False) -> None:
        """Compare every byte with the digest, once in a process; nothing of a segment is used before.

        `afresh` does it again for a file that another object of this process has proven.
        """
        with self._proving:
            if not self._close.alive:
                return
            if afresh or self._identity not in _proven:
                with own_errors(self._folder):  # not through the map: a disk that fails would end the process
                    if digest(self._descriptor, self.n_bytes) != self.sha256:
                        raise self._damaged()
                _remember(self._identity)
            self._close()

    def _damaged(self) -> CorruptIndexError:
        return corrupt(self._folder, f"{self.path.name} in {FOLDER} is not the file that was written")


def write_segment(folder: Path, number: int, bits: int, ids: Ids, columns: Columns) -> Record:
    """Write a segment, which is on the disk afterwards but for its name: sync the folder of segments."""
    path = segment_path(folder, number)
    arrays = (columns, ids.starts, ids.finder)
    parts = [np.ascontiguousarray(array, dtype="<u8").reshape(-1).view(np.uint8).data for array in arrays]
    write_durably(path, [header(bits, len(ids), len(ids.text)), *parts, ids.text.data])
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = os.fstat(descriptor)
        sha256 = digest(descriptor, found.st_size)
    finally:
        os.close(descriptor)
    _remember((found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size, sha256))
    return Record(number, len(ids), len(ids.text), sha256)


def _remember(identity: tuple[int, int, int, int, str]) -> None:
    if len(_proven) >= _MOST_PROVEN:
        _proven.clear()
    _proven.add(identity)


def segment_path(folder: Path, number: int) -> Path:
    """Where a segment is.

    >>> segment_path(Path("index"), 7).as_posix()
    'index/segments/00000007.codes'
    """
    return folder / FOLDER / f"{number:08d}.codes"


def header(bits: int, rows: int, id_bytes: int) -> bytes:
    """The first 64 bytes of a segment."""
    return _HEADER.pack(MAGIC, FORMAT, bits, rows, id_bytes)


def file_size(bits: int, rows: int, id_bytes: int) -> int:
    """How many bytes a segment has.

    >>> file_size(bits=128, rows=10, id_bytes=50)
    442
    """
    return _HEADER.size + 8 * (-(-bits // 64) * rows + 2 * rows + 1) + id_bytes


def digest(descriptor: int, n_bytes: int) -> str:
    """The SHA-256 of the SHA-256 of every 4 MiB of a file: several threads can compute it."""

    def of_chunk(start: int) -> bytes:
        return hashlib.sha256(os.pread(descriptor, min(_CHUNK, n_bytes - start), start)).digest()

    starts = range(0, n_bytes, _CHUNK)
    if len(starts) == 1:
        return hashlib.sha256(of_chunk(0)).hexdigest()
    with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1)) as pool:
        return hashlib.sha256(b"".join(pool.map(of_chunk, starts))).hexdigest()
