"""`deepbinaries export`: a trained model that needs no torch."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepbinaries.cli.output import AsJson, complain, free_path, write_json, write_text
from deepbinaries.cli.train import BackboneWeights, ProposerPath
from deepbinaries.errors import DataError, PictureError

if TYPE_CHECKING:
    from deepbinaries.model import Model

MOST_CHECKED = 256  # pictures; torch and onnxruntime both encode them


class Precision(StrEnum):
    """How numbers are kept in the files."""

    FP32 = "fp32"
    FP16 = "fp16"
    INT8 = "int8"


def export(
    model: Annotated[str, typer.Argument(help="The folder of a trained model.")],
    out: Annotated[Path, typer.Option(help="The exported model's folder, which does not exist yet.")],
    precision: Annotated[
        Precision, typer.Option(help="fp16 halves the files; int8 also computes the last layers in whole numbers.")
    ] = Precision.FP32,
    check: Annotated[
        Path | None, typer.Option(help="A folder of pictures to prove it on; default: drawn ones.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write it even where too few bits are those of torch.")
    ] = False,
    backbone_weights: BackboneWeights = None,
    proposer_path: ProposerPath = None,
    as_json: AsJson = False,
) -> None:
    """Write a model's networks as ONNX files, proven against torch, for machines without it.

    Example: deepbinaries export model --out small --precision fp16 --check ~/Pictures
    """
    from deepbinaries.exporting import export as write_exported
    from deepbinaries.model import Model

    free_path(out)
    opened = Model.from_pretrained(model, device="cpu", backbone_weights=backbone_weights, proposer_path=proposer_path)
    pictures = _readable(opened, check) if check is not None else []
    agreement = write_exported(
        opened, out, pictures=pictures, precision=precision.value, proposer_path=proposer_path, force=force
    )
    n_bytes = sum(file.stat().st_size for file in out.iterdir())
    if as_json:
        write_json({"model": str(out), "precision": precision.value, "bytes": n_bytes, "agreement": agreement})
        return
    lines = [f"model: {out}", f"precision: {precision.value}", f"megabytes: {n_bytes / 1e6:.1f}"]
    for side, of_side in agreement.items():
        kind = "drawn " * of_side.get("drawn", False) + side
        lines.append(f"equal bits, {of_side['items']:,} {kind}: {of_side['equal_bits']:.4%}")
    write_text("\n".join(lines))
    if check is None:
        complain("it was proven on drawn pictures; --check FOLDER proves it on your own")


def _readable(model: "Model", folder: Path) -> list[Path]:
    """The first pictures of a folder that can be read; those that cannot are named."""
    from deepbinaries.cli.encode import picture_files

    readable: list[Path] = []
    files = iter(picture_files([folder]))
    while len(readable) < MOST_CHECKED and (file := next(files, None)) is not None:
        try:
            model.read(file)
        except PictureError as error:
            complain(f"left out: {error}")
        else:
            readable.append(file)
    if not readable:
        raise DataError(f"no picture in {folder} can be read", next_step="give another folder")
    return readable
