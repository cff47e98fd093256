"""`deepbinaries search`: sentences, pictures and known items find photographs."""

import os
import re
import sys
import tempfile
import webbrowser
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperCommand

from deepbinaries.cli.collection_options import IndexAt, ModelAt, model_to_search_by
from deepbinaries.cli.output import AsJson, complain, free_file, write_json, write_table
from deepbinaries.cli.previews import can_show_pictures, write_with_previews
from deepbinaries.cli.search_codes import codes_at, search_codes
from deepbinaries.cli.train import BackboneWeights, Device, ProposerPath
from deepbinaries.errors import UsageError
from deepbinaries.files import written_whole
from deepbinaries.language.tokens import collapse

if TYPE_CHECKING:
    from deepbinaries.search import Answer, Collection, Hit

NOTHING = 1  # the exit code

_MINUS = re.compile(r"-([^\s-].+)", re.DOTALL)


class Searching(TyperCommand):
    """A command to which -beach is a word that is taken away and no option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Hide the minus of words behind a space, which a query does not mind."""
        letters = {name[1] for option in self.get_params(ctx) for name in option.opts if len(name) == len("-k")}

        def is_word(argument: str) -> bool:
            match = _MINUS.fullmatch(argument)
            # Of short options such as -k5 or -f0 all is a letter of theirs, or a number.
            return match is not None and not all(letter in letters or letter.isdigit() for letter in match[1])

        return super().parse_args(ctx, [f" {argument}" if is_word(argument) else argument for argument in args])


class Sort(StrEnum):
    """In which order hits come."""

    RELEVANCE = "relevance"
    NEWEST = "newest"
    OLDEST = "oldest"


def search(
    query: Annotated[
        list[str],
        typer.Argument(help="A sentence, a picture's path or id:...; a lone + or - adds or takes away, as does -word."),
    ],
    index: IndexAt = None,
    count: Annotated[int, typer.Option("--count", "-k", help="How many hits a page has.")] = 20,
    offset: Annotated[int, typer.Option(help="How many hits are passed over: the next page.")] = 0,
    folder: Annotated[str, typer.Option(help="Only what lies in this folder, relative to the photographs'.")] = "",
    since: Annotated[str, typer.Option(metavar="DATE", help="Only from this day, month or year on.")] = "",
    until: Annotated[str, typer.Option(metavar="DATE", help="Only up to this day, month or year, included.")] = "",
    sort: Annotated[Sort, typer.Option(help="By relevance, or what matches by its date.")] = Sort.RELEVANCE,
    sentences: Annotated[bool, typer.Option("--sentences", help="Find the captions instead of the pictures.")] = False,
    strong: Annotated[bool, typer.Option("--strong", help="Only strong matches.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also what does not match, the nearest first.")] = False,
    unfold: Annotated[bool, typer.Option("--unfold", help="Look-alikes one by one.")] = False,
    files_only: Annotated[bool, typer.Option("--files-only", "-f", help="Print paths, one a line.")] = False,
    null: Annotated[
        bool, typer.Option("--null", "-0", help="Print paths with a NUL behind each, for xargs -0.")
    ] = False,
    sheet: Annotated[Path | None, typer.Option(help="Write the hits as a page (.html) as well.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show that page in a browser.")] = False,
    model: ModelAt = None,
    device: Device = "auto",
    backbone_weights: BackboneWeights = None,
    proposer_path: ProposerPath = None,
    as_json: AsJson = False,
) -> None:
    """Find photographs by a sentence, by a picture, or by several of both.

    Examples: deepbinaries search "a dog on a beach"; deepbinaries search "2:a dog" + pool.jpg -boat -"some sand"
    """
    from deepbinaries.search import Collection, Filter, parse
    from deepbinaries.search.looks import ALIKE

    if (codes := codes_at(index)) is not None:
        options = {
            "--offset": offset,
            "--folder": folder,
            "--since": since,
            "--until": until,
            "--sort": sort != Sort.RELEVANCE,
            "--sentences": sentences,
            "--strong": strong,
            "--all": everything,
            "--unfold": unfold,
            "--files-only": files_only or null,
            "--sheet": sheet or open_,
        }
        with codes:
            if not search_codes(codes, query, count, options, as_json=as_json):
                raise typer.Exit(NOTHING)
        return
    if strong and everything:
        raise UsageError("--strong and --all ask for opposites", next_step="give one of them")
    parts, where = parse(query), Filter(folder, since, until)
    if sheet is not None:
        free_file(sheet)
    by = model_to_search_by(model, index, device, backbone_weights, proposer_path)
    with Collection(index, model=by) as collection:
        answer = collection.search(
            parts,
            k=count,
            offset=offset,
            where=where,
            sort=sort.value,
            least="strong" if strong else "none" if everything else "weak",
            alike=None if unfold else ALIKE,
            kind="sentences" if sentences else "pictures",
        )
        if sheet is not None or open_:
            _show(collection, collapse(" ".join(query)), answer, sheet, open_)
        if as_json:
            write_json({"photographs": str(collection.photographs), **answer.to_json()})
        elif files_only or null:
            _write_paths(collection, answer, b"\0" if null else b"\n")
        else:
            _write_hits(collection, answer, with_sentences=sentences)
    _tell(answer)
    if not answer.hits:
        raise typer.Exit(NOTHING)


