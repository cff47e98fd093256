"""Results as lines: a cell is one number of a table with everything that is needed to believe or repeat it."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import Report
from deepbinaries.files import read_json_lines, write_json_lines

Cell = dict[str, Any]

# What makes a cell this one: a second cell that agrees in all of these is the same measurement made again.
IDENTITY = ("experiment", "method", "settings", "bits", "rule", "gallery", "direction", "seed", "proposer")
MEASURED = ("map_all", "map_500", "optimistic", "pessimistic", "chance", "health", "seconds", "command", "digests")
# What only some cells have. `codes` also tells cells apart: gallery items have codes of one view ("separate"), or of
# both of their views ("unified").
OPTIONAL = ("codes", "interval", "fit", "tuning", "curve", "search", "versions", "machine")
DIGITS = 6


def make_cell(
    report: Report,
    *,
    experiment: str,
    method: str,
    settings: Mapping[str, Any],
    rule: str,
    seed: int,
    seconds: float,
    proposer: str,
    command: str,
    digests: Mapping[str, Any] | None = None,
    **more: Any,
) -> Cell:
    """The cell of a report, ready for `json.dumps`.

    `rule` is a short name for what counts as relevant, `seconds` the training took; `digests` join those of the
    dataset, the split and the codes. `more` are optional keys: `codes`, `interval`, `fit` (what the training took),
    `tuning` (what was tried on the validation part), `curve` (precision and recall), `search` (what searching these
    codes costs), `versions` (of the software), `machine` (on which it was made, and by how many processes at a time).
    """
    at_500 = [score for score in report.others if score.rules.cutoff == 500]
    if report.rules.cutoff is not None or not at_500:
        raise UsageError(
            "a cell needs MAP@all and MAP@500", next_step="evaluate with Rules() and Extras(cutoffs=(500,))"
        )
    score = at_500[0]
    of_report = {"dataset": dict(report.dataset), "split": dict(report.split), "codes": dict(report.digests)}
    cell = {
        "experiment": experiment,
        "method": method,
        "settings": dict(settings),
        "bits": report.bits,
        "rule": rule,
        "gallery": report.rules.gallery,
        "direction": report.direction,
        "map_all": report.mean,
        "map_500": {"value": score.value, "divisor": score.rules.divide_by, "chance": score.chance},
        "optimistic": report.optimistic,
        "pessimistic": report.pessimistic,
        "chance": report.chance,
        "health": {side: of_side.to_json() for side, of_side in report.health.items()},
        "seed": seed,
        "seconds": round(seconds, 1),
        "proposer": proposer,
        "command": command,
        "digests": of_report | dict(digests or {}),
    } | more
    exact = {*IDENTITY, "tuning"}  # settings are never rounded
    return {name: value if name in exact else _rounded(value) for name, value in cell.items()}


def append_cells(path: str | Path, cells: Iterable[Mapping[str, Any]]) -> None:
    """Add cells to a file of JSON lines, which is whole at every moment; a cell made again takes its old place.

    One process at a time may write to a file.

    >>> import tempfile
    >>> cell = dict.fromkeys(IDENTITY + MEASURED, 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     append_cells(Path(folder) / "cells.jsonl", [cell])
    ...     append_cells(Path(folder) / "cells.jsonl", [cell | {"bits": 64}, cell | {"map_all": 0.5}])
    ...     [(found["bits"], found["map_all"]) for found in read_cells(Path(folder) / "cells.jsonl")]
    [(0, 0.5), (64, 0)]
    """
    path = Path(path)
    kept = {identity(cell): cell for cell in (read_cells(path) if path.exists() else [])}
    for cell in cells:
        if wrong := _wrong_keys(cell):
            raise UsageError(f"this is no cell: {wrong}", next_step="make it with make_cell")
        # What JSON makes of a cell, so that it is the same as the one that is read back.
        plain = json.loads(json.dumps(dict(cell), allow_nan=False))
        kept[identity(plain)] = plain
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json_lines(kept.values(), path)


def read_cells(path: str | Path) -> list[Cell]:
    """The cells of a file; a line that is none is refused by its number, a last one that was torn is not there."""
    path, cells = Path(path), []
    lines, _ = read_json_lines(path)
    for number, line in enumerate(lines, start=1):
        try:
            cell = json.loads(line)
            wrong = _wrong_keys(cell) if isinstance(cell, dict) else "it is no object"
        except (ValueError, RecursionError) as error:
            wrong = str(error)
        if wrong:
            raise DataError(f"{path}, line {number}, is no cell ({wrong})", next_step="remove the line, or the file")
        cells.append(cell)
    return cells


def tell_torn(paths: Iterable[Path], tell: Callable[[str], None]) -> None:
    """Say of which files of lines the last one was torn, before what it held is made again."""
    for path in (path for path in paths if path.exists()):
        lines, torn = read_json_lines(path)
        if torn:
            tell(f"{path}, line {len(lines) + 1}, is torn, as by a power cut, and counts as not there")


def identity(cell: Mapping[str, Any]) -> str:
    """What tells a cell from every other one, as a text."""
    return json.dumps([*(cell[name] for name in IDENTITY), cell.get("codes")], sort_keys=True)


def _wrong_keys(cell: Mapping[str, Any]) -> str:
    known = {*IDENTITY, *MEASURED}
    missing, unknown = sorted(known - cell.keys()), sorted(map(str, cell.keys() - known - {*OPTIONAL}))
    return ", ".join([*(f"{name} is missing" for name in missing), *(f"{name} is unknown" for name in unknown)])


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return round(value, DIGITS) if isinstance(value, float) else value
