"""The list of files that could not be read, for people and spreadsheets."""

import csv
import io
import os
from collections import Counter
from pathlib import Path

from deepbinaries.files import written_whole
from deepbinaries.search.catalogue import Catalogue
from deepbinaries.search.layout import SKIPPED


def write_skipped(catalogue: Catalogue, folder: Path) -> Counter[str]:
    """Write `skipped.csv` and count the reasons; without any there is no such file."""
    failed = [file for file in catalogue.files() if file.id is None]
    path = folder / SKIPPED
    if not failed:
        path.unlink(missing_ok=True)
        return Counter()
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(("path", "reason", "since"))
    rows.writerows((shown(file.path), file.reason, file.since) for file in failed)
    with written_whole(path) as out:
        out.write(text.getvalue().encode())
    return Counter(file.reason for file in failed)


def shown(path: str) -> str:
    r"""A path as people can read it, also where its bytes are no UTF-8 or would move the cursor.

    >>> shown(os.fsdecode(b"caf\xe9\n.jpg"))
    'caf\\xe9\\n.jpg'
    """
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
