"""A disk as a power cut leaves it: calls recorded by preload.c, and what of them is certain to be there.

A file's bytes are certain once it was synced, its name once its folder was. Of everything else a power cut keeps
nothing, or all, or any part.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def preload_library(folder: Path) -> Path:
    """The library of preload.c, compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("there is no C compiler, or this is not Linux")
    library = folder / "preload.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, HERE / "preload.c", "-ldl"], check=True)
    return library


def run_watched(library: Path, root: Path, *command: object, log: Path | None = None) -> str:
    """What a Python program prints whose calls on files under a folder are watched."""
    watched = {**os.environ, "LD_PRELOAD": str(library), "DISK_ROOT": str(root)}
    watched |= {"DISK_LOG": str(log)} if log else {}
    arguments = [sys.executable, *map(str, command)]
    run = subprocess.run(arguments, check=False, capture_output=True, text=True, env=watched)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


@contextmanager
def memory_folder() -> Iterator[Path]:
    """A folder in memory where there is one: syncing it costs nothing, and what is synced is known from the calls."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder made in it is nobody else's
    folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@dataclass(frozen=True)
class Call:
    operation: str
    inode: int
    offset: int
    content: bytes
    path: str
    other: str


def read_log(log: Path) -> list[Call]:
    calls, rest = [], log.read_bytes()
    while rest:
        line, _, rest = rest.partition(b"\n")
        operation, inode, offset, length, path, other = line.decode().split(" ")
        calls.append(Call(operation, int(inode), int(offset), rest[: int(length)], path, other))
        rest = rest[int(length) :]
    return calls


@dataclass
class File:
    safe: bytes = b""
    pending: list[Call] = field(default_factory=list)

    def content(self, kept: list[Call]) -> bytes:
        content = bytearray(self.safe)
        for call in kept:
            if call.operation == "truncate":
                del content[call.offset :]
                content.extend(bytes(call.offset - len(content)))
            else:
                content.extend(bytes(max(0, call.offset - len(content))))
                content[call.offset : call.offset + len(call.content)] = call.content
        return bytes(content)


class Disk:
    """Files and names under a root, as they are and as they are certain to be after a power cut."""

    def __init__(self, root: Path):
        self.root = root
        self.files: dict[int, File] = {}
        self.names: dict[str, File | None] = {str(root): None}  # None is a folder
        self.safe_names = dict(self.names)

    def apply(self, call: Call) -> None:
        if call.operation == "create":  # inodes are used again
            self.files[call.inode] = self.names[call.path] = File()
        elif call.operation == "mkdir":
            self.names[call.path] = None
        elif call.operation == "unlink":
            del self.names[call.path]
        elif call.operation == "rename":
            for name in [name for name in self.names if name == call.path or name.startswith(f"{call.path}/")]:
                self.names[call.other + name.removeprefix(call.path)] = self.names.pop(name)
        elif call.operation == "sync" and call.path in self.names and self.names[call.path] is None:
            inside = {name for name in {*self.names, *self.safe_names} if os.path.dirname(name) == call.path}  # noqa: PTH120
            self.safe_names = {name: file for name, file in self.safe_names.items() if name not in inside}
            self.safe_names |= {name: self.names[name] for name in inside & self.names.keys()}
        elif call.operation == "sync":
            file = self.files[call.inode]
            file.safe, file.pending = file.content(file.pending), []
        else:
            self.files[call.inode].pending.append(call)

    def states(self, rng: random.Random) -> Iterator[tuple[str, dict[str, bytes | None]]]:
        """What could be found after a cut at this moment, by the name of the case."""
        yield "the process is killed", self._state(self.names, kept=1.0, rng=rng)
        yield "only what was synced", self._state(self.safe_names, kept=0.0, rng=rng)
        yield "all names, synced content", self._state(self.names, kept=0.0, rng=rng)
        some = {name: rng.choice((self.names, self.safe_names)) for name in sorted({*self.names, *self.safe_names})}
        mixed = {name: names[name] for name, names in some.items() if name in names}
        yield "any part", self._state(mixed, kept=0.5, rng=rng)

    def _state(self, names: dict[str, File | None], *, kept: float, rng: random.Random) -> dict[str, bytes | None]:
        """Files that a path leads to, with a share of what was written to them and not synced."""
        reachable: dict[str, bytes | None] = {}
        for name, file in sorted(names.items(), key=lambda item: item[0]):
            parent = os.path.dirname(name)  # noqa: PTH120
            if name != str(self.root) and reachable.get(parent, b"") is not None:
                continue
            reachable[name] = file and file.content([call for call in file.pending if rng.random() < kept])
        return reachable


def build(state: dict[str, bytes | None], root: Path, target: Path) -> None:
    """Make the folder that a state describes."""
    shutil.rmtree(target, ignore_errors=True)
    for name, content in state.items():
        path = target / Path(name).relative_to(root)
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content)
