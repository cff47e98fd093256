"""`deepbinaries status` and `verify`: how an index of photographs is, and whether it is whole."""

import typer

from deepbinaries.cli.collection_options import IndexAt
from deepbinaries.cli.output import AsJson, complain, write_json, write_text

FAILED = 1  # the exit code


def status(index: IndexAt = None, as_json: AsJson = False) -> None:
    """Say what an index of photographs holds, and what could not be read.

    Example: deepbinaries status --index ~/Pictures
    """
    from collections import Counter

    from deepbinaries.search import Collection
    from deepbinaries.search.layout import SKIPPED

    with Collection(index) as collection:
        facts = collection.status()
        reasons = Counter(file.reason for file in collection.failures())
        if as_json:
            write_json(facts | {"reasons": dict(reasons)})
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
    from deepbinaries.search.verifying import verify as prove

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
