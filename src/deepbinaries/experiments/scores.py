"""The scores of a fitted hasher on a dataset's split: every item is encoded once, every gallery is asked."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from deepbinaries.codes import Codes
from deepbinaries.datasets import Parts
from deepbinaries.errors import DataError, unknown_name
from deepbinaries.evaluation import Extras, Report, Rules, evaluate_parts
from deepbinaries.evaluation.scoring import DIRECTIONS, HEADLINE
from deepbinaries.features import Images, Prepared, Texts
from deepbinaries.features.prepared import Rows
from deepbinaries.hashers.base import Hasher

BOTH = ("image_to_text", "text_to_image")
BESIDE = Extras(cutoffs=(500,))  # what stands beside the headline in the paper's tables

Reports = dict[tuple[str, str], Report]  # by gallery and direction


def on_stderr(text: str) -> None:
    sys.stderr.write(text + "\n")


def score_parts(
    hasher: Hasher,
    prepared: Prepared,
    *,
    galleries: Sequence[str] = ("database", "clean"),
    directions: Sequence[str] = BOTH,
    rules: Rules = HEADLINE,
    extras: Extras = BESIDE,
    tell: Callable[[str], None] = on_stderr,
) -> Reports:
    """The report of each gallery in each direction, under keys such as ("clean", "text_to_image").

    Items whose picture could not be read neither ask nor are found; `tell` is told how many there are.
    """
    for direction in directions:
        if direction not in DIRECTIONS:
            raise unknown_name("direction", direction, DIRECTIONS)
    parts = readable_parts(prepared)
    if note := left_out(prepared.parts, parts):
        tell(note)
    if not len(parts.query):
        raise DataError("the split has no query that can be encoded", next_step="take another split")
    rows = {kind: parts.gallery(kind) for kind in galleries}
    encoded = np.unique(np.concatenate([parts.query, *rows.values()]))  # `clean` is a part of `database`
    sides = {side for direction in directions for side in direction.split("_to_")}
    inputs: dict[str, Callable[[Rows], Images | Texts]] = {"image": prepared.images, "text": prepared.texts}
    codes = {side: Codes.from_values(hasher.encode(inputs[side](encoded))) for side in sorted(sides)}
    queries = np.searchsorted(encoded, parts.query)
    found: Reports = {}
    for kind in galleries:
        for direction in directions:
            asking, stored = direction.split("_to_")
            found[kind, direction] = evaluate_parts(
                codes[asking][queries],
                codes[stored][np.searchsorted(encoded, rows[kind])],
                prepared.dataset,
                parts,
                kind=kind,
                direction=direction,
                rules=rules,
                extras=extras,
                partners=None if asking == stored else codes[stored][queries],
            )
    return found


def readable_parts(prepared: Prepared) -> Parts:
    """The parts of the split without the items whose picture could not be read."""
    parts, readable = prepared.parts, prepared.readable
    return replace(
        parts,
        query=readable(parts.query),
        database=readable(parts.database),
        train=readable(parts.train),
        validation=readable(parts.validation),
    )


def left_out(parts: Parts, readable: Parts) -> str:
    """How many queries and gallery items are missing for want of a readable picture, as a line; "" if none is."""
    queries, items = (len(getattr(parts, part)) - len(getattr(readable, part)) for part in ("query", "database"))
    if not queries + items:
        return ""
    return f"{queries:,} queries and {items:,} items of the database are left out: their pictures cannot be read"
