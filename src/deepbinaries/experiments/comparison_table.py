"""The table of a comparison: one row a method, one column a length and direction, for each gallery.

Beside every mean stand its interval over queries and how it differs, query by query, from a reference: a method that
is named, or else the best one of the column.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import unknown_name
from deepbinaries.evaluation import Difference, compare, holm, over_queries, over_seeds_and_queries
from deepbinaries.experiments.choosing import in_words
from deepbinaries.experiments.compare import Result, scores_of
from deepbinaries.experiments.scores import BOTH

FORMAT, VERSION = "deepbinaries-comparison", 1
QUERY = {"image_to_text": "picture", "text_to_image": "sentence"}


class Column(NamedTuple):
    """Where a number stands."""

    gallery: str
    bits: int
    direction: str

    def __str__(self) -> str:
        return f"{self.bits} {QUERY[self.direction]}"


@dataclass(frozen=True, eq=False)
class Entry:
    """A number of the table: the mean over seeds of MAP@all."""

    mean: float
    interval: tuple[float, float]  # 95 %, over queries, and over seeds where there are several
    by_seed: Mapping[int, float]
    chance: float
    per_query: NDArray[np.float64]  # the mean over seeds
    best: bool = False  # of its column
    reference: bool = False  # what the others of the column are compared with
    difference: Difference | None = None  # to the reference; None: it is the reference, or there is none

    @property
    def differs(self) -> bool:
        """Whether the interval of its difference to the reference leaves zero out."""
        return self.difference is not None and self.difference.differs

    def __str__(self) -> str:
        return f"{self.mean:.3f}".lstrip("0") + ("*" if self.differs else "")

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"map_all": round(self.mean, 6), "interval": _rounded(self.interval)}
        found |= {"by_seed": {str(seed): mean for seed, mean in self.by_seed.items()}, "chance": self.chance}
        found |= {"best": self.best, "reference": self.reference}
        return found | ({"over_reference": self.difference.to_json()} if self.difference is not None else {})


@dataclass(frozen=True, eq=False)
class Table:
    """All numbers, and the trainings they come from."""

    rows: tuple[str, ...]
    columns: tuple[Column, ...]
    entries: Mapping[tuple[str, Column], Entry]
    results: Sequence[Result]
    against: str  # the reference; "": the best of each column

    @property
    def galleries(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column.gallery for column in self.columns))

    def of(self, gallery: str) -> tuple[Column, ...]:
        """The columns of a gallery."""
        return tuple(column for column in self.columns if column.gallery == gallery)

    def chance(self, gallery: str) -> float:
        """What a ranking that knows nothing earns in a gallery."""
        return next(entry.chance for (_, column), entry in self.entries.items() if column.gallery == gallery)

    def legend(self) -> str:
        """What bold and stars mean."""
        reference = f"`{self.against}`" if self.against else "the best of its column"
        return (
            "Bold: the best of its column. *: differs from "
            f"{reference} on the same queries, the 95 % interval of the difference leaves zero out."
        )

    def to_json(self) -> dict[str, Any]:
        rows = []
        for row in self.rows:
            numbers = [
                column._asdict() | self.entries[row, column].to_json()
                for column in self.columns
                if (row, column) in self.entries
            ]
            rows.append({"row": row, "fits": list(_fits(self.results, row)), "numbers": numbers})
        digests = self.results[0].cell["digests"]
        about = {"format": FORMAT, "version": VERSION, "dataset": digests["dataset"], "split": digests["split"]}
        about |= {"rule": self.results[0].cell["rule"], "reference": self.against or "the best of each column"}
        return about | {"rows": rows}

    def to_markdown(self) -> str:
        """The numbers, a table for each gallery, and what each training took."""
        cell = self.results[0].cell
        lines = [f"# Comparison on {cell['digests']['dataset']['name']}", ""]
        lines += [f"MAP@all, relevance rule `{cell['rule']}`. {self.legend()}", ""]
        for gallery in self.galleries:
            columns = self.of(gallery)
            lines += [f"## Gallery `{gallery}`, chance {self.chance(gallery):.3f}", ""]
            lines += [
                _markdown_row("method", *(f"{column.bits} bits, {QUERY[column.direction]} query" for column in columns))
            ]
            lines += [_markdown_row(*["---"] * (len(columns) + 1))]
            lines += [_markdown_row(row, *(self._marked(row, column) for column in columns)) for row in self.rows]
            lines += [""]
        lines += ["## Trainings", "", _markdown_row("method", "bits", "seed", "seconds", "peak MB", "chosen settings")]
        lines += [_markdown_row(*["---"] * 6)]
        for row in self.rows:
            for fit in _fits(self.results, row):
                taken, chosen = fit["fit"], in_words((fit["tuning"] or {"chosen": {}})["chosen"])
                facts = fit["bits"], fit["seed"], f"{taken['seconds']:.1f}", taken.get("peak_megabytes", ""), chosen
                lines.append(_markdown_row(row, *map(str, facts)))
        return "\n".join([*lines, ""])

    def _marked(self, row: str, column: Column) -> str:
        entry = self.entries.get((row, column))
        if entry is None:
            return ""
        text = str(entry).replace("*", "\\*")
        return f"**{text}**" if entry.best else text


def build(results: Sequence[Result], folder: Path, *, against: str = "") -> Table:
    """The table of the results of a comparison; what queries scored is read from its folder."""
    by_place: dict[tuple[str, Column], list[Result]] = defaultdict(list)
    for result in results:
        by_place[result.row, Column(result.cell["gallery"], result.bits, result.cell["direction"])].append(result)
    rows = tuple(dict.fromkeys(row for row, _ in by_place))
    if against:
        methods = {result.method: result.row for result in reversed(results)}  # the first row of each
        if against not in methods:
            raise unknown_name("method to compare with", against, methods)
        against = methods[against]
    found = {column for _, column in by_place}
    galleries = dict.fromkeys(result.cell["gallery"] for result in results)
    lengths = sorted({column.bits for column in found})
    columns = tuple(Column(g, bits, direction) for g in galleries for bits in lengths for direction in BOTH)
    entries = {place: entry_of(of_place, folder) for place, of_place in by_place.items()}
    for column in columns:
        of_column = {row: entries[row, column] for row in rows if (row, column) in entries}
        entries |= {(row, column): entry for row, entry in judged(of_column, against).items()}
    return Table(rows, columns, entries, results, against)


def entry_of(results: Sequence[Result], folder: Path) -> Entry:
    """The entry of a place, over all its seeds."""
    cells = [result.cell for result in results]
    scores = np.stack([scores_of(cell, folder) for cell in cells]).astype(np.float64)
    interval = over_queries(scores[0]) if len(cells) == 1 else over_seeds_and_queries(scores)
    by_seed = {cell["seed"]: cell["map_all"] for cell in cells}
    mean = sum(by_seed.values()) / len(by_seed)
    return Entry(mean, (interval.low, interval.high), by_seed, cells[0]["chance"], scores.mean(axis=0))


def judged(entries: Mapping[str, Entry], against: str) -> dict[str, Entry]:
    """The entries of a column, each with its difference to the reference, corrected for their number (Holm).

    The reference is the row `against`; "": the best of the column.
    """
    best = max(entries, key=lambda row: entries[row].mean, default="")
    reference = against or best
    found = {row: replace(entry, best=row == best, reference=row == reference) for row, entry in entries.items()}
    if reference in entries:
        others = [row for row in entries if row != reference]
        differences = [compare(entries[row].per_query, entries[reference].per_query) for row in others]
        corrected = holm([difference.p for difference in differences]).tolist()
        for row, difference, p in zip(others, differences, corrected, strict=True):
            found[row] = replace(found[row], difference=replace(difference, p_holm=p))
    return found


def _fits(results: Sequence[Result], row: str) -> Iterator[dict[str, Any]]:
    """The trainings behind a row, each once."""
    seen = set()
    for result in results:
        cell = result.cell
        key = cell["bits"], cell["seed"]
        if result.row == row and key not in seen:
            seen.add(key)
            about = {name: cell[name] for name in ("bits", "seed", "settings", "command")}
            about |= {"fit": cell.get("fit", {"seconds": cell["seconds"]}), "tuning": cell.get("tuning")}
            yield about | {"machine": cell.get("machine")}


def _markdown_row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _rounded(interval: Sequence[float]) -> list[float]:
    return [round(end, 6) for end in interval]
