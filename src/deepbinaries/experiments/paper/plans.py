"""What a table or figure is made of: the TOML files of this folder, for a dataset, whole or reduced."""

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deepbinaries.errors import UsageError, unknown_name
from deepbinaries.registry import METHODS

HERE = Path(__file__).parent
NAMES = ("table1", "table2", "fixes", "figure3", "figure4", "figure5", "eta", "k", "time")
KEEP = "keep"  # what varies is how pictures are seen, not a setting of the method
LETTERS = {KEEP: "K"}  # what the paper calls a setting
OF_CELLS = ("table", "sweep", "precision-recall")  # every other kind is drawn from lines of its own
AT_LENGTHS = ("table", "sweep")  # every other kind is drawn at one length
OF_ONE_SEED = ("time", "answers")

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """One line of a table or of a figure."""

    name: str
    method: str
    paper: str  # the printed row that it stands beside
    settings: Settings = field(default_factory=dict)  # beside the preset's
    note: str = ""
    line: str = ""  # of a figure, where several rows are points of one
    at: float | None = None  # the value that varies along it
    keep: int | None = None  # regions of a picture, where it is they that vary


@dataclass(frozen=True)
class Plan:
    """A table or figure, ready to be made."""

    name: str
    title: str
    drawn: str  # "table", "precision-recall", "sweep", "epochs", "time" or "answers"
    rows: tuple[Row, ...]
    bits: tuple[int, ...]
    seeds: tuple[int, ...]
    varied: str = ""  # the setting that varies
    reference: str = ""  # the row that the others are compared with, query by query
    reduced: bool = False
    more: Settings = field(default_factory=dict)  # what only this kind has

    def only(self, names: Sequence[str]) -> "Plan":
        """The same with some of its rows, by name or by the name of their line."""
        if not self.rows:
            raise UsageError(f"{self.name} has no rows to choose from", next_step="leave --only out")
        known = list(dict.fromkeys(name for row in self.rows for name in (row.line, row.name) if name))
        for name in names:
            if name not in known:
                # In quotation marks, since some names hold commas.
                raise unknown_name(f"row of {self.name}", name, known, see=f"Known: {', '.join(map(repr, known))}")
        return replace(self, rows=tuple(row for row in self.rows if {row.name, row.line} & {*names}))


@dataclass(frozen=True)
class Reading:
    """How a dataset is read."""

    read: str
    words: int
    paper: str = ""  # its name among the printed numbers; "": the task is not the paper's
    split: str = ""
    settings: Settings = field(default_factory=dict)
    vision: Settings = field(default_factory=dict)
    note: str = ""  # how the task differs from the paper's


def read_plan(name: str, dataset: str, *, reduced: bool = False, ignored: Sequence[str] = ()) -> Plan:
    """The plan of a table or figure for a dataset, of which some labels may be ignored.

    >>> plan = read_plan("table2", "iapr22")
    >>> [row.name for row in plan.rows], plan.bits, plan.rows[0].settings
    (['TVDB-I1', 'TVDB-I2', 'TVDB-T1', 'TVDB-T2', 'TVDB'], (16, 32, 64, 128), {'batch': 256})
    """
    if name not in NAMES:
        raise unknown_name("table or figure", name, NAMES)
    table = _read(name)
    less = table.pop("reduced")
    if source := table.pop("rows_of", ""):
        whole = _read(source)
        less = {"settings": whole["reduced"].get("settings", {})} | less
        table |= {"rows": whole["rows"], "on": whole.get("on", {})}
    if reduced:
        table |= {key: value for key, value in less.items() if key != "settings"}
    vary: Settings = table.pop("vary", {})
    tasks = [dataset, *([f"{dataset} without {', '.join(sorted(ignored))}"] if ignored else [])]
    rows = list(_rows(table, tasks, less.get("settings", {}) if reduced else {}))
    if rows and "updates" in table:
        rows = [_updated(row, update, eta) for update, eta in table.pop("updates").items() for row in rows]
    for key in ("rows", "on", "settings"):
        table.pop(key, None)
    (varied, values) = next(iter(vary.items()), ("", ()))
    return Plan(
        name=name,
        title=table.pop("title"),
        drawn=table.pop("drawn", "table"),
        bits=tuple(table.pop("bits")),
        seeds=tuple(table.pop("seeds")),
        rows=tuple(_varied(rows, varied, values) if varied else rows),
        varied=varied,
        reference=table.pop("reference", ""),
        reduced=reduced,
        more=table,
    )


def reading_of(dataset: str, *, reduced: bool = False) -> Reading:
    """How a dataset is read.

    >>> reading_of("iapr22").words, reading_of("my.module:load").words
    (40, 12)
    """
    known = _read("datasets")
    facts = known["other"] | known.get(dataset, {})
    less = facts.pop("reduced", {})
    return Reading(**facts | (less if reduced else {}))


def lengths(bits: Sequence[int], plan: Plan) -> Plan:
    """The plan at other lengths of codes."""
    if plan.drawn not in AT_LENGTHS and len(bits) > 1:
        raise UsageError(f"{plan.name} is drawn at one length", next_step=f"give one of {', '.join(map(str, bits))}")
    return replace(plan, bits=tuple(bits))


def together(plan: Plan, part: Plan) -> Plan:
    """The plan with the lengths and seeds that are asked for beside its own: what is drawn where a part is learnt.

    So a part never takes the place of the whole. What has one length, or one seed, is drawn at that of the part.

    >>> table, figure = read_plan("table2", "scenes"), read_plan("figure3", "scenes")
    >>> together(table, lengths([8, 64], table)).bits, together(figure, lengths([8], figure)).bits
    ((8, 16, 32, 64, 128), (8,))
    """
    bits = tuple(sorted({*plan.bits, *part.bits})) if plan.drawn in AT_LENGTHS else part.bits
    seeds = part.seeds if plan.drawn in OF_ONE_SEED else tuple(dict.fromkeys((*plan.seeds, *part.seeds)))
    return replace(plan, bits=bits, seeds=seeds)


def _rows(table: Settings, tasks: Sequence[str], less: Settings) -> Iterator[Row]:
    """The rows with all of their settings: for any dataset, for this one, for it without some labels, reduced."""
    for row in table.get("rows", ()):
        settings = dict(table.get("settings", {})) | row.get("settings", {})
        for task in tasks:
            settings |= table.get("on", {}).get(task, {}) | row.get("on", {}).get(task, {})
        settings |= _known(row["method"], less) if less else {}
        plain = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
        yield Row(row["name"], row["method"], row.get("paper", row["name"]), plain, row.get("note", ""))


def _updated(row: Row, update: str, eta: float) -> Row:
    settings = dict(row.settings) | {"update": update, "eta": eta}
    return replace(row, name=f"{row.name}, {update}", line=row.name, settings=settings)


def _varied(rows: Sequence[Row], name: str, values: Sequence[float]) -> Iterator[Row]:
    letter = LETTERS.get(name, name)
    for row in rows:
        for value in values:
            one = replace(row, name=f"{row.name}, {letter}={value:g}", line=row.name, at=value)
            if name == KEEP:
                yield replace(one, keep=int(value))
            else:
                yield replace(one, settings=dict(row.settings) | {name: value})


def _known(method: str, settings: Settings) -> dict[str, Any]:
    """Those of the settings that a method has."""
    preset = METHODS.load(method).preset(method, device="cpu", bits=8)
    own = {own.name for own in dataclasses.fields(preset.settings)}
    return {name: value for name, value in settings.items() if name in own}


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))
