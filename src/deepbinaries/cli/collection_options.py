"""Options that the commands about an index of photographs share."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepbinaries.errors import UsageError

if TYPE_CHECKING:
    from deepbinaries.search import LazyModel

VARIABLE = "DEEPBINARIES_MODEL"

IndexAt = Annotated[
    Path | None,
    typer.Option(
        "--index", help="The index, or the photographs' folder that holds it; default: that of the current folder."
    ),
]
ModelAt = Annotated[
    Path | None,
    typer.Option("--model", help=f"The folder of a trained model; default: {VARIABLE}, or the index's own."),
]


def given_model(
    folder: Path | None, device: str, backbone_weights: str | None, proposer_path: Path | None
) -> "LazyModel | None":
    """The model that was asked for, not opened yet; None where the index's own is to be taken."""
    from deepbinaries.search import LazyModel

    chosen = folder or (Path(stated) if (stated := os.environ.get(VARIABLE)) else None)
    if chosen is None:
        return None
    return LazyModel(chosen, device=device, backbone_weights=backbone_weights, proposer_path=proposer_path)


def model_to_index_by(
    folder: Path | None, index: Path, device: str, backbone_weights: str | None, proposer_path: Path | None
) -> "LazyModel":
    """The model that was asked for, or the one by which the index was made before."""
    from deepbinaries.search import LazyModel
    from deepbinaries.search.layout import CONFIG, generation_facts, read_layout

    if model := given_model(folder, device, backbone_weights, proposer_path):
        return model
    if (index / CONFIG).is_file() and (layout := read_layout(index)).generation:
        earlier = generation_facts(layout.home).get("folder")
        if isinstance(earlier, str) and Path(earlier).is_dir():
            return LazyModel(earlier, device=device, backbone_weights=backbone_weights, proposer_path=proposer_path)
    raise UsageError(
        "no model was given to look at the photographs with",
        next_step="give --model FOLDER; `deepbinaries demo` and `deepbinaries train` make one",
    )
