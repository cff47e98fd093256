"""Seconds of an update of the codes: of a batch, and of a whole training set as it grows."""

import math
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from deepbinaries.errors import UsageError
from deepbinaries.experiments.alone import alone_in
from deepbinaries.experiments.cells import tell_torn
from deepbinaries.experiments.charts import Line
from deepbinaries.experiments.contest import Task
from deepbinaries.experiments.machines import in_words, machine
from deepbinaries.experiments.paper.figures import Panel
from deepbinaries.experiments.paper.kept import Kept
from deepbinaries.experiments.paper.made import Made, about_data, not_yet
from deepbinaries.experiments.paper.plans import Plan
from deepbinaries.experiments.paper.running import Progress, command_of
from deepbinaries.experiments.paper.sheets import Cell, Sheet
from deepbinaries.experiments.paper.trainings import anchor_of
from deepbinaries.experiments.versions import versions

FILE = "times.jsonl"
HOW = ("batch", "repeats", "lasting")  # how it is measured, of the plan
COUNTED = "the least of the repeats"  # what else the machine did adds to a time, and never takes away from it
WHAT = {
    "batch": "one batch",
    "first": "the whole set, the first time",
    "again": "the whole set, from then on",
    "start": "the whole set, by labels alone",
}
MACHINE = {"processor": str, "cores": float, "device": str, "threads": float}
SHAPE = {"seconds": dict.fromkeys(WHAT, float), "machine": MACHINE}
TITLE_WIDTH = 36  # characters of a machine's name above a panel, which has half a page
PAPERS = (
    "The paper's source has, in lines that are commented out, 130 minutes for one round over the whole training set, "
    "which has 50,000 items of COCO, on a server with Intel Xeon processors, and about 300 ms for a batch, for which "
    "GPUs can be used."
)

OF_A_CPU = "All times here are of a CPU. A measurement on a GPU, which the paper's 300 ms may be of, is missing."

Time = dict[str, Any]


def run_times(plan: Plan, task: Task, *, learn: bool = True) -> tuple[Made | None, list[str]]:
    """The times of all updates at all sizes that the training part has, and those that are missing.

    They are measured on this machine, with outputs of networks that are drawn, unless nothing is to be learnt. Times
    of other machines that the folder has are shown too, each machine's by themselves; without any there is no table.
    """
    places = _places(plan, task)
    with alone_in(task.folder):
        tell_torn([task.folder / FILE], task.tell)
        kept = Kept(task.folder / FILE, SHAPE)
        if learn:
            _measure(places, plan, task, kept)
    by_machine = defaultdict[str, list[Time]](list)
    for line in [line for place in places for line in kept.matching(place)]:
        command = command_of(task, bits=line["bits"], seed=line["seed"])
        by_machine[in_words(line["machine"])].append({"command": command} | line)
    if not by_machine:
        return None, [_called(place) for place in places]
    missing = [
        f"{_called(place)} on {name}"
        for name, lines in by_machine.items()
        for place in places
        if _called(place) not in map(_called, lines)
    ]
    sizes = sorted({place["items"] for place in places})
    all_lines = [line for lines in by_machine.values() for line in lines]
    of_a_cpu = [OF_A_CPU] if all(line["machine"]["device"] == "cpu" for line in all_lines) else []
    made = Made(
        {"times": all_lines},
        [*about_data(task, plan), PAPERS, *of_a_cpu, *not_yet(missing)],
        [sheet for name, lines in by_machine.items() for sheet in _sheets(lines, sizes, name)],
        [panel for name, lines in by_machine.items() for panel in _panels(lines, name if len(by_machine) > 1 else "")],
        trainings=list(map(_measurement, all_lines)),
    )
    return made, [] if learn else missing  # on this machine all is there now


def _places(plan: Plan, task: Task) -> list[Time]:
    """What names the times, whatever machine they are of."""
    (bits,), (seed, *_) = plan.bits, plan.seeds
    n_items = len(task.parts.train)
    sizes = [*(size for size in plan.more["sizes"] if size < n_items), n_items]
    if len(sizes) < 2:
        raise UsageError(
            f"{n_items} training items are too few to see growth",
            next_step=f"give a dataset with more than {min(plan.more['sizes'])} of them",
        )
    about = {"experiment": task.experiment, "bits": bits, "seed": seed, "rule": task.rule, "digests": task.all_digests}
    about |= {name: plan.more[name] for name in HOW} | {"counted": COUNTED}
    return [
        about | {"update": update, "eta": eta, "items": size}
        for update, eta in plan.more["updates"].items()
        for size in sizes
    ]


