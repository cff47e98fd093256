"""`deepbinaries reproduce`: the paper's tables and figures, ours beside what it prints."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from deepbinaries.cli.contestants import numbers
from deepbinaries.cli.dataset import Root, Seed, SplitName
from deepbinaries.cli.output import AsJson, complain, say, write_json, write_text
from deepbinaries.cli.paper_task import Asked
from deepbinaries.cli.train import BackboneWeights, DatasetSet, Device, Features, IgnoreLabel, ProposerPath, Vision
from deepbinaries.errors import UsageError


def reproduce(
    what: Annotated[
        str, typer.Argument(help="One of table1, table2, fixes, figure3, figure4, figure5, eta, k and time.")
    ],
    dataset: Annotated[str, typer.Option(help="A name of `deepbinaries list datasets`, or my.module:function.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder of a dataset's results; what is there is not made again. Default: reproduced/DATASET, "
            "with -reduced behind it where that is asked for."
        ),
    ] = None,
    root: Root = None,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="Smaller networks and less data, for small machines: no results.")
    ] = False,
    only: Annotated[list[str] | None, typer.Option(metavar="ROW", help="Learn this row alone, repeatable.")] = None,
    bits: Annotated[str | None, typer.Option(help="Learn these lengths, by commas; default: the paper's.")] = None,
    seeds: Annotated[str | None, typer.Option(help="Learn from these seeds, by commas; default: 0.")] = None,
    split: SplitName = "",
    seed: Seed = 0,
    dataset_set: DatasetSet = None,
    ignore_label: IgnoreLabel = None,
    vision: Vision = None,
    features: Features = None,
    device: Device = "auto",
    backbone_weights: BackboneWeights = None,
    proposer_path: ProposerPath = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that share the trainings.")] = 1,
    no_learn: Annotated[bool, typer.Option("--no-learn", help="Draw what is there, and learn nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a table or figure of the paper on a dataset, and put what the paper prints beside it.

    Run it again after an interruption: it goes on. Tables and figures of one dataset share a folder, and trainings.
    With --only, --bits or --seeds a part is learnt; all that is there is drawn. Leaves with 1 when something that was
    asked for is missing: a training of several --jobs that failed, or any with --no-learn.
    Example: deepbinaries reproduce table2 --dataset scenes --reduced
    """
    from deepbinaries.experiments.paper.made import write
    from deepbinaries.experiments.paper.making import make

    out = out or Path("reproduced") / f"{dataset}{'-reduced' if reduced else ''}"
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is no folder", next_step="give another name")
    asked = Asked(
        what=what,
        dataset=dataset,
        out=out,
        root=root,
        reduced=reduced,
        only=only or (),
        bits=None if bits is None else numbers(bits, "--bits"),
        seeds=None if seeds is None else numbers(seeds, "--seeds", least=0),
        split=split,
        seed=seed,
        dataset_set=dataset_set or (),
        ignore_label=ignore_label or (),
        vision=vision or (),
        features=features,
        device=device,
        backbone_weights=backbone_weights,
        proposer_path=proposer_path,
        jobs=jobs,
    )
    plan, part, task_of = asked.opened(out)
    found, missing = make(plan, part, task_of, asked.paper, opened=asked.opened, jobs=jobs, learn=not no_learn)
    if found is not None:
        written = write(plan, replace(found, notes=[*found.notes, *asked.notes]), out)
        if as_json:
            say(f"{plan.name}: {', '.join(map(str, written))}")
            write_json(dict(found.content))
        else:
            write_text("\n".join(map(str, written)))
    if missing:
        how = "leave --no-learn out" if no_learn else "run the command again"
        complain(f"{plan.name}: {len(missing)} results are missing; {how} to make them")
        raise typer.Exit(1)
