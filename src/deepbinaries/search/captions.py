"""The sentences beside photographs, read as the dataset `folder` reads them."""

import os
from pathlib import Path

from deepbinaries.datasets.base import Skips
from deepbinaries.datasets.folder import load
from deepbinaries.search.skipped import shown


def read_captions(root: Path) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The sentences of each picture by its path below the folder, and what is to be said of those left out.

    They stand in `beach.txt` beside `beach.jpg`, or in a `metadata.csv` or `metadata.jsonl`.
    """
    dataset = load(root)
    home = root.resolve()
    captions = {}
    for record in dataset.records:
        path = getattr(record.picture, "path", None)
        if path is not None and record.sentences:
            captions[os.path.relpath(path, home)] = record.sentences
    return captions, _left_out(dataset.skips)


def _left_out(skips: Skips) -> list[str]:
    """A line a reason why captions are not taken.

    >>> skips = Skips(strict=False)
    >>> skips.add("its text is not valid UTF-8", "beach.jpg")
    >>> _left_out(skips)
    ['captions left out, 1: its text is not valid UTF-8 (beach.jpg)']
    """
    lines = []
    for reason, count in skips.counts.most_common():
        where = shown(skips.first[reason].encode("utf-8", "backslashreplace").decode())
        lines.append(f"captions left out, {count:,}: {reason} ({'first: ' if count > 1 else ''}{where})")
    return lines
