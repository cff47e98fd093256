"""`deepbinaries index`, `watch` and `import-codes`: making an index, and keeping it current."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbinaries.cli.collection_options import Bits, ModelAt, model_to_index_by
from deepbinaries.cli.output import AsJson, complain, say, write_json, write_text
from deepbinaries.cli.search_codes import shown_place
from deepbinaries.cli.train import BackboneWeights, Device, ProposerPath
from deepbinaries.errors import Error, UsageError

if TYPE_CHECKING:
    from deepbinaries.search import Report

SHOWN = 5  # reasons why files cannot be read

Photographs = Annotated[Path, typer.Argument(help="The folder of the photographs.")]
IndexTo = Annotated[
    Path | None, typer.Option("--index", help="Where the index is kept; default: .deepbinaries in the folder.")
]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="PATTERN", help="Pass over names or paths such as '*.gif', repeatable.")
]


def index(
    folder: Photographs,
    model: ModelAt = None,
    bits: Bits = None,
    index_: IndexTo = None,
    exclude: Exclude = None,
    device: Device = "auto",
    backbone_weights: BackboneWeights = None,
    proposer_path: ProposerPath = None,
    as_json: AsJson = False,
) -> None:
    """Index the photographs of a folder; run again, it looks only at what is new, changed, moved or gone.

    Photographs are only read. Example: deepbinaries index ~/Pictures
    """
    from deepbinaries.search import Report, index_folder
    from deepbinaries.search.layout import NAME

    place = index_ or folder / NAME
    by = model_to_index_by(model, place, device, backbone_weights, proposer_path, bits)
    report = Report()
    try:
        index_folder(folder, by, index=index_, excludes=exclude or (), report=report)
    except KeyboardInterrupt:
        complain(f"{report.done:,} of {report.files:,} pictures are done; run it again to go on")
        raise
    _tell(report, place, as_json)


def watch(
    folder: Photographs,
    model: ModelAt = None,
    bits: Bits = None,
    index_: IndexTo = None,
    exclude: Exclude = None,
    every: Annotated[float, typer.Option(help="Seconds between two looks at the folder.")] = 60.0,
    device: Device = "auto",
    backbone_weights: BackboneWeights = None,
    proposer_path: ProposerPath = None,
) -> None:
    """Keep an index current: look at the folder again and again, until it is interrupted.

    Example: deepbinaries watch ~/Pictures --every 300
    """
    from deepbinaries.search import index_folder
    from deepbinaries.search import watching as looking
    from deepbinaries.search.layout import NAME

    if not 0 < every < float("inf"):
        raise UsageError(f"{every} seconds are no time to wait", next_step="give a positive number")
    place = index_ or folder / NAME
    by = model_to_index_by(model, place, device, backbone_weights, proposer_path, bits)

    def run() -> "Report":
        return index_folder(folder, by, index=index_, excludes=exclude or (), progress=False)

    for found in looking.watch(run, every=every):
        if isinstance(found, Error):
            complain(f"waiting: {found}")
        elif found.changed:
            _tell(found, place, as_json=False)


def import_codes(
    codes: Annotated[
        Path, typer.Argument(help="Codes, an .npy file as `encode` writes it, or the folder of `encode-many`.")
    ],
    index_: Annotated[
        str,
        typer.Option(
            "--index", help="The index, made where there is none: a folder, postgresql://..., milvus:... or ray:..."
        ),
    ],
    ids: Annotated[Path | None, typer.Option(help="Their ids, one a line; a folder has its own.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make an index of ready codes, for programs that search codes by themselves.

    Example: deepbinaries import-codes codes.npy --ids codes.ids.txt --index codes-index
    """
    from deepbinaries.bulk import import_shards
    from deepbinaries.search.importing import import_codes as put_codes

    if codes.is_dir() == (ids is not None):
        raise UsageError(
            f"it is not clear which ids are meant for {codes}",
            next_step="give --ids with an .npy file, and without it the folder that `encode-many` wrote",
        )
    facts = {
        "index": shown_place(index_),
        "items": import_shards(codes, index_) if ids is None else put_codes(codes, ids, index_),
    }
    if as_json:
        write_json(facts)
    else:
        write_text("\n".join(f"{name}: {value}" for name, value in facts.items()))


def _tell(report: "Report", place: Path, as_json: bool) -> None:
    from deepbinaries.search.layout import SKIPPED

    failures: Counter[str] = report.failures
    counts: dict[str, Any] = {
        name: getattr(report, name) for name in ("files", "unchanged", "recognised", "encoded", "removed", "sentences")
    }
    if as_json:
        rest = {"failures": dict(failures), "notes": report.notes, "seconds": round(report.seconds, 3)}
        write_json({"index": str(place), **counts, **rest})
    else:
        write_text(", ".join(f"{count:,} {name}" for name, count in counts.items() if count or name == "files"))
    for note in report.notes:
        complain(note)
    for reason, count in failures.most_common(SHOWN):
        complain(f"{count:,} {'file was' if count == 1 else 'files were'} skipped: {reason}")
    if failures:
        complain(f"all {failures.total():,} are listed in {place / SKIPPED}")
    if report.encoded:
        say(f"{report.encoded / max(report.seconds, 1e-3):,.1f} pictures a second")
