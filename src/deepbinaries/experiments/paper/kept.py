"""Lines of JSON that are made once: each has facts that name it, and one that is there is not made again."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from deepbinaries.errors import DataError
from deepbinaries.experiments.paper.shapes import fits
from deepbinaries.files import read_json_lines, write_json_lines

Line = dict[str, Any]


class Kept:
    """The lines of a file, all of the `shape`; one process at a time may write to it.

    A line of another shape is refused by its number; a last one that was torn, as by a power cut, is not there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Kept(Path(folder) / "times.jsonl").add({"bits": 16}, {"seconds": 0.5})
    ...     Kept(Path(folder) / "times.jsonl").find({"bits": 16}), Kept(Path(folder) / "times.jsonl").find({"bits": 32})
    {'bits': 16, 'seconds': 0.5}
    ({'bits': 16, 'seconds': 0.5}, None)
    """

    def __init__(self, path: Path, shape: Mapping[str, Any] | None = None):
        self.path = path
        self.lines: list[Line] = []
        lines, _ = read_json_lines(path) if path.exists() else ([], False)
        for number, text in enumerate(lines, start=1):
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                line = None
            if not fits(line, dict(shape or {})):
                raise DataError(f"{path}, line {number}, is no result", next_step="remove the line, or the file")
            self.lines.append(line)

    def find(self, named: Mapping[str, Any]) -> Line | None:
        """The line of these facts."""
        return next(iter(self.matching(named)), None)

    def matching(self, named: Mapping[str, Any]) -> list[Line]:
        """The lines that have these facts, whatever else they have."""
        plain = _plain(named)
        return [line for line in self.lines if all(line.get(key) == plain[key] for key in plain)]

    def add(self, named: Mapping[str, Any], found: Mapping[str, Any]) -> Line:
        """Keep what was found under these facts, at once."""
        line = _plain({**named, **found})
        self.extend([line])
        return line

    def extend(self, lines: Iterable[Line]) -> None:
        """Keep those of the lines that are not there yet."""
        self.lines += [line for line in lines if line not in self.lines]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_json_lines(self.lines, self.path)


def _plain(facts: Mapping[str, Any]) -> Line:
    """What JSON makes of facts, so that they are the same as those that are read back."""
    found: Line = json.loads(json.dumps(facts, allow_nan=False))
    return found
