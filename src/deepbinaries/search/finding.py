"""From a query's values to a page of hits: ranked, judged, filtered, folded, sorted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import unknown_name
from deepbinaries.search.answers import ORDER, Answer, Hit, nothing
from deepbinaries.search.catalogue import ORPHANS, PICTURES, SENTENCES, Catalogue, File, Item
from deepbinaries.search.filters import Filter
from deepbinaries.search.generation import Generation
from deepbinaries.search.looks import fold
from deepbinaries.search.originals import content_id
from deepbinaries.search.ranking import Ranked, rank, whole_blocks
from deepbinaries.search.relevance import Null, Strength

Sort = Literal["relevance", "newest", "oldest"]
SORTS = ("relevance", "newest", "oldest")
NEAREST = 3  # hits that are offered where nothing matches
MOST_ALIKE = 10  # look-alikes that are expected of each of them

Row = tuple[str, int, float, Strength]  # id, distance, weighted distance


class MissingRowsError(Exception):
    """Items of the index that the catalogue does not know: a run is removing them, or something is damaged."""


@dataclass(frozen=True)
class Finding:
    """Which page of what is wanted."""

    k: int
    offset: int
    where: Filter
    sort: Sort
    least: Strength
    alike: int | None
    kind: str

    def __post_init__(self) -> None:
        if self.sort not in SORTS:
            raise unknown_name("order", self.sort, SORTS)
        if self.least not in ORDER:
            raise unknown_name("strength", self.least, ORDER)

    def wants(self, strength: Strength) -> bool:
        """Whether a match of this strength is wanted."""
        return ORDER.index(strength) <= ORDER.index(self.least)


def find(
    generation: Generation,
    values: NDArray[np.floating],
    page: Finding,
    null: Null,
    *,
    by_picture: bool,
    without: Sequence[str] = (),
) -> Answer:
    """The page of hits that a query's values find."""
    index = generation.indexes[page.kind]
    # Distances between a sentence and a picture are judged by neutral sentences, whichever of both asks.
    judged_as_pictures = by_picture and page.kind == PICTURES
    among = generation.catalogue.ids_where(page.where, page.kind) if page.where else None
    searched = len(index) if among is None else len(among)
    if not searched:
        return nothing(offset=page.offset)
    needed = page.offset + page.k + 1 + len(without)
    while True:
        ranked = rank(index, values, min(whole_blocks(needed), len(index)), among=among)
        strengths = null.judge(ranked, by_picture=judged_as_pictures)
        rows = [row for row in _rows(ranked, strengths, monotone=not judged_as_pictures) if row[0] not in without]
        kept = _described(generation.catalogue, [row for row in rows if page.wants(row[3])], page)
        # What is left out is farther away: no item of the last block matches, so hardly one of the next will.
        exhausted = ranked.whole or not any(page.wants(one) for one in strengths[ranked.last_block :])
        if exhausted or (page.sort == "relevance" and len(kept) > page.offset + page.k):
            break
        needed = 2 * whole_blocks(needed)
    ordered = _sorted(kept, page.sort)
    nearest = [] if kept else _described(generation.catalogue, rows[: NEAREST * MOST_ALIKE], page)[:NEAREST]
    best: Strength = min((hit.strength for hit in kept or nearest), key=ORDER.index, default="none")
    return Answer(
        hits=tuple(ordered[page.offset : page.offset + page.k]),
        nearest=tuple(nearest),
        verdict=best,
        unknown=(),
        notes=(),
        reordered=ranked.reordered,
        searched=searched,
        offset=page.offset,
        more=len(ordered) > page.offset + page.k,
        certificate=ranked.certificate,
    )


def _sorted(hits: list[Hit], sort: Sort) -> list[Hit]:
    if sort == "relevance":
        return hits
    return sorted(hits, key=lambda hit: hit.date, reverse=sort == "newest")  # stable: relevance decides within a date


def _rows(ranked: Ranked, strengths: Sequence[Strength], *, monotone: bool) -> list[Row]:
    rows = list(zip(ranked.ids, ranked.distances.tolist(), ranked.weights.tolist(), strengths, strict=True))
    # Strengths that were judged by other distances than those of the order still come from strong to none.
    return rows if monotone else sorted(rows, key=lambda row: ORDER.index(row[3]))


def _described(catalogue: Catalogue, rows: Sequence[Row], page: Finding) -> list[Hit]:
    """Hits with all that the catalogue knows of them."""
    return (_pictures if page.kind == PICTURES else _sentences)(catalogue, rows, page)


def _pictures(catalogue: Catalogue, rows: Sequence[Row], page: Finding) -> list[Hit]:
    ids = [row[0] for row in rows]
    items, files = catalogue.items_of(ids), catalogue.files_of(ids)
    _refuse_missing(catalogue, PICTURES, set(ids) - items.keys())
    _refuse_missing(catalogue, ORPHANS, items.keys() - files.keys())
    hits = [
        _picture(row, items[row[0]], files[row[0]], page.where) for row in rows if row[0] in items and row[0] in files
    ]
    hits = [hit for hit in hits if hit.paths]
    if page.alike is None:
        return hits
    firsts = fold([items[hit.id].look for hit in hits], most=page.alike)
    alike: dict[int, list[str]] = {}
    for place, first in enumerate(firsts):
        if place != first:
            alike.setdefault(first, []).append(hits[place].id)
    return [
        replace(hit, alike=tuple(alike.get(place, ())))
        for place, (hit, first) in enumerate(zip(hits, firsts, strict=True))
        if place == first
    ]


def _picture(row: Row, item: Item, files: Sequence[File], where: Filter) -> Hit:
    id_, distance, weighted, strength = row
    passing = [file for file in files if where.lets_through(file.path, item.taken or file.date)]
    return Hit(
        id=id_,
        paths=tuple(file.path for file in passing),
        distance=distance,
        weighted=weighted,
        strength=strength,
        date=item.taken or (passing[0].date if passing else ""),
        date_from="camera" if item.taken else "file",
        captions=tuple(dict.fromkeys(text for file in passing for text in file.said)),
    )


def _sentences(catalogue: Catalogue, rows: Sequence[Row], page: Finding) -> list[Hit]:
    """Sentences, with the pictures beside them; a sentence may stand beside several."""
    files = catalogue.files_beside(row[0] for row in rows)
    _refuse_missing(catalogue, SENTENCES, {row[0] for row in rows} - files.keys())
    items = catalogue.items_of({str(file.id) for some in files.values() for file in some})
    hits = []
    for row in rows:
        beside = [(file, items[file.id]) for file in files.get(row[0], ()) if file.id in items]
        of_pictures = [_picture(row, item, [file], page.where) for file, item in beside]
        if found := [hit for hit in of_pictures if hit.paths]:
            texts = [text for text in beside[0][0].said if content_id(text.encode()) == row[0]]
            if not texts:
                raise MissingRowsError(f"the sentence {row[0]} beside {beside[0][0].path!r}")
            paths = tuple(dict.fromkeys(path for hit in found for path in hit.paths))
            hits.append(replace(found[0], paths=paths, sentence=texts[0]))
    return hits


def _refuse_missing(catalogue: Catalogue, kind: str, missing: set[str]) -> None:
    if missing and (lost := missing - catalogue.pending(kind)):
        raise MissingRowsError(f"{len(lost)} items of its index, {min(lost)} among them")