def _write_paths(collection: "Collection", answer: "Answer", end: bytes) -> None:
    """Print every path in the bytes that it has on the disk, so that other programs find it."""
    root = collection.photographs
    paths = [os.fsencode(root / path) for hit in answer.hits for path in hit.paths[:1]]
    if end == b"\n" and (broken := [path for path in paths if b"\n" in path]):
        raise UsageError(f"{os.fsdecode(broken[0])!r} has a line break in its name", next_step="use -0")
    sys.stdout.flush()
    try:
        sys.stdout.buffer.write(b"".join(path + end for path in paths))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None


def _write_hits(collection: "Collection", answer: "Answer", *, with_sentences: bool) -> None:
    head = ["strength", "bits", "date", "sentence" if with_sentences else "picture", "beside" if with_sentences else ""]
    rows = [_row(collection, hit, with_sentences) for hit in answer.hits]
    console = Console()
    if not can_show_pictures(console):
        write_table(head, rows)
    elif rows:
        pictures = [collection.thumbnail(hit.picture) for hit in answer.hits]
        write_with_previews(console, head, list(zip(pictures, rows, strict=True)))


def _row(collection: "Collection", hit: "Hit", with_sentences: bool) -> list[str]:
    from deepbinaries.search.skipped import shown

    path = shown(str(collection.photographs / hit.paths[0]))
    also = [f"and {len(hit.alike)} alike"] if hit.alike else []
    also += [f"in {len(hit.paths)} places"] if len(hit.paths) > 1 else []
    about = path if with_sentences else "; ".join([*hit.captions[:1], *also])
    what = hit.sentence if with_sentences else path
    return [hit.strength, str(hit.distance), hit.date[:10], shown(what), shown(about)]


def _show(collection: "Collection", query: str, answer: "Answer", sheet: Path | None, open_: bool) -> None:
    from deepbinaries.search.sheet import contact_sheet

    if sheet is None:
        sheet = Path(tempfile.mkdtemp(prefix="deepbinaries-")) / "search.html"
    with written_whole(sheet) as file:
        file.write(contact_sheet(collection, query, answer).encode("utf-8", "replace"))
    complain(f"the hits are shown in {sheet}")
    if open_ and not webbrowser.open(sheet.absolute().as_uri()):
        complain("no browser could be opened")


def _tell(answer: "Answer") -> None:
    """What is to be said beside the hits, on standard error."""
    for said in (*answer.unknown, *answer.notes):
        complain(str(said))
    if not answer.hits:
        what = "nothing more" if answer.offset else "nothing here matches"
        among = f" among {answer.searched:,} items" if answer.certificate else ""
        near = f"; the nearest is {answer.nearest[0].distance} bits away, --all shows it" if answer.nearest else ""
        complain(f"{what}{among}{near}")
    elif answer.more:
        complain(f"there is more: --offset {answer.offset + len(answer.hits)}")
