"""The scores of a fitted hasher on a dataset's split: every item is encoded once, every gallery is asked."""

import sys
from collections.abc import Callable, Sequence, Sized
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes
from deepbinaries.datasets import Dataset, Parts
from deepbinaries.errors import DataError, UsageError, unknown_name
from deepbinaries.evaluation import Extras, Report, Rules, evaluate_parts
from deepbinaries.evaluation.scoring import DIRECTIONS, HEADLINE
from deepbinaries.features import Images, Pairs, Texts
from deepbinaries.features.prepared import Rows

BOTH = ("image_to_text", "text_to_image")
BESIDE = Extras(cutoffs=(500,))  # what stands beside the headline in the paper's tables

HAMMING = "hamming"

Reports = dict[tuple[str, str], Report]  # by gallery and direction


class Source(Protocol):
    """Where pictures, texts and labels of a split come from: `features.Prepared`, or `PreparedVectors`."""

    @property
    def dataset(self) -> Dataset: ...

    @property
    def parts(self) -> Parts: ...

    def images(self, rows: Rows) -> Images: ...

    def texts(self, rows: Rows) -> Texts: ...

    def pairs(self, rows: Rows) -> Pairs: ...

    def readable(self, rows: Rows) -> NDArray[np.int64]: ...


def on_stderr(text: str) -> None:
    sys.stderr.write(text + "\n")


def score_parts(
    hasher: Any,
    source: Source,
    *,
    parts: Parts | None = None,
    galleries: Sequence[str] = ("database", "clean"),
    directions: Sequence[str] = BOTH,
    rules: Rules = HEADLINE,
    extras: Extras = BESIDE,
    paired: bool = False,
    unified: bool = False,
    also: Callable[[str, str, Any, Any], None] | None = None,
    device: str | None = None,
    tell: Callable[[str], None] = on_stderr,
) -> Reports:
    """The report of each gallery in each direction, under keys such as ("clean", "text_to_image").

    A hasher that names a `ranking` of its own, such as "cosine", is ranked by its values, any other by the codes of
    their signs. `paired`, a picture and its own sentence alone are relevant to each other. With `unified`, gallery
    items have one code of both views, by its `encode_pair`. Items whose picture could not be read neither ask nor are
    found; `tell` is told how many there are. `parts` may be other ones than the source's own. `also` is given each
    gallery and direction with what asks and what is searched. Codes are compared on the `device`, as by `evaluate`.
    """
    for direction in directions:
        if direction not in DIRECTIONS:
            raise unknown_name("direction", direction, DIRECTIONS)
    whole = parts or source.parts
    parts = readable_parts(source, whole)
    if note := left_out(whole, parts):
        tell(note)
    if not len(parts.query):
        raise DataError("the split has no query that can be encoded", next_step="take another split")
    rules = replace(rules, ranking=getattr(hasher, "ranking", HAMMING))
    rows = {kind: parts.gallery(kind) for kind in galleries}
    encoded = np.unique(np.concatenate([parts.query, *rows.values()]))  # `clean` is a part of `database`
    sides = {side for direction in directions for side in direction.split("_to_")}
    inputs: dict[str, Callable[[Rows], Images | Texts]] = {"image": source.images, "text": source.texts}
    as_ranked: Callable[[Any], Any] = Codes.from_values if rules.ranking == HAMMING else np.asarray
    asked = {side: as_ranked(_whole(hasher.encode(inputs[side](encoded)), encoded, hasher)) for side in sorted(sides)}
    stored = asked
    if unified:
        both = hasher.encode_pair(source.images(encoded), source.texts(encoded))
        stored = dict.fromkeys(asked, as_ranked(_whole(both, encoded, hasher)))
    queries = np.searchsorted(encoded, parts.query)
    found: Reports = {}
    for kind in galleries:
        for direction in directions:
            asking, searched = direction.split("_to_")
            more: dict[str, Any] = {"extras": extras}
            queried, gallery = asked[asking][queries], stored[searched][np.searchsorted(encoded, rows[kind])]
            if also is not None:
                also(kind, direction, queried, gallery)
            if rules.ranking == HAMMING:
                more["device"] = device
                if asking != searched and not unified:
                    more["partners"] = stored[searched][queries]
            found[kind, direction] = evaluate_parts(
                queried,
                gallery,
                source.dataset,
                parts,
                kind=kind,
                direction=direction,
                rules=rules,
                paired=paired,
                **more,
            )
    return found


def _whole(values: Any, rows: Sized, hasher: Any) -> Any:
    """The values of a hasher, which may be one's own, where they are of every row."""
    if np.shape(values) != (wanted := (len(rows), hasher.bits)):
        raise UsageError(
            f"{type(hasher).__name__} gives values of shape {np.shape(values)}, not {wanted}",
            next_step="give one row an item and one column a bit: deepbinaries.hashers.check_hasher looks at both",
        )
    return values


def readable_parts(source: Source, parts: Parts) -> Parts:
    """The parts of a split without the items whose picture could not be read."""
    readable = source.readable
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
