"""Seconds of an update of the codes: of a batch, and of a whole training set as it grows."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from deepbinaries.errors import UsageError
from deepbinaries.experiments.alone import alone_in
from deepbinaries.experiments.charts import Line
from deepbinaries.experiments.contest import Task
from deepbinaries.experiments.paper.figures import Panel
from deepbinaries.experiments.paper.kept import Kept
from deepbinaries.experiments.paper.made import Made, about_data
from deepbinaries.experiments.paper.plans import Plan
from deepbinaries.experiments.paper.running import Progress
from deepbinaries.experiments.paper.sheets import Cell, Sheet
from deepbinaries.experiments.versions import versions

FILE = "times.jsonl"
WHAT = {
    "batch": "one batch",
    "first": "the whole set, the first time",
    "again": "the whole set, from then on",
    "start": "codes of the whole set by labels alone",
}
PAPERS = (
    "The paper's source has, in lines that are commented out, 130 minutes for one round over the whole training set, "
    "which has 50,000 items of COCO, on a server with Intel Xeon processors, and about 300 ms for a batch, for which "
    "GPUs can be used."
)


def run_times(plan: Plan, task: Task, *, learn: bool = True) -> Made:
    """The times of all updates at all sizes that the training part has; outputs of networks are drawn.

    Unless there is something to `learn`, all of them have to be there.
    """
    from deepbinaries.experiments.paper.update_times import measure

    (bits,), (seed, *_) = plan.bits, plan.seeds
    n_items = len(task.parts.train)
    sizes = [*(size for size in plan.more["sizes"] if size < n_items), n_items]
    if len(sizes) < 2:
        raise UsageError(
            f"{n_items} training items are too few to see growth",
            next_step=f"give a dataset with more than {min(plan.more['sizes'])} of them",
        )
    rows = np.random.default_rng(seed).permutation(task.parts.train)
    how = {name: plan.more[name] for name in ("batch", "repeats")} | {"bits": bits, "device": task.device}
    places: list[dict[str, Any]] = [
        {"experiment": task.experiment, "update": update, "eta": eta, "items": size, **how, "seed": seed}
        | {"rule": task.rule, "digests": task.all_digests}
        for update, eta in plan.more["updates"].items()
        for size in sizes
    ]
    with alone_in(task.folder):
        kept = Kept(task.folder / FILE)
        missing = [place for place in places if kept.find(place) is None]
        if missing and not learn:
            raise UsageError(f"{len(missing)} times are not there", next_step="measure them: leave --no-learn out")
        progress = Progress(plan.name, len(places), task.tell, there=len(places) - len(missing))
        for place in missing:
            labels = task.parts.labels.select(np.sort(rows[: place["items"]])).matrix()
            if place["items"] == sizes[0] or place is missing[0]:  # what comes first in a process is slow
                measure(place["update"], place["eta"], labels, **how)
            kept.add(place, measure(place["update"], place["eta"], labels, **how) | {"versions": versions()})
            progress.done(f"{place['update']}, {place['items']:,} items")
        lines = [line for line in map(kept.find, places) if line is not None]
    return Made({"times": lines}, [*about_data(task, plan), PAPERS], list(_sheets(lines)), _panels(lines))


def growth(items: list[int], seconds: list[float]) -> float:
    """The power of the number of items that the seconds grow with, by least squares of the logarithms.

    >>> round(growth([10, 20, 40], [1.0, 4.0, 16.0]), 3)
    2.0
    """
    slope, _ = np.polyfit(np.log(items), np.log(seconds), 1)
    return float(slope)


def _sheets(lines: list[dict[str, Any]]) -> Iterator[Sheet]:
    sizes = list(dict.fromkeys(line["items"] for line in lines))
    about = lines[0]
    for what, words in WHAT.items():
        rows = []
        for update in dict.fromkeys(line["update"] for line in lines):
            seconds = [line["seconds"][what] for line in lines if line["update"] == update]
            cells = [Cell(update), *(Cell(in_seconds(value)) for value in seconds)]
            power = f"{growth(sizes, seconds):.2f}" if what != "batch" and all(seconds) else ""
            rows.append([*cells, Cell(power)])
        where = f"{about['bits']} bits, {about['machine']}, threads: {about['threads']}"
        caption = f"Seconds of {words}, by the training items; batches of {about['batch']}; {where}."
        yield Sheet(caption, ["update", *(f"{size:,}" for size in sizes), "grows with the power"], rows)


def _panels(lines: list[dict[str, Any]]) -> list[Panel]:
    updates = list(dict.fromkeys(line["update"] for line in lines))
    found = []
    for what, words in WHAT.items():
        of = {update: [line for line in lines if line["update"] == update] for update in updates}
        drawn = [Line(name, [x["items"] for x in at], [x["seconds"][what] for x in at]) for name, at in of.items()]
        found.append(Panel(words, "training items", "seconds", drawn, logarithmic="xy"))
    return found


def in_seconds(value: float) -> str:
    """Two digits that count.

    >>> in_seconds(0.01234), in_seconds(7800)
    ('0.012', '7800')
    """
    digits = max(0, 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:.{digits}f}"
