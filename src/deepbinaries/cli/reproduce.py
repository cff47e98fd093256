"""`deepbinaries reproduce`: the paper's tables and figures, ours beside what it prints."""

import functools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from deepbinaries.cli.compare import TextView, galleries_of, inputs_of
from deepbinaries.cli.contestants import numbers
from deepbinaries.cli.dataset import Root, Seed, SplitName, load_dataset
from deepbinaries.cli.output import AsJson, complain, write_json, write_text
from deepbinaries.cli.recipe import Read
from deepbinaries.cli.train import BackboneWeights, DatasetSet, Device, Features, IgnoreLabel, ProposerPath
from deepbinaries.errors import UsageError


class What(StrEnum):
    """The tables and figures."""

    TABLE1 = "table1"
    TABLE2 = "table2"
    FIGURE3 = "figure3"
    FIGURE4 = "figure4"
    FIGURE5 = "figure5"
    ETA = "eta"
    K = "k"
    TIME = "time"


def reproduce(
    what: Annotated[What, typer.Argument(help="The table, figure or study.")],
    dataset: Annotated[str, typer.Option(help="A name of `deepbinaries list datasets`, or my.module:function.")],
    out: Annotated[Path, typer.Option(help="The folder of a dataset's results; what is there is not made again.")],
    root: Root = None,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="Smaller networks and less data, for small machines: no results.")
    ] = False,
    only: Annotated[list[str] | None, typer.Option(metavar="ROW", help="Make this row alone, repeatable.")] = None,
    bits: Annotated[str | None, typer.Option(help="Lengths of codes, by commas; default: the paper's.")] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds of the methods, by commas; default: 0.")] = None,
    split: SplitName = "",
    seed: Seed = 0,
    dataset_set: DatasetSet = None,
    ignore_label: IgnoreLabel = None,
    vision: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="How pictures are seen (backbone, proposer, side, ...), repeatable."),
    ] = None,
    features: Features = None,
    device: Device = "auto",
    backbone_weights: BackboneWeights = None,
    proposer_path: ProposerPath = None,
    as_json: AsJson = False,
) -> None:
    """Make a table or figure of the paper on a dataset, and put what the paper prints beside it.

    Run it again after an interruption: it goes on. Tables and figures of one dataset share a folder, and trainings.
    Example: deepbinaries reproduce table2 --dataset scenes --reduced --out paper
    """
    from deepbinaries.experiments.contest import Task
    from deepbinaries.experiments.paper.made import write
    from deepbinaries.experiments.paper.making import make
    from deepbinaries.experiments.paper.plans import KEEP, lengths, read_plan, reading_of

    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is no folder", next_step="give another name")
    plan = read_plan(what.value, dataset, reduced=reduced)
    plan = plan.only(only) if only else plan
    plan = lengths(numbers(bits, "--bits"), plan) if bits is not None else plan
    plan = replace(plan, seeds=numbers(seeds, "--seeds", least=0)) if seeds is not None else plan
    reading = reading_of(dataset, reduced=reduced)
    reader = _over(reading.settings, dataset_set)
    data, made = load_dataset(dataset, root, split or reading.split, None, seed, reader, False)
    parts = made.parts(data, ignore_labels=ignore_label or ())
    if hasattr(data, "features") and plan.varied == KEEP:
        raise UsageError(f"{data.name} has no pictures, so none of their regions", next_step="give another dataset")
    view = None if hasattr(data, "features") else TextView.FEATURES
    looks = _over(reading.vision, vision)
    options = {"--split": [split or reading.split], "--dataset-set": reader, "--ignore-label": ignore_label or []}
    options |= {"--seed": [str(seed)] if seed else [], "--read": [reading.read], "--words": [str(reading.words)]}

    @functools.cache
    def task_of(keep: int | None) -> Task:
        seen = looks if keep is None else [*looks, f"{KEEP}={keep}"]
        read = Read(reading.read), reading.words
        inputs = inputs_of(data, parts, view, seen, *read, features, device, backbone_weights, proposer_path, out)
        if keep is not None:
            inputs["inputs"] |= {KEEP: keep}
        return Task(
            **inputs,
            dataset=data,
            parts=parts,
            folder=out,
            seeds=plan.seeds,
            galleries=galleries_of(None, parts),
            device=device,
            experiment="paper, reduced" if reduced else "paper",
            rule=f"without {', '.join(parts.ignored)}" if parts.ignored else "all",
            command=_command(dataset, options | {"--vision": seen}),
            tell=complain,
            curves=True,
        )

    another_task = ignore_label or (split and split != reading.split)
    found = make(plan, task_of, "" if another_task else reading.paper)
    written = write(plan, found, out)
    if as_json:
        write_json(dict(found.content))
    else:
        write_text("\n".join(map(str, written)))


def _command(dataset: str, options: Mapping[str, Sequence[str]]) -> str:
    """The comparison that makes the same numbers, as far as it does not depend on the method."""
    given = [part for name, values in options.items() for value in values if value for part in (name, value)]
    return shlex.join(["deepbinaries", "compare", dataset, "--out", "comparison", *given])


def _over(settings: Mapping[str, object], given: list[str] | None) -> list[str]:
    """The settings of a plan as a command line has them, without those that were given, and then these."""
    names = {pair.partition("=")[0].strip() for pair in given or []}
    return [*(f"{name}={value}" for name, value in settings.items() if name not in names), *(given or [])]
