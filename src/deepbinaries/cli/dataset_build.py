"""`deepbinaries dataset build`: a dataset that results were measured on, made again from an official release."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from deepbinaries.cli.output import complain, free_path, say


class Buildable(StrEnum):
    """The datasets whose lists come with the package."""

    COCO18 = "coco18"
    IAPR22 = "iapr22"


def build_command(
    name: Annotated[Buildable, typer.Argument(help="The dataset.")],
    release: Annotated[Path, typer.Option("--from", help="The folder in which the official archives were unpacked.")],
    out: Annotated[Path, typer.Option(help="A folder that does not exist yet.")],
) -> None:
    """Make iapr22 from IAPR TC-12, or coco18 from Microsoft COCO: items, labels and split as in our results.

    Leaves with 1 when the release lacks items, or its sentences are others than ours.
    Example: deepbinaries dataset build iapr22 --from ~/iaprtc12 --out ~/data/iapr22
    """
    from deepbinaries.datasets.rebuilding import MISSING, build

    built = build(name.value, release, free_path(out))
    say(f"{built.n_items:,} items in {out}")
    if built.missing:
        complain(f"{built.shortfall()}; all are listed in {out / MISSING}")
    elif not built.same:
        complain("the sentences are not those of our results: the release is another edition")
    if not built.same:
        raise typer.Exit(1)
    say("ids, sentences and labels are those of our results")
