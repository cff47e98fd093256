"""How far the rows of a table are from its reference, query by query.

What every query scored takes much room, and results are often kept without it. A table that was drawn when it was there
then tells the differences of all numbers that are still the same.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from deepbinaries.errors import DataError
from deepbinaries.evaluation import Difference, Interval, holm
from deepbinaries.experiments.comparison_table import Column, Entry
from deepbinaries.experiments.paper.made import FORMAT
from deepbinaries.files import read_json

Place = tuple[str, Column]  # the name of a row, and the column
DIGITS = 6  # of the numbers in a table's JSON


def differences_of(
    entries: Mapping[Place, Entry], means: Mapping[Place, float], reference: str, earlier: Path
) -> dict[Place, Difference]:
    """The differences by place, those of the entries or else of an earlier drawing; corrected by column."""
    found = _kept(earlier, reference, means)
    found |= {place: entry.difference for place, entry in entries.items() if entry.difference is not None}
    for column in {column for _, column in found}:
        places = [place for place in found if place[1] == column]
        corrected = holm([found[place].p for place in places]).tolist()
        found |= {place: replace(found[place], p_holm=p) for place, p in zip(places, corrected, strict=True)}
    return found


def _kept(earlier: Path, reference: str, means: Mapping[Place, float]) -> dict[Place, Difference]:
    """Differences of a table's JSON whose number, and that of the reference, are the same now."""
    content = _content(earlier)
    if content.get("format") != FORMAT or not reference or content.get("reference") != reference:
        return {}
    lines = {_place_of(line): line for line in content["numbers"]}
    same = {place for place, line in lines.items() if round(means.get(place, -1.0), DIGITS) == line["map_all"]}
    return {
        (row, column): _difference(lines[row, column]["over_reference"])
        for row, column in same
        if (reference, column) in same and "over_reference" in lines[row, column]
    }


def _content(path: Path) -> dict[str, Any]:
    try:
        return dict(read_json(path)) if path.exists() else {}
    except DataError:
        return {}  # it is about to be written anew


def _place_of(line: Mapping[str, Any]) -> Place:
    return line["row"], Column(line["gallery"], line["bits"], line["direction"])


def _difference(line: Mapping[str, Any]) -> Difference:
    low, high = line["interval"]
    return Difference(line["mean"], Interval(low, high, "as it was drawn before"), line["p"])
