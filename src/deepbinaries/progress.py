"""Progress of long work: a bar on a terminal, JSON lines when asked for, silence in a pipe.

`DEEPBINARIES_PROGRESS` chooses `bar`, `json` or `quiet`; without it a terminal gets the bar
and everything else gets silence, so that piped output stays clean.
"""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TextIO, TypeVar

from deepbinaries.errors import UsageError

Item = TypeVar("Item")

MODES = ("bar", "json", "quiet")
SECONDS_BETWEEN_LINES = 1.0


def track(items: Iterable[Item], what: str, *, total: int | None = None, mode: str = "") -> Iterator[Item]:
    """The same items, one by one, while their progress is shown on standard error.

    >>> list(track([1, 2], "counting", mode="quiet"))
    [1, 2]
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    mode = mode or os.environ.get("DEEPBINARIES_PROGRESS", "") or ("bar" if sys.stderr.isatty() else "quiet")
    if mode not in MODES:
        raise UsageError(f"progress mode {mode!r} is unknown", next_step=f"choose one of {', '.join(MODES)}")
    if mode == "bar":
        return _bar(items, what, total)
    if mode == "json":
        return _json_lines(items, what, total, sys.stderr)
    return iter(items)


def _bar(items: Iterable[Item], what: str, total: int | None) -> Iterator[Item]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.1f}/s" if task.speed else "")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total=total, description=what)


def _json_lines(items: Iterable[Item], what: str, total: int | None, out: TextIO) -> Iterator[Item]:
    started = last = time.monotonic()
    done = 0

    def line(now: float) -> str:
        seconds = now - started
        left = seconds / done * (total - done) if total and done else None
        state = {"what": what, "done": done, "total": total, "seconds": round(seconds, 3)}
        return json.dumps(state | ({"seconds_left": round(left, 3)} if left is not None else {}))

    for item in items:
        yield item
        done += 1
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            print(line(now), file=out, flush=True)
            last = now
    print(line(time.monotonic()), file=out, flush=True)
