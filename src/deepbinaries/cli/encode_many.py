"""`deepbinaries encode-many`: codes of a large collection, by many workers, as shards."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from deepbinaries.cli.collection_options import VARIABLE, Bits, ModelAt, given_model
from deepbinaries.cli.output import AsJson, complain, say, write_json, write_text
from deepbinaries.cli.train import BackboneWeights, Device, ProposerPath
from deepbinaries.errors import UsageError

SHOWN = 5  # reasons why pictures have no code


def encode_many(
    source: Annotated[Path, typer.Argument(help="A folder of pictures, of .tar or of .parquet files, or one of them.")],
    out: Annotated[Path, typer.Option(help="The folder of shards; made where there is none.")],
    model: ModelAt = None,
    bits: Bits = None,
    kind: Annotated[
        str | None, typer.Option(help="folder, webdataset or parquet, where the source does not tell.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes of Ray; 0: this one alone, without Ray.")] = 0,
    cores: Annotated[int, typer.Option(min=1, help="Cores of each worker.")] = 1,
    gpus: Annotated[float, typer.Option(min=0, help="GPUs of each worker; 0.5: two share one.")] = 0.0,
    address: Annotated[
        str | None, typer.Option(help="A Ray cluster that runs already: auto or HOST:PORT; default: this machine.")
    ] = None,
    shard_items: Annotated[int, typer.Option(min=1, help="Pictures in a shard at most.")] = 1024,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try again what could not be read before.")
    ] = False,
    id_column: Annotated[str | None, typer.Option(help="Of parquet files; default: id, else file and row.")] = None,
    picture_column: Annotated[str | None, typer.Option(help="Of parquet files, where several may be meant.")] = None,
    device: Device = "auto",
    backbone_weights: BackboneWeights = None,
    proposer_path: ProposerPath = None,
    as_json: AsJson = False,
) -> None:
    """Encode a large collection to a folder of shards; run again, it goes on with what is missing.

    Example: deepbinaries encode-many ~/Pictures --out codes --workers 8
    """
    from deepbinaries.bulk import Report, Workers, encode_collection
    from deepbinaries.pretrained import default

    by = given_model(model or os.environ.get(VARIABLE) or default(), device, backbone_weights, proposer_path, bits)
    if by is None:
        raise UsageError("no model was given to encode by", next_step="give --model FOLDER, as `train` writes it")
    report = Report()
    try:
        encode_collection(
            source,
            out,
            by,
            kind=kind,
            workers=Workers(workers, cores=cores, gpus=gpus, address=address),
            shard_items=shard_items,
            retry_failed=retry_failed,
            id_column=id_column,
            picture_column=picture_column,
            report=report,
        )
    except KeyboardInterrupt:
        complain(f"{report.before + report.encoded + report.failed:,} of {report.items:,} pictures are done")
        raise
    _tell(report, out, as_json)


def _tell(report: Any, out: Path, as_json: bool) -> None:
    from deepbinaries.bulk.folder import FAILURES

    counts = {name: getattr(report, name) for name in ("items", "before", "encoded", "failed", "shards")}
    if as_json:
        reasons = {"failures": dict(report.failures), "left_out": dict(report.left_out)}
        write_json({"out": str(out), **counts, **reasons, "seconds": round(report.seconds, 3)})
    else:
        write_text(
            f"{report.items:,} pictures: {report.before:,} were done before, {report.encoded:,} encoded, "
            f"{report.failed:,} cannot be read; the codes are in {out}"
        )
    for reason, count in report.left_out.most_common(SHOWN):
        complain(f"{count:,} left out: {reason}")
    for reason, count in report.failures.most_common(SHOWN):
        complain(f"{count:,} without a code: {reason}")
    if report.failures:
        complain(f"all {report.failures.total():,} are listed in {out / FAILURES}; --retry-failed tries them again")
    if report.encoded:
        say(f"{report.encoded / max(report.seconds, 1e-3):,.1f} pictures a second")
