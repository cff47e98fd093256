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
    "The paper's source has, in lines that are commented out, 300 ms for a batch and 130 minutes for one round over "
    "the 50,000 training items of COCO; on which machine a batch was updated is not said."
)


def run_times(plan: Plan, task: Task) -> Made:
    """The times of all updates at all sizes that the training part has; outputs of networks are drawn."""
    from deepbinaries.experiments.paper.update_times import measure

    (bits,), (seed, *_) = plan.bits, plan.seeds
    n_items = len(task.parts.train)
    sizes = [size for size in plan.more["sizes"] if size <= n_items]
    if len(sizes) < 2:
        raise UsageError(
            f"{n_items} training items are too few to see growth",
            next_step=f"give a dataset with {sorted(plan.more['sizes'])[1]} of them at least",
        )
    rows = np.random.default_rng(seed).permutation(task.parts.train)
    how = {name: plan.more[name] for name in ("batch", "repeats")} | {"bits": bits, "device": task.device}
    places = [(update, eta, size) for update, eta in plan.more["updates"].items() for size in sizes]
    lines = []
    with alone_in(task.folder):
        kept, progress = Kept(task.folder / FILE), Progress(plan.name, task.tell)
        for update, eta, size in progress.of(places):
            named = {"experiment": task.experiment, "update": update, "eta": eta, "items": size, **how, "seed": seed}
            named |= {"rule": task.rule, "digests": task.all_digests}
            line = kept.find(named)
            progress.made = line is None
            if line is None:
                labels = task.parts.labels.select(np.sort(rows[:size])).matrix()
                found = measure(update, eta, labels, **how)
                if size == sizes[0]:  # what comes first in a process is slow, and does not count
                    found = measure(update, eta, labels, **how)
                line = kept.add(named, found | {"versions": versions()})
            lines.append(line)
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