def _measure(places: Sequence[Time], plan: Plan, task: Task, kept: Kept) -> None:
    """Measure what is missing of this machine; it names a time, so that a table is of one machine."""
    from deepbinaries.experiments.paper.update_times import measure

    on = machine(task.device)
    missing = [place for place in places if kept.find(place | {"machine": on}) is None]
    rows = np.random.default_rng(places[0]["seed"]).permutation(task.parts.train)
    progress = Progress(plan.name, len(places), task.tell, there=len(places) - len(missing))
    for place in missing:
        labels = task.parts.labels.select(np.sort(rows[: place["items"]])).matrix()
        how = {name: place[name] for name in ("bits", *HOW)} | {"device": task.device}
        found = measure(place["update"], place["eta"], labels, **how)
        kept.add(place | {"machine": on}, found | {"versions": versions()})
        progress.done(_called(place))


def _measurement(line: Time) -> Time:
    """How the times of an update at a size were measured, without these themselves."""
    return {"method": _called(line)} | {name: fact for name, fact in line.items() if name != "seconds"}


def _called(place: Time) -> str:
    return f"{place['update']}, {place['items']:,} items"


def growth(items: Sequence[int], seconds: Sequence[float]) -> float | None:
    """The power of the number of items that the seconds grow with, by least squares of the logarithms.

    None of less than three sizes, and where more items did not take longer: no power would tell of such times.

    >>> round(growth([10, 20, 40], [1.0, 4.0, 16.0]), 3)
    2.0
    >>> growth([10, 20, 40], [1.0, 4.0, 3.0]) is growth([10, 20], [1.0, 4.0]) is None
    True
    """
    if len(items) < 3 or any(later <= earlier for earlier, later in pairwise(seconds)):
        return None
    slope, _ = np.polyfit(np.log(items), np.log(seconds), 1)
    return float(slope)


def _sheets(lines: Sequence[Time], sizes: Sequence[int], name: str) -> Iterator[Sheet]:
    """A table for each kind of time, all of one machine; what is missing is blank."""
    about = lines[0]
    for what, words in WHAT.items():
        rows, grows = [], what != "batch"  # which is as large whatever the set
        for update in dict.fromkeys(line["update"] for line in lines):
            at = {line["items"]: line for line in lines if line["update"] == update}
            cells = [Cell(update), *(_time(at[size], what) if size in at else Cell("") for size in sizes)]
            power = growth(list(at), [line["seconds"][what] for line in at.values()])
            rows.append([*cells, *([Cell("" if power is None else f"{power:.2f}")] if grows else [])])
        caption = (
            f"Seconds of {words}, by the training items, the least of {about['repeats']} repeats or more; "
            f"batches of {about['batch']}; {about['bits']} bits, {name}."
        )
        head = ["update", *(f"{size:,}" for size in sizes), *(["grows with the power"] if grows else [])]
        yield Sheet(caption, head, rows)


def _time(line: Time, what: str) -> Cell:
    return Cell(in_seconds(line["seconds"][what]), link=anchor_of(_measurement(line)))


def _panels(lines: Sequence[Time], name: str) -> list[Panel]:
    """A drawing for each kind of time; `name` tells the machine where there are several."""
    updates = list(dict.fromkeys(line["update"] for line in lines))
    found = []
    for what, words in WHAT.items():
        of = {update: [line for line in lines if line["update"] == update] for update in updates}
        drawn = [Line(update, [x["items"] for x in at], [x["seconds"][what] for x in at]) for update, at in of.items()]
        title = "\n".join([words, *textwrap.wrap(name, TITLE_WIDTH)])
        sizes = sorted({line["items"] for line in lines})
        found.append(Panel(title, "training items", "seconds", drawn, logarithmic="xy", x_ticks=sizes))
    return found


def in_seconds(value: float) -> str:
    """Two digits that count.

    >>> in_seconds(0.01234), in_seconds(7800)
    ('0.012', '7800')
    """
    digits = max(0, 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:.{digits}f}"
