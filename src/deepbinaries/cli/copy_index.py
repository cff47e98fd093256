"""`deepbinaries copy-index`: an index of codes on another engine, proven to answer alike."""

from pathlib import Path
from typing import Annotated

import typer

from deepbinaries.cli.output import AsJson, complain, write_json, write_text
from deepbinaries.cli.search_codes import is_database, shown_place
from deepbinaries.errors import UsageError

FAILED = 1  # the exit code


def copy_index(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The index to copy: a folder or a database.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Where to copy it; made where there is none.")],
    verify: Annotated[
        int, typer.Option(min=0, metavar="N", help="Ask both N random queries; the exit code is 1 if they differ.")
    ] = 100,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the queries.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Copy the codes of an index to another place or engine, and prove that both answer alike.

    Run again, it goes on where it was and writes only what differs.
    Example: deepbinaries copy-index codes-index postgresql://db.example.org/photos --verify 1000
    """
    from deepbinaries.index import compare_answers, copy_items, open_index

    _refuse_photographs(target)
    with open_index(source) as there, open_index(target, bits=there.bits, writable=True) as here:
        done = copy_items(there, here)
        found = compare_answers(there, here, verify, seed=seed)
    if as_json:
        facts = {"from": shown_place(source), "to": shown_place(target), **vars(done)}
        write_json(facts | {"queries": verify, "ids_compared": found.ids_compared, "problems": found.problems})
    elif found.alike:
        write_text(f"{done.copied:,} codes copied, {done.unchanged:,} were there already{_proof(verify)}")
    for problem in found.problems:
        complain(problem)
    if not found.alike:
        complain(f"{shown_place(source)} may have changed meanwhile; run it again, and verify both indexes")
        raise typer.Exit(FAILED)


def _proof(queries: int) -> str:
    return f"; {queries:,} random queries are answered alike" if queries else ""


def _refuse_photographs(target: str) -> None:
    """A collection of photographs counts its codes; others among them would be damage."""
    from deepbinaries.search.layout import CONFIG, find_folder

    if not is_database(target) and (find_folder(Path(target)) / CONFIG).exists():
        raise UsageError(f"{target} is an index of photographs", next_step="copy codes to a folder of their own")
