"""A small life of an index, step by step, with what it holds after each; and ways to do it wrong.

    python workload.py ROOT [DEFECT]

lives it in ROOT/index and appends the number of each step that was acknowledged to ROOT/acknowledged.
"""

import os
import sys
from pathlib import Path

import numpy as np

from deepbinaries.codes import Codes
from deepbinaries.index import EmbeddedIndex, catalogue, durable, embedded
from deepbinaries.index.segments import segment_path

BITS = 16
STEPS = [
    ("add", {"b": 1}),
    ("add", {"a": 1, "c": 2}),
    ("remove", {"b": 0}),
    ("replace", {"a": 3, "d": 3, "e": 9}),
    ("remove", {"c": 0, "a": 0}),
    ("compact", {}),
    ("reopen", {}),
    ("add", {"é": 5, "0": 5}),
    ("replace", {"d": 65535}),
    ("remove", {"d": 0, "e": 0, "é": 0, "0": 0}),
    ("add", {"last": 7}),
]


def models() -> list[dict[str, int]]:
    """What the index holds after it was made, and after each step."""
    after: list[dict[str, int]] = [{}]
    for kind, items in STEPS:
        before = after[-1]
        gone = {id_: code for id_, code in before.items() if id_ not in items}
        after.append(gone if kind == "remove" else {**before, **items})
    return after


def codes(numbers: list[int]) -> Codes:
    packed = np.array(numbers, dtype="<u2").reshape(-1, 1).view(np.uint8)
    return Codes(packed, BITS)


def items_of(index: EmbeddedIndex) -> dict[str, int]:
    ids = list(index.ids())
    return dict(zip(ids, index.codes_of(ids).packed.copy().view("<u2")[:, 0].tolist(), strict=True))


def take(index: EmbeddedIndex, kind: str, items: dict[str, int]) -> None:
    if kind == "compact":
        index.compact()
    elif kind == "remove":
        index.remove(list(items))
    else:
        getattr(index, kind)(list(items), codes(list(items.values())))


def live(folder: Path, acknowledge) -> None:
    index = EmbeddedIndex(folder, bits=BITS, writable=True)
    try:
        acknowledge(0)
        for number, (kind, items) in enumerate(STEPS, start=1):
            if kind == "reopen":
                index.close()
                index = EmbeddedIndex(folder, writable=True)
            else:
                take(index, kind, items)
            acknowledge(number)
    finally:
        index.close()


def no_sync_of_the_segment():
    durable.sync_file = lambda _descriptor: None


def no_sync_of_the_folder():
    embedded.sync_folder = lambda _folder: None


def no_sync_of_the_catalogue():
    catalogue.DURABILITY = "OFF"


def commits_left_in_the_log():
    """No defect: what is committed is safe, in the log as in the database."""
    catalogue.Catalogue.empty_log = lambda _self: None


def late_sync_of_the_log():
    commits_left_in_the_log()
    catalogue.DURABILITY = "NORMAL"


def commit_before_the_segment_is_in_place():
    write_items, write_receipt = embedded.write_items, embedded.write_receipt
    away = []

    def write_elsewhere(folder, state, items):
        record = write_items(folder, state, items)
        path = segment_path(folder, record.number)
        away.append((path.rename(folder / "late"), path))
        return record

    def bring_back(folder, state):
        while away:
            late, path = away.pop()
            late.rename(path)
        write_receipt(folder, state)

    embedded.write_items, embedded.write_receipt = write_elsewhere, bring_back


def removal_before_the_commit():
    commit = catalogue.Catalogue.commit

    def remove_first(self, before, after):
        old = {r.number for r in before.segments} - {r.number for r in after.segments}
        for number in old:
            segment_path(self._folder, number).unlink()
        commit(self, before, after)
        for number in old:
            segment_path(self._folder, number).touch()  # so that it can be removed where it should be

    catalogue.Catalogue.commit = remove_first


if __name__ == "__main__":
    root = Path(sys.argv[1])
    for defect in sys.argv[2:]:
        globals()[defect]()
    acknowledged = os.open(root / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    live(root / "index", lambda number: os.write(acknowledged, f"{number}\n".encode()))
