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
from deepbinaries.experiments.paper.made import FORMAT, VERSION
from deepbinaries.experiments.paper.shapes import fits
from deepbinaries.files import read_json

Place = tuple[str, Column]  # the name of a row, and the column
DIGITS = 6  # of the numbers in a table's JSON
NUMBER = {"row": str, "gallery": str, "bits": float, "direction": str, "map_all": float}
OVER = {"mean": float, "interval": (float, float), "p": float, "p_holm": float}


def differences_of(
    entries: Mapping[Place, Entry], means: Mapping[Place, float], reference: str, earlier: Path
) -> dict[Place, Difference]:
    """The differences by place, those of the entries or else of an earlier drawing; corrected by column."""
    own = {place: entry.difference for place, entry in entries.items() if entry.difference is not None}
    found = _kept(earlier, reference, means) | own
    for column in {column for _, column in found}:
        places = [place for place in found if place[1] == column]
        if all(place not in own and found[place].p_holm is not None for place in places):
            continue  # the whole column is as it was drawn; its p are rounded, and would give other last digits
        corrected = holm([found[place].p for place in places]).tolist()
        found |= {place: replace(found[place], p_holm=p) for place, p in zip(places, corrected, strict=True)}
    return found


def _kept(earlier: Path, reference: str, means: Mapping[Place, float]) -> dict[Place, Difference]:
    """Differences of a table's JSON whose number, and that of the reference, are the same now.

    Those of a column of which some are no longer the same have yet to be corrected for the number of rows.
    """
    lines = {_place_of(line): line for line in _lines(earlier, reference)}
    same = {place for place, line in lines.items() if round(means.get(place, -1.0), DIGITS) == line["map_all"]}
    there = [place for place, line in lines.items() if "over_reference" in line]
    kept = [place for place in there if place in same and (reference, place[1]) in same]
    gone = {place[1] for place in there if place not in kept}
    return {place: _difference(lines[place]["over_reference"], corrected=place[1] not in gone) for place in kept}


def _lines(path: Path, reference: str) -> list[dict[str, Any]]:
    """The numbers of a table with this reference; none of what is no such table: it is about to be written anew."""
    try:
        content = read_json(path)
    except DataError:
        return []
    about = {"format": FORMAT, "version": VERSION, "reference": reference}
    if not reference or not fits(content, {"numbers": [NUMBER]}) or {key: content.get(key) for key in about} != about:
        return []
    lines: list[dict[str, Any]] = content["numbers"]
    return lines if all(fits(line["over_reference"], OVER) for line in lines if "over_reference" in line) else []


def _place_of(line: Mapping[str, Any]) -> Place:
    return line["row"], Column(line["gallery"], line["bits"], line["direction"])


def _difference(line: Mapping[str, Any], *, corrected: bool) -> Difference:
    low, high = line["interval"]
    p_holm = line["p_holm"] if corrected else None
    return Difference(line["mean"], Interval(low, high, "as it was drawn before"), line["p"], p_holm)
