"""Options that the commands about an index of photographs share."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepbinaries.errors import UsageError

if TYPE_CHECKING:
    from deepbinaries.search import LazyModel

VARIABLE = "DEEPBINARIES_MODEL"

# Text and no path, since it may be the address of a database.
IndexAt = Annotated[
    str | None,
    typer.Option(
        "--index", help="The index, or the photographs' folder that holds it; default: that of the current folder."
    ),
]
# Text and no path: `photo` is the model of the package, `./photo` a folder, and as paths they would be the same.
ModelAt = Annotated[
    str | None,
    typer.Option(
        "--model",
        help=f"The folder of a model; default: {VARIABLE}, the one that the index was made by, or `photo`.",
    ),
]
Bits = Annotated[int | None, typer.Option(help="The length of a code, of those that the model was trained for.")]


def given_model(
    model: str | None, device: str, backbone_weights: str | None, proposer_path: Path | None, bits: int | None = None
) -> "LazyModel | None":
    """The model that was asked for, not opened yet; None where the index's own is to be taken."""
    from deepbinaries.search import LazyModel

    chosen = model or os.environ.get(VARIABLE)
    if not chosen:
        return None
    return LazyModel(chosen, bits=bits, device=device, backbone_weights=backbone_weights, proposer_path=proposer_path)


def model_to_search_by(
    model: str | None, index: str | None, device: str, backbone_weights: str | None, proposer_path: Path | None
) -> "LazyModel | None":
    """The model that was asked for, or the index's own where it is to be opened in a way of its own; else None."""
    found = given_model(model, device, backbone_weights, proposer_path)
    if found is not None or (device == "auto" and not backbone_weights and not proposer_path):
        return found
    from deepbinaries.search.layout import find_folder, generation_facts, read_layout
    from deepbinaries.search.models import maker

    place = find_folder(Path(index) if index is not None else None)
    facts = generation_facts(read_layout(place).home)
    return maker(facts, place, device=device, backbone_weights=backbone_weights, proposer_path=proposer_path)


def model_to_index_by(
    model: str | None,
    index: Path,
    device: str,
    backbone_weights: str | None,
    proposer_path: Path | None,
    bits: int | None = None,
) -> "LazyModel":
    """The model that was asked for, the one by which the index was made before, or the one that comes along."""
    from deepbinaries.pretrained import default
    from deepbinaries.search.layout import CONFIG, generation_facts, read_layout
    from deepbinaries.search.models import maker

    chosen = model or os.environ.get(VARIABLE)
    if not chosen and (index / CONFIG).is_file() and (layout := read_layout(index)).generation:
        facts = generation_facts(layout.home)
        maker(facts, index)  # where it is gone, another one would make everything anew without being asked to
        chosen, bits = str(facts["folder"]), facts.get("bits") if bits is None else bits
    found = given_model(chosen or default(), device, backbone_weights, proposer_path, bits)
    if found is None:
        raise UsageError(
            "no model was given to look at the photographs with",
            next_step="give --model FOLDER; `deepbinaries demo` and `deepbinaries train` make one",
        )
    return found.proven()  # before a folder is made for what it cannot do
