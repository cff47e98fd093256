"""From ranked items to the hits of a page, described by what the catalogue knows; little more is read than is shown.

Look-alikes are folded by their looks alone. Paths, dates and captions are read of what is on the page, or of all that
matches where dates decide about the order.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from deepbinaries.search.answers import Hit
from deepbinaries.search.catalogue import ORPHANS, PICTURES, SENTENCES, Catalogue, File, Item
from deepbinaries.search.filters import Filter
from deepbinaries.search.looks import fold
from deepbinaries.search.pages import Page, Sort
from deepbinaries.search.relevance import Strength
from deepbinaries.vision.originals import content_id

FOLDED = 200  # items among which look-alikes are looked for, or more where the page needs more


class MissingRowsError(Exception):
    """Items of the index that the catalogue does not know: a run is removing them, or something is damaged."""


class Row(NamedTuple):
    """A ranked item."""

    id: str
    distance: int
    weighted: float
    strength: Strength


Rows = Callable[[int, int], list[Row]]  # the ranked items from one place to another; fewer at their end


@dataclass(frozen=True)
class Shown:
    """The hits of a page, and how many were found; if these are more than the page ends at, there may be more still."""

    hits: list[Hit]
    n_found: int


class _Head(NamedTuple):
    """A picture, and the ids of those that are folded behind it."""

    row: Row
    item: Item
    alike: tuple[str, ...] = ()


def show(catalogue: Catalogue, rows: Rows, page: Page, *, folded: int = FOLDED) -> Shown:
    """The hits of a page, with look-alikes among the first `folded` items or more."""
    if page.kind == SENTENCES:
        hits: list[Hit] = []
        for some in _portions(rows, page, at_least=0):
            hits += _sentences(catalogue, some, page.where)
            if page.sort == "relevance" and len(hits) > page.end:
                break
        return Shown(_sorted(hits, page.sort)[page.offset : page.end], len(hits))
    heads = _heads(catalogue, rows, page, folded)
    if page.sort == "relevance":
        return Shown(_pictures(catalogue, heads[page.offset : page.end], page.where), len(heads))
    hits = _sorted(_pictures(catalogue, heads, page.where), page.sort)
    return Shown(hits[page.offset : page.end], len(hits))


def _portions(rows: Rows, page: Page, *, at_least: int) -> Iterator[list[Row]]:
    """Rows in portions: first what a page of this end may need, then always as many as came before."""
    begin, end = 0, max(page.end + 1, at_least)
    while some := rows(begin, end):
        yield some
        begin, end = end, 2 * end


def _sorted(hits: list[Hit], sort: Sort) -> list[Hit]:
    if sort == "relevance":
        return hits
    return sorted(hits, key=lambda hit: hit.date, reverse=sort == "newest")  # stable: relevance decides within a date


def _heads(catalogue: Catalogue, rows: Rows, page: Page, folded: int) -> list[_Head]:
    """Pictures without look-alikes of an earlier one; where relevance is the order, as many as tell of another page."""
    known: list[_Head] = []
    heads: list[_Head] = []
    for some in _portions(rows, page, at_least=0 if page.alike is None else folded):
        known += _known(catalogue, some)
        heads = known if page.alike is None else _folded(known, page.alike)
        if page.sort == "relevance" and len(heads) > page.end:
            break
    return heads


def _known(catalogue: Catalogue, rows: Sequence[Row]) -> list[_Head]:
    """Pictures that have a file; those of which a run has found the last one gone are left out."""
    ids = [row.id for row in rows]
    items, with_file = catalogue.items_of(ids), catalogue.with_file(ids)
    _refuse_missing(catalogue, PICTURES, set(ids) - items.keys())
    _refuse_missing(catalogue, ORPHANS, items.keys() - with_file)
    return [_Head(row, items[row.id]) for row in rows if row.id in items and row.id in with_file]


def _folded(heads: Sequence[_Head], most: int) -> list[_Head]:
    firsts = fold([head.item.look for head in heads], most=most)
    alike: dict[int, list[str]] = {}
    for place, first in enumerate(firsts):
        if place != first:
            alike.setdefault(first, []).append(heads[place].row.id)
    return [
        heads[place]._replace(alike=tuple(alike.get(place, ()))) for place, first in enumerate(firsts) if place == first
    ]


def _pictures(catalogue: Catalogue, heads: Sequence[_Head], where: Filter) -> list[Hit]:
    ids = [head.row.id for head in heads]
    files = catalogue.files_of(ids)
    _refuse_missing(catalogue, ORPHANS, set(ids) - files.keys())
    hits = (replace(_hit(row, item, files.get(row.id, ()), where), alike=alike) for row, item, alike in heads)
    return [hit for hit in hits if hit.paths]


def _hit(row: Row, item: Item, files: Iterable[File], where: Filter) -> Hit:
    passing = [file for file in files if where.lets_through(file.path, item.taken or file.date)]
    return Hit(
        id=row.id,
        picture=item.id,
        paths=tuple(file.path for file in passing),
        distance=row.distance,
        weighted=row.weighted,
        strength=row.strength,
        width=item.width,
        height=item.height,
        date=item.taken or (passing[0].date if passing else ""),
        date_from="camera" if item.taken else "file",
        captions=tuple(dict.fromkeys(text for file in passing for text in file.said)),
    )


def _sentences(catalogue: Catalogue, rows: Sequence[Row], where: Filter) -> list[Hit]:
    """Sentences, each with the first picture beside it and with the paths of all."""
    files = catalogue.files_beside(row.id for row in rows)
    _refuse_missing(catalogue, SENTENCES, {row.id for row in rows} - files.keys())
    items = catalogue.items_of({str(file.id) for some in files.values() for file in some})
    hits = []
    for row in rows:
        beside = [(file, items[file.id]) for file in files.get(row.id, ()) if file.id in items]
        of_pictures = [_hit(row, item, [file], where) for file, item in beside]
        if found := [hit for hit in of_pictures if hit.paths]:
            texts = [text for text in beside[0][0].said if content_id(text.encode()) == row.id]
            if not texts:
                raise MissingRowsError(f"the sentence {row.id} beside {beside[0][0].path!r}")
            paths = tuple(dict.fromkeys(path for hit in found for path in hit.paths))
            hits.append(replace(found[0], paths=paths, sentence=texts[0]))
    return hits


def _refuse_missing(catalogue: Catalogue, kind: str, missing: set[str]) -> None:
    if missing and (lost := missing - catalogue.pending(kind)):
        raise MissingRowsError(f"{len(lost)} items of its index, {min(lost)} among them")
