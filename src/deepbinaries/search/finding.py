"""From a query's values to a page of hits: ranked, judged, filtered, shown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deepbinaries.search.answers import Answer, nothing
from deepbinaries.search.catalogue import PICTURES
from deepbinaries.search.describing import Row, show
from deepbinaries.search.generation import Generation
from deepbinaries.search.pages import Page
from deepbinaries.search.ranking import Ranked, rank, whole_blocks
from deepbinaries.search.relevance import STRENGTHS, Levels, Null, Strength

NEAREST = 3  # hits that are offered where nothing matches
MOST_ALIKE = 10  # look-alikes that are expected of each of them


@dataclass(frozen=True)
class _Judged:
    """Ranked items with their strengths, of which some are wanted."""

    ranked: Ranked
    levels: Levels
    places: NDArray[np.int64]  # of those that are wanted, in their order

    def rows(self, begin: int, end: int) -> list[Row]:
        """The wanted items from one place to another."""
        ranked, places = self.ranked, self.places[begin:end]
        strengths = [STRENGTHS[level] for level in self.levels[places].tolist()]
        columns = ranked.ids_at(places), ranked.distances[places].tolist(), ranked.weights[places].tolist(), strengths
        return list(map(Row, *columns))

    @property
    def best(self) -> Strength:
        """The greatest strength among those that are wanted."""
        return STRENGTHS[int(self.levels[self.places].min(initial=len(STRENGTHS) - 1))]


def find(
    generation: Generation,
    values: NDArray[np.floating],
    page: Page,
    null: Null,
    *,
    by_picture: bool,
    without: Sequence[str] = (),
    at_best: Strength = "strong",
) -> Answer:
    """The page of hits that a query's values find, none of them of a greater strength than `at_best`."""
    index, catalogue = generation.indexes[page.kind], generation.catalogue
    # Distances between a sentence and a picture are judged by neutral sentences, whichever of both asks.
    judged_as_pictures = by_picture and page.kind == PICTURES
    among = generation.selection(page.kind, page.where)
    if not len(among):
        return nothing(offset=page.offset)
    needed, least = page.end + 1 + len(without), STRENGTHS.index(page.least)
    while True:
        ranked = rank(index, values, min(whole_blocks(needed), len(among)), among=among)
        levels = np.maximum(null.judge(ranked, by_picture=judged_as_pictures), STRENGTHS.index(at_best))
        judged = _Judged(ranked, levels, _order(ranked, levels, without, monotone=not judged_as_pictures))
        wanted = replace(judged, places=judged.places[levels[judged.places] <= least])
        # What is left out is farther away: no item of the last block matches, so hardly one of the next will.
        exhausted = ranked.whole or not (levels[ranked.last_block :] <= least).any()
        if exhausted or page.sort == "relevance":
            shown = show(catalogue, wanted.rows, page)
            if exhausted or shown.n_found > page.end:
                break
        needed = 2 * whole_blocks(needed)
    nearest = []
    if not shown.n_found:
        first = replace(page, k=NEAREST, offset=0, sort="relevance")
        nearest = show(catalogue, judged.rows, first, folded=NEAREST * MOST_ALIKE).hits
    return Answer(
        hits=tuple(shown.hits),
        nearest=tuple(nearest),
        verdict=nearest[0].strength if nearest else wanted.best,
        unknown=(),
        notes=(),
        reordered=ranked.reordered,
        searched=len(among),
        offset=page.offset,
        more=shown.n_found > page.end,
        certificate=ranked.certificate,
    )


def _order(ranked: Ranked, levels: Levels, without: Sequence[str], *, monotone: bool) -> NDArray[np.int64]:
    """The places of ranked items in their order, but for those that are not to be found."""
    # Strengths that were judged by other distances than those of the order still come from strong to none.
    places = np.arange(len(levels)) if monotone else np.argsort(levels, kind="stable")
    if without:
        places = places[[id_ not in without for id_ in ranked.ids_at(places)]]
    return places
