"""Which pictures a query may find: by folder and by date."""

import os
import re
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from typing import Any

from deepbinaries.errors import UsageError

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


@dataclass(frozen=True)
class Filter:
    """A folder and a range of dates, both ends included. A date is a day, a month or a year.

    >>> Filter(until="2024-13")
    Traceback (most recent call last):
        ...
    deepbinaries.errors.UsageError: '2024-13' is no date; write it as 2024, 2024-05 or 2024-05-31
    """

    folder: str = ""  # relative to the photographs' folder, its subfolders included
    since: str = ""
    until: str = ""

    def __post_init__(self) -> None:
        for text in (self.since, self.until):
            if text and not _is_date(text):
                raise UsageError(f"{text!r} is no date", next_step="write it as 2024, 2024-05 or 2024-05-31")
        path = PurePosixPath(self.folder)
        if path.is_absolute() or ".." in path.parts:
            raise UsageError(
                f"{self.folder!r} is no folder below the photographs", next_step="give it relative to their folder"
            )
        object.__setattr__(self, "folder", "" if path == PurePosixPath() else str(path))

    def __bool__(self) -> bool:
        return bool(self.folder or self.since or self.until)

    def lets_through(self, path: str, when: str) -> bool:
        """Whether a file passes: its path, and its date as local time.

        >>> Filter("2024", until="2024-05").lets_through("2024/beach.jpg", "2024-05-31T23:59:59")
        True
        """
        inside = not self.folder or path.startswith(f"{self.folder}/")
        # Texts of dates are ordered as dates are; cut to the length of the end, all of its day or month is included.
        return inside and when >= self.since and (not self.until or when[: len(self.until)] <= self.until)

    def condition(self) -> tuple[str, list[Any]]:
        """The same for SQL, over the tables `files` and `items`."""
        when = "coalesce(items.taken, files.date)"
        conditions = ["+files.id IS NOT NULL"]
        values: list[Any] = []
        if self.folder:
            conditions.append("files.path >= ? AND files.path < ?")
            # What begins with "folder/" lies between that and "folder0": the byte after "/" is "0".
            values += [os.fsencode(f"{self.folder}/"), os.fsencode(f"{self.folder}0")]
        if self.since:
            conditions.append(f"{when} >= ?")
            values.append(self.since)
        if self.until:
            conditions.append(f"substr({when}, 1, ?) <= ?")
            values += [len(self.until), self.until]
        return " AND ".join(conditions), values


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if not match:
        return False
    try:
        date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return False
    return True
