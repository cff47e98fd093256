"""`deepbinaries status` and `verify`: how an index of photographs is, and whether it is whole."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from deepbinaries.cli.collection_options import IndexAt
from deepbinaries.cli.output import AsJson, complain, write_json, write_table, write_text
from deepbinaries.cli.search_codes import codes_at, is_database, shown_place

if TYPE_CHECKING:
    from deepbinaries.index.milvus import MilvusIndex
    from deepbinaries.index.postgres import PostgresIndex
    from deepbinaries.index.ray import RayIndex

FAILED = 1  # the exit code


def status(
    index: IndexAt = None,
    failures: Annotated[bool, typer.Option("--failures", help="List the files that could not be read.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what an index holds, and what could not be read.

    Example: deepbinaries status --index ~/Pictures
    """
    if (codes := codes_at(index)) is not None:
        with codes:
            facts = {"index": shown_place(str(index)), "items": len(codes), "bits": codes.bits}
        if as_json:
            write_json(facts)
        else:
            write_text("\n".join(f"{name}: {value}" for name, value in facts.items()))
        return
    from collections import Counter

    from deepbinaries.search import Collection
    from deepbinaries.search.layout import SKIPPED
    from deepbinaries.search.skipped import shown

    with Collection(index) as collection:
        facts, failed = collection.status(), collection.failures()
        reasons = Counter(file.reason for file in failed)
        listed = [{"path": shown(file.path), "reason": file.reason, "since": file.since} for file in failed]
        if as_json:
            write_json(facts | {"reasons": dict(reasons)} | ({"failed": listed} if failures else {}))
            return
        if failures:
            write_table(["file", "reason", "since"], [list(one.values()) for one in listed])
            return
        names = {"n_bytes": "bytes", "model_folder": "model folder"}
        write_text("\n".join(f"{names.get(name, name)}: {value}" for name, value in facts.items()))
        for reason, count in reasons.most_common():
            complain(f"{count:,} skipped: {reason}")
        if reasons:
            complain(f"they are listed in {collection.folder / SKIPPED}")
        if facts["finished"] is None:
            complain("the first run has not finished; run deepbinaries index again to go on")


def verify(index: IndexAt = None, as_json: AsJson = False) -> None:
    """Read every byte of an index and say whether it is as it was written; the exit code is 1 where it is not.

    Photographs are not read. Example: deepbinaries verify --index ~/Pictures
    """
    from deepbinaries.search.verifying import Proof
    from deepbinaries.search.verifying import verify as prove

    if is_database(index):
        from deepbinaries.index import open_index

        with open_index(str(index)) as opened:
            found = cast("PostgresIndex | MilvusIndex | RayIndex", opened).verify()
        proof = Proof(found.problems, found.items, found.n_bytes)
    else:
        proof = prove(index)
    if as_json:
        write_json({"sound": proof.sound, "items": proof.items, "n_bytes": proof.n_bytes, "problems": proof.problems})
    elif proof.sound:
        write_text(f"{proof.items:,} codes are sound")
    for problem in proof.problems:
        complain(problem)
    if not proof.sound:
        complain("restore a copy, or remove the index and run deepbinaries index again: photographs are not touched")
        raise typer.Exit(FAILED)
