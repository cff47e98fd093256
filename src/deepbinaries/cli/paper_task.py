"""What the options of `deepbinaries reproduce` ask for: a plan, and the data that it is made of."""

import functools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deepbinaries.cli.compare import TextView, galleries_of, inputs_of
from deepbinaries.cli.dataset import load_dataset
from deepbinaries.cli.output import complain
from deepbinaries.cli.recipe import Read
from deepbinaries.cli.settings import parse_settings
from deepbinaries.errors import SplitError, UsageError

if TYPE_CHECKING:
    from deepbinaries.datasets import Dataset, Split
    from deepbinaries.experiments.contest import Task
    from deepbinaries.experiments.paper.plans import Plan, Reading
    from deepbinaries.experiments.paper.running import TaskOf


@dataclass(frozen=True)
class Asked:
    """The options; other processes are sent them, and open the same for themselves."""

    what: str
    dataset: str
    out: Path
    root: Path | None
    reduced: bool
    only: Sequence[str]
    bits: tuple[int, ...] | None
    seeds: tuple[int, ...] | None
    split: str
    seed: int
    dataset_set: Sequence[str]
    ignore_label: Sequence[str]
    vision: Sequence[str]
    features: Path | None
    device: str
    backbone_weights: str | None
    proposer_path: Path | None
    jobs: int = 1

    @property
    def reading(self) -> "Reading":
        """How the dataset is read."""
        from deepbinaries.experiments.paper import plans

        return plans.reading_of(self.dataset, reduced=self.reduced)

    @property
    def paper(self) -> str:
        """The dataset's name among the printed numbers; "" where the task is not the paper's."""
        reading = self.reading
        another_task = self.reduced or self.ignore_label or (self.split and self.split != reading.split)
        return "" if another_task else reading.paper

    @property
    def notes(self) -> list[str]:
        """What a reader has to know of this dataset; nothing of what a paper's task has, where it is another one."""
        reading = self.reading
        return [reading.note] if reading.note and (self.paper or not reading.paper) else []

    def opened(self, folder: Path) -> "tuple[Plan, Plan, TaskOf]":
        """The plan that is drawn, its part that is learnt, and the tasks of rows, which keep results in a folder."""
        from deepbinaries.experiments.contest import Task
        from deepbinaries.experiments.paper.plans import KEEP, OF_CELLS

        (plan, part), reading = self._plans(), self.reading
        reader, looks = _over(reading.settings, self.dataset_set), _over(reading.vision, self.vision)
        split = self.split or reading.split
        data, made = self._loaded(split, reader)
        parts = made.parts(data, ignore_labels=self.ignore_label)
        if hasattr(data, "features") and plan.varied == KEEP:
            raise UsageError(f"{data.name} has no pictures, so none of their regions", next_step="give another dataset")
        view = None if hasattr(data, "features") else TextView.FEATURES
        options = {"--split": [split], "--dataset-set": reader, "--ignore-label": self.ignore_label}
        options |= {"--seed": [str(self.seed)] if self.seed else []}
        makes = ["reproduce", self.what, "--dataset", self.dataset, "--out", "paper"]
        if plan.drawn in OF_CELLS:
            makes = ["compare", self.dataset, "--out", "comparison"]
            options |= {"--read": [reading.read], "--words": [str(reading.words)]}
        elif self.reduced:
            makes.append("--reduced")

        @functools.cache
        def task_of(keep: int | None) -> "Task":
            seen = looks if keep is None else [*looks, f"{KEEP}={keep}"]
            how = Read(reading.read), reading.words, self.features, self.device
            files = self.backbone_weights, self.proposer_path
            inputs = inputs_of(data, parts, view, seen, *how, *files, self.out)
            if keep is not None:
                inputs["inputs"] |= {KEEP: keep}
            return Task(
                **inputs,
                dataset=data,
                parts=parts,
                folder=folder,
                seeds=plan.seeds,
                galleries=galleries_of(None, parts),
                device=self.device,
                experiment="paper, reduced" if self.reduced else "paper",
                rule=f"without {', '.join(parts.ignored)}" if parts.ignored else "all",
                command=_command(makes, options | {"--vision": seen}),
                tell=complain,
                curves=True,
                jobs=self.jobs,
            )

        return _sharing(plan, looks), _sharing(part, looks), task_of

    def _loaded(self, split: str, reader: list[str]) -> "tuple[Dataset, Split]":
        try:
            return load_dataset(self.dataset, self.root, split, None, self.seed, reader, False)
        except SplitError as error:
            if self.split or not split:
                raise
            # Nobody has asked for the paper's split, and a part of a dataset may be too small for it.
            next_step = f"{error.next_step}, or give another --split, such as fraction:0.1"
            raise SplitError(error.problem, next_step=next_step) from error

    def _plans(self) -> "tuple[Plan, Plan]":
        """What is drawn, and the part of it that is asked for."""
        from deepbinaries.experiments.paper.plans import lengths, read_plan, together

        plan = read_plan(self.what, self.dataset, reduced=self.reduced, ignored=self.ignore_label)
        part = plan.only(self.only) if self.only else plan
        part = lengths(self.bits, part) if self.bits is not None else part
        part = replace(part, seeds=self.seeds) if self.seeds is not None else part
        return together(plan, part), part


def _sharing(plan: "Plan", looks: list[str]) -> "Plan":
    """The plan, in which as many regions as are seen anyway are no other task, so that trainings are shared."""
    from deepbinaries.experiments.paper.plans import KEEP
    from deepbinaries.vision.encoder import VisionSettings

    usual = parse_settings(looks, VisionSettings).get(KEEP, VisionSettings.keep)
    return replace(plan, rows=tuple(replace(r, keep=None) if r.keep == usual else r for r in plan.rows))


def _command(makes: Sequence[str], options: Mapping[str, Sequence[str]]) -> str:
    """What makes the same numbers, as far as it does not depend on the method."""
    given = [part for name, values in options.items() for value in values if value for part in (name, value)]
    return shlex.join(["deepbinaries", *makes, *given])


def _over(settings: Mapping[str, object], given: Sequence[str]) -> list[str]:
    """The settings of a plan as a command line has them, without those that were given, and then these."""
    names = {pair.partition("=")[0].strip() for pair in given}
    return [*(f"{name}={value}" for name, value in settings.items() if name not in names), *given]
