"""The sentences beside photographs, read as the dataset `folder` reads them."""

import os
from pathlib import Path

from deepbinaries.datasets.folder import load
from deepbinaries.errors import Error


def read_captions(root: Path) -> tuple[dict[str, tuple[str, ...]], str]:
    """The sentences of each picture by its path below the folder, and why there are none where that is so.

    They stand in `beach.txt` beside `beach.jpg`, or in a `metadata.csv` or `metadata.jsonl`.
    """
    try:
        dataset = load(root)
    except Error as error:  # no reason not to find the pictures
        return {}, str(error)
    home = root.resolve()
    captions = {}
    for record in dataset.records:
        path = getattr(record.picture, "path", None)
        if path is not None and record.sentences:
            captions[os.path.relpath(path, home)] = record.sentences
    return captions, ""
