"""`deepbinaries serve`: a page for people and an interface for programs."""

import os
import sys
import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepbinaries.cli.collection_options import Bits, ModelAt, model_to_index_by, model_to_search_by
from deepbinaries.cli.index import Exclude
from deepbinaries.cli.output import complain
from deepbinaries.cli.search_codes import codes_at, is_database
from deepbinaries.cli.train import BackboneWeights, Device, ProposerPath
from deepbinaries.errors import UsageError
from deepbinaries.files import read_lines

if TYPE_CHECKING:
    from deepbinaries.search import LazyModel
    from deepbinaries.web.codes_alone import CodesAlone
    from deepbinaries.web.photographs import Photographs

VARIABLE = "DEEPBINARIES_TOKEN"


def serve(
    folder: Annotated[
        str | None, typer.Argument(help="Photographs, indexed now and kept current; default: only serve an index.")
    ] = None,
    index: Annotated[
        str | None,
        typer.Option(help="The index; default: .deepbinaries in the folder, or that of the current folder."),
    ] = None,
    bind: Annotated[str, typer.Option(help="The address to listen on; others than 127.0.0.1 need a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port to listen on; 0 is any that is free.")] = 8765,
    token_file: Annotated[
        Path | None, typer.Option(help=f"A file that holds the token on its first line; default: {VARIABLE}.")
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="A further name that this server is called by, repeatable.")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    every: Annotated[float, typer.Option(help="Seconds between two looks at the folder.")] = 60.0,
    model: ModelAt = None,
    bits: Bits = None,
    exclude: Exclude = None,
    device: Device = "auto",
    backbone_weights: BackboneWeights = None,
    proposer_path: ProposerPath = None,
) -> None:
    """Serve a page on which photographs are found by a sentence or a picture, and an HTTP interface for programs.

    Examples: deepbinaries serve ~/Pictures --open; deepbinaries serve --index codes-index; deepbinaries serve
    postgresql://db.example.org/photos
    """
    from deepbinaries.web.running import run
    from deepbinaries.web.settings import Settings

    if not 0 < every < float("inf"):
        raise UsageError(f"{every} seconds are no time to wait", next_step="give a positive number")
    settings = Settings(bind, port, _token(token_file), tuple(name or ()))
    if is_database(folder):
        folder, index = None, index or folder
    source: CodesAlone | Photographs
    if folder is not None:
        from deepbinaries.search.layout import NAME

        place = Path(index or Path(folder) / NAME)
        by = model_to_index_by(model, place, device, backbone_weights, proposer_path, bits)
        source = _kept_current(Path(folder), place, by, exclude or [], every)
    else:
        by_which = partial(model_to_search_by, model, index, device, backbone_weights, proposer_path)
        source = _as_it_is(index, by_which, writable=settings.token is not None)

    def started(address: str) -> None:
        complain(f"open {address}   (Ctrl-C ends it)")
        if open_:
            webbrowser.open(address)

    run(source, settings, started=started)
    _leave(source)


def _kept_current(folder: Path, place: Path, by: "LazyModel", exclude: list[str], every: float) -> "Photographs":
    """The photographs of a folder, which a thread indexes."""
    from deepbinaries.search import index_folder
    from deepbinaries.web.indexing import Indexing
    from deepbinaries.web.photographs import Photographs

    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder", next_step="give the folder of the photographs")
    indexing = Indexing(
        lambda report: index_folder(folder, by, index=place, excludes=exclude, progress=False, report=report),
        every=every,
        tell=complain,
    )
    indexing.start()
    return Photographs(place, model=by, indexing=indexing)


def _as_it_is(
    index: str | None, by_which: "Callable[[], LazyModel | None]", *, writable: bool
) -> "CodesAlone | Photographs":
    """What an index holds: photographs, or codes alone."""
    from deepbinaries.search import Collection
    from deepbinaries.web.codes_alone import CodesAlone
    from deepbinaries.web.photographs import Photographs

    if (codes := codes_at(index, writable=writable)) is not None:
        return CodesAlone(codes, writable=writable)
    by = by_which()
    with Collection(index, model=by) as collection:  # says what is wrong before anybody asks
        return Photographs(collection.folder, model=by)


def _token(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(VARIABLE) or None
    lines = read_lines(file, limit=2**16)
    if not lines or not lines[0].strip():
        raise UsageError(f"{file} holds no token", next_step="write it on the first line")
    return lines[0].strip()


def _leave(source: "CodesAlone | Photographs") -> None:
    """End at once, also while pictures are being indexed: a run that is cut short is gone on with by the next."""
    indexing = getattr(source, "indexing", None)
    if indexing is not None:
        indexing.stop()
        if indexing.running:
            complain("indexing was cut short; it goes on with the next start")
            sys.stderr.flush()
            os._exit(0)
