"""How TVDB stands beside every method: MAP, in how many columns it leads, and the ends of figure 3's lines."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from reproduced import (
    BEST,
    BITS,
    OURS,
    PLACES,
    PRINTED,
    TVDB,
    Number,
    Numbers,
    Task,
    caption,
    cell_of,
    chances,
    grid,
    mean,
    numbers,
    over_reference,
    reproduced_cells,
    share,
    text,
)
from tables import QUERY, short
from task_tables import GALLERIES

from deepbinaries.experiments.comparison_table import Column

HEADS = tuple(f"{column.gallery}, {QUERY[column.direction]}" for column in PLACES)
SCORES: Mapping[str, Callable[[Number], float]] = {
    "MAP@all": lambda number: number["map_all"],
    "MAP@500": lambda number: number["map_500"]["value"],
}
NEAREST = "DCMH"  # the peer whose line crosses that of the best form
RECALLS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


def peers(root: Path) -> Iterator[str]:
    """Every method beside the best form of TVDB, and how often TVDB leads."""
    there, missing = numbers(root, "table1")
    for task, found in there.items():
        yield from caption(f"{task.title}: MAP, and how much that is over {BEST}; {BITS} bits, {chances(found)}.")
        yield from _peers(found)
    rows = [_leads(task, found, kind, by) for task, found in there.items() for kind in GALLERIES for by in SCORES]
    if any(rows):
        yield "In how many columns, of four lengths and two directions, a row is above all peers there. MAP@500 is"
        yield from caption("divided by the smaller of 500 and the number of relevant items; it has no interval.")
    head = ["task", "gallery", "by", "peers", BEST, "beyond every interval", "peers above it, columns", TVDB, PRINTED]
    yield from grid(head, filter(None, rows))
    yield from missing
    yield from _curves(root)


def _peers(found: Numbers) -> Iterator[str]:
    def worth(row: str) -> float:
        return -fmean(mean(found, row, column) or 0.0 for column in PLACES)

    papers = [column for column in PLACES if any(n["paper"] is not None for (_, c), n in found.items() if c == column)]
    rows = []
    for row in sorted(dict.fromkeys(row for row, _ in found), key=worth):
        ours = [f"{text(mean(found, row, c))} {over_reference(found, row, c)}".strip() for c in PLACES]
        rows.append([row, *ours, *(text(found.get((row, column), {}).get("paper")) for column in papers)])
    yield from grid(["method", *HEADS, *(f"the paper, {QUERY[column.direction]}" for column in papers)], rows)


def _leads(task: Task, found: Numbers, gallery: str, by: str) -> list[str]:
    """In how many columns of a gallery each of our rows is above all peers, and who is above the best form.

    Nothing where there is no peer.
    """
    others: dict[Column, list[str]] = {}
    for row, column in found:
        if column.gallery == gallery and row not in OURS:
            others.setdefault(column, []).append(row)
    if not others:
        return []
    above = {ours: _above(ours, found, others, SCORES[by]) for ours in OURS}
    best, tvdb, printed = (share(not rows for rows in above[ours]) for ours in OURS)
    intervals = [_intervals(found, column, rows) for column, rows in others.items()] if by == "MAP@all" else []
    beyond = share(all(interval[1] < 0 for interval in of_column) for of_column in intervals if all(of_column))
    names = ", ".join(f"{row} {n}" for row, n in Counter(row for rows in above[BEST] for row in rows).most_common())
    counts = sorted(len(rows) for rows in others.values())
    n_peers = "–".join(dict.fromkeys(map(str, [counts[0], counts[-1]])))
    return [task.name, gallery, by, n_peers, best, beyond, names, tvdb, printed]


def _above(
    ours: str, found: Numbers, others: Mapping[Column, list[str]], score: Callable[[Number], float]
) -> list[list[str]]:
    """The peers that are not below a row of ours, in each column that has it."""
    of = {column: score(found[ours, column]) for column in others if (ours, column) in found}
    return [[row for row in others[at] if score(found[row, at]) >= value] for at, value in of.items()]


def _intervals(found: Numbers, column: Column, rows: Sequence[str]) -> list[Sequence[float]]:
    """Between what the differences of these rows to the best form lie; empty of one that has none."""
    return [found[row, column].get("over_reference", {}).get("interval", ()) for row in rows]


def _curves(root: Path) -> Iterator[str]:
    """The lines of the best form and of the peer that crosses it, at some recalls; of the cells that were drawn."""
    there, _ = numbers(root, "figure3")
    rows = []
    for task, found in there.items():
        cells = reproduced_cells(root, task)
        for column in dict.fromkeys(column for _, column in found):
            pair = [cell_of(found, row, column, cells) for row in (BEST, NEAREST)]
            if None not in pair:
                at = [" / ".join(_precision(cell["curve"], recall) for cell in pair if cell) for recall in RECALLS]
                rows.append([task.name, column.gallery, QUERY[column.direction], *at])
    if rows:
        yield f"Figure 3, {BEST} / {NEAREST}: precision of all pairs within a radius, at these recalls; 32 bits, a"
        yield from caption("straight line between two radii, and nothing before the first.")
    yield from grid(["task", "gallery", "query", *map(short, RECALLS)], rows)


def _precision(curve: Mapping[str, Sequence[float]], recall: float) -> str:
    """The precision at a recall; a dash before the curve begins."""
    return "–" if recall < curve["recall"][0] else short(np.interp(recall, curve["recall"], curve["precision"]))
