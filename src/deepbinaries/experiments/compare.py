"""Comparing methods: each is trained at every length and judged in both directions, one result after the other.

A result that is in the folder is not made again, so that a comparison that was interrupted, or that gets another method
or length, goes on where it was. The folder holds `cells.jsonl`, beside it in `scores` what every query scored, and
`tuning.jsonl` where settings were chosen.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes
from deepbinaries.errors import DataError, UsageError
from deepbinaries.evaluation import Report
from deepbinaries.experiments.alone import alone_in
from deepbinaries.experiments.cells import Cell, append_cells, identity, make_cell, read_cells, tell_torn
from deepbinaries.experiments.choosing import choose
from deepbinaries.experiments.contest import Contestant, Searching, Settings, Task, check_validation, learn
from deepbinaries.experiments.scores import BESIDE, BOTH, score_parts
from deepbinaries.experiments.versions import versions
from deepbinaries.files import written_whole

CELLS, SCORES = "cells.jsonl", "scores"
SEPARATE, UNIFIED = "separate", "unified"

Costs = dict[tuple[str, str], dict[str, Any]]  # by gallery and direction


@dataclass(frozen=True)
class Result:
    """A cell with its place in a table: PLSR and CVFL have one for all lengths."""

    method: str
    bits: int  # that were asked for
    cell: Cell

    @property
    def row(self) -> str:
        """The name of its row."""
        name = self.method + (", codes of both views" if self.cell["codes"] == UNIFIED else "")
        return name if self.cell["bits"] == self.bits else f"{name} ({self.cell['bits']}-D)"


def run(contestants: Sequence[Contestant], task: Task) -> list[Result]:
    """The results of all methods, in their order; those that are not there yet are made, and kept at once."""
    check(contestants, task)
    with alone_in(task.folder):
        tell_torn([task.folder / CELLS], task.tell)
        return [result for contestant in contestants for result in results_of(contestant, task)]


def results_of(contestant: Contestant, task: Task) -> list[Result]:
    """The results of one method, for whoever has checked it and is alone in the folder."""
    found: list[Result] = []
    chosen_at: dict[int, Any] = {}
    for lengths, seed in trainings(contestant, task):
        at = lengths[0] if task.tuned_at is None else task.tuned_at
        if contestant.grid and at not in chosen_at:
            chosen_at[at] = choose(contestant, task, at)
        cells = _cells(contestant, task, lengths[0], seed, chosen_at.get(at))
        found += [Result(contestant.method, bits, cell) for bits in lengths for cell in cells]
    return found


def results_there(contestant: Contestant, task: Task) -> list[Result]:
    """Those results of a method, whose settings are not to be chosen, that the folder has.

    What every query scored may be missing, as where results were copied without it: a cell has its own interval.
    """
    found: list[Result] = []
    for lengths, seed in trainings(contestant, task):
        hasher = contestant.make(lengths[0], seed, device=task.device)
        cells = _kept(hasher, contestant, task, lengths[0], seed, scored=False)
        found += [Result(contestant.method, bits, cell) for bits in lengths for cell in cells]
    return found


def trainings(contestant: Contestant, task: Task) -> list[tuple[tuple[int, ...], int]]:
    """The trainings of a method: for each the lengths that it serves, one or all, and its seed.

    A method that draws nothing has one seed.
    """
    hasher = contestant.make(contestant.bits[0], task.seeds[0], device=task.device)
    lengths = [(bits,) for bits in contestant.bits] if _follows_bits(hasher) else [contestant.bits]
    seeds = task.seeds if _draws(hasher) else task.seeds[:1]
    return [(served, seed) for served in lengths for seed in seeds]


def has_scores(cell: Cell, folder: Path) -> bool:
    """Whether the folder holds what every query scored in a cell."""
    return _scores_path(cell, folder).exists()


def scores_of(cell: Cell, folder: Path) -> NDArray[np.float32]:
    """What every query scored in a cell, (queries,), NaN where nothing is relevant to it."""
    path = _scores_path(cell, folder)
    try:
        scores = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} is damaged ({error})", next_step="remove it: its cell is then made again") from error
    if scores.dtype != np.float32 or scores.ndim != 1:
        raise DataError(f"{path} holds no scores", next_step="remove it: its cell is then made again")
    return np.asarray(scores)


def check(contestants: Sequence[Contestant], task: Task) -> None:
    """Refuse what cannot end well before anything is learnt; hashers are made for nothing, so that they refuse too."""
    for contestant in contestants:
        for bits in {*contestant.bits, *([task.tuned_at] if task.tuned_at is not None and contestant.grid else [])}:
            for combination in contestant.grid or [{}]:
                contestant.make(bits, task.seeds[0], device=task.device, chosen=combination)
        if contestant.grid:
            check_validation(task.parts.validation, wanted_by="--tune")
    for gallery in task.galleries:
        if not len(task.parts.gallery(gallery)):
            raise UsageError(f"the gallery {gallery!r} of this split is empty", next_step="leave it out")
        if len(task.parts.query) - len(task.parts.queries_without_positives(gallery)) < 2:
            raise UsageError(
                f"fewer than two queries have anything relevant in the gallery {gallery!r}: that compares nothing",
                next_step="give more data, or another split",
            )
    if (task.folder / CELLS).exists():
        read_cells(task.folder / CELLS)


def _follows_bits(hasher: Any) -> bool:
    """Whether a method has as many values as it is asked for."""
    return bool(getattr(hasher, "follows_bits", True))


def _draws(hasher: Any) -> bool:
    """Whether another seed gives another result."""
    return hasattr(hasher.settings, "seed")


def _cells(contestant: Contestant, task: Task, bits: int, seed: int, tuning: dict[str, Any] | None) -> list[Cell]:
    """The cells of one training, from the folder where all of them are there, else made."""
    chosen: Settings = tuning["chosen"] if tuning else {}
    hasher = contestant.make(bits, seed, device=task.device, chosen=chosen)
    name = f"{contestant.method}, {bits} bits, seed {seed}"
    if kept := _kept(hasher, contestant, task, bits, seed):
        task.tell(f"{name}: already there")
        if tuning and any(cell.get("tuning") != tuning for cell in kept):  # more was tried since
            kept = [cell | {"tuning": tuning} for cell in kept]
            append_cells(task.folder / CELLS, kept)
        return kept
    task.tell(f"{name}: learning")
    taken = learn(hasher, task.source(False), held_out=False, tell=lambda text: task.tell(f"{name}: {text}"))
    about = _about(hasher, contestant, task, seed)
    about |= {"seconds": taken["seconds"], "fit": taken, "command": _command(contestant, task, bits, seed, chosen)}
    about |= {"tuning": tuning} if tuning else {}
    about |= {"versions": versions(), "machine": task.machine}
    about["digests"] = {key: value for key, value in task.all_digests.items() if key not in ("dataset", "split")}
    made: list[Cell] = []
    for kind in _kinds(hasher, task):
        costs: Costs = {}
        reports = score_parts(
            hasher,
            task.source(False),
            galleries=task.galleries,
            rules=task.rules,
            extras=replace(BESIDE, curves=task.curves),
            unified=kind == UNIFIED,
            device=task.counts_on,
            also=partial(_note_cost, task.searching, costs) if task.searching else None,
            tell=task.tell if kind == SEPARATE else lambda _: None,  # once is enough
        )
        made += [
            _keep(report, about | {"codes": kind} | costs.get(place, {}), task.folder)
            for place, report in reports.items()
        ]
    append_cells(task.folder / CELLS, made)
    task.tell(f"{name}: {_in_short(made)} in {taken['seconds']:.1f} s")
    return made


def _note_cost(searching: Searching, costs: Costs, gallery: str, direction: str, queries: Codes, items: Codes) -> None:
    costs[gallery, direction] = {"search": dict(searching(queries, items))}


def _keep(report: Report, about: dict[str, Any], folder: Path) -> Cell:
    """The cell of a report; its scores are written first, so that no cell is without them."""
    cell = make_cell(report, **about, **_curve(report), interval=[report.interval.low, report.interval.high])
    path = _scores_path(cell, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as file:
        np.save(file, report.per_query.astype(np.float32), allow_pickle=False)
    return cell


def _curve(report: Report) -> dict[str, Any]:
    """Precision against recall: within each radius, all queries in one pot; by rank where there are no codes."""
    if report.rank_curve is None:
        return {}
    if report.radius_curve is None:
        by, precision, recall = "rank", report.rank_curve.precision, report.rank_curve.recall
    else:
        by, precision, recall = "radius", report.radius_curve.micro_precision, report.radius_curve.micro_recall
    known = np.isfinite(precision)  # nothing lies within the smallest radii
    return {"curve": {"by": by, "precision": precision[known].tolist(), "recall": recall[known].tolist()}}


def _about(hasher: Any, contestant: Contestant, task: Task, seed: int) -> dict[str, Any]:
    """What all cells of a training have in common, whatever comes out of it."""
    about: dict[str, Any] = {"experiment": task.experiment, "method": contestant.method, "rule": task.rule}
    return about | {"settings": task.kept_settings(hasher), "seed": seed, "proposer": task.proposer}


def _kinds(hasher: Any, task: Task) -> list[str]:
    return [SEPARATE, *([UNIFIED] if task.unified and hasattr(hasher, "encode_pair") else [])]


def _kept(hasher: Any, contestant: Contestant, task: Task, bits: int, seed: int, *, scored: bool = True) -> list[Cell]:
    """The cells of a training where the folder has all of them, else none.

    Unless they have to be `scored`, an interval serves in the place of what every query scored.
    """
    about = _about(hasher, contestant, task, seed) | ({"bits": bits} if _follows_bits(hasher) else {})
    if not _draws(hasher):
        del about["seed"]  # whichever it was learnt under, it is the same
    places = [
        (kind, gallery, direction) for kind in _kinds(hasher, task) for gallery in task.galleries for direction in BOTH
    ]
    path, found = task.folder / CELLS, []
    cells = read_cells(path) if path.exists() else []
    cells = [cell for cell in cells if all(cell[name] == value for name, value in about.items())]
    for kind, gallery, direction in places:
        place = (kind, gallery, direction)
        here = [cell for cell in cells if (cell.get("codes"), cell["gallery"], cell["direction"]) == place]
        wanted = {name for name, asked in (("curve", task.curves), ("search", task.searching)) if asked}
        if not here or wanted - here[0].keys():
            return []
        if not has_scores(here[0], task.folder) and (scored or "interval" not in here[0]):
            return []
        _check_digests(here[0], task, path)
        found += here[:1]
    return found


def _check_digests(cell: Cell, task: Task, path: Path) -> None:
    for name, wanted in task.all_digests.items():
        if cell["digests"].get(name) != wanted:
            raise UsageError(
                f"{path} holds {cell['method']} at {cell['bits']} bits for another {name}",
                next_step="give another --out, or the same data as before",
            )


def _scores_path(cell: Cell, folder: Path) -> Path:
    return folder / SCORES / f"{hashlib.sha256(identity(cell).encode()).hexdigest()[:16]}.npy"


def _command(contestant: Contestant, task: Task, bits: int, seed: int, chosen: Settings) -> str:
    """The command that makes this result alone."""
    settings = dict(contestant.settings) | dict(chosen)
    words = (f" --set {contestant.method}.{name}={_as_option(value)}" for name, value in settings.items())
    unified = " --unified" if task.unified else ""
    galleries = ",".join(task.galleries)
    about = f" --methods {contestant.method} --bits {bits} --seeds {seed} --galleries {galleries}"
    return f"{task.command}{about}{unified}{''.join(words)}"


def _as_option(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _in_short(cells: Sequence[Cell]) -> str:
    def both(gallery: str, kind: str) -> Iterator[str]:
        yield from (f"{c['map_all']:.3f}" for c in cells if (c["gallery"], c["codes"]) == (gallery, kind))

    places = dict.fromkeys((cell["gallery"], cell["codes"]) for cell in cells)
    return ", ".join(f"{place[0]} {' / '.join(both(*place))}" for place in places)
