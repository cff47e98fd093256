"""Encoding a large collection: what is missing is cut into units, and workers write a shard of each.

This process alone says that a shard is done. A worker that dies leaves files that nobody counts, and another one does
its unit: nothing is lost, and nothing is there twice.
"""

import math
import os
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepbinaries.bulk.folder import Manifest, write_failures, writing
from deepbinaries.bulk.listing import Item, kind_of, list_items
from deepbinaries.bulk.shards import MOST_ITEMS, mark_done, next_number, read_shards
from deepbinaries.bulk.worker import Unit, Worker
from deepbinaries.bulk.workers import Workers
from deepbinaries.errors import UsageError
from deepbinaries.progress import track
from deepbinaries.search.models import LazyModel

SHARD_ITEMS = 1024  # what a worker that dies loses at most
UNITS_A_WORKER = 4  # at least, so that none waits long for the last one
MOST_DECODERS = 8


@dataclass
class Report:
    """What a run did."""

    items: int = 0  # pictures in the collection
    before: int = 0  # of these, done by earlier runs, failures included
    encoded: int = 0  # in this run
    failed: int = 0  # in this run
    shards: int = 0  # written in this run
    failures: Counter[str] = field(default_factory=Counter)  # pictures without a code, by reason; of all runs
    left_out: Counter[str] = field(default_factory=Counter)  # what the collection holds that is no picture with an id
    seconds: float = 0.0


def encode_collection(
    source: str | Path,
    shards: str | Path,
    model: LazyModel,
    *,
    kind: str | None = None,
    workers: Workers | None = None,
    shard_items: int = SHARD_ITEMS,
    retry_failed: bool = False,
    id_column: str | None = None,
    picture_column: str | None = None,
    progress: bool = True,
    report: Report | None = None,
) -> Report:
    """Write the codes of all pictures of a collection to a folder of shards; run again, only what is missing is done.

    `source` is a folder of pictures, of tar files or of parquet files, or one of those files; `kind` says which, where
    it is not clear. Pictures that could not be read are tried again with `retry_failed`. On a cluster of several
    machines all of them have to see both folders, and the model's, under the same names. A `report` that is given is
    filled as the run goes on.
    """
    began, report, workers = time.monotonic(), report or Report(), workers or Workers()
    if not 1 <= shard_items <= MOST_ITEMS:
        raise UsageError(f"{shard_items:,} pictures make no shard", next_step=f"give 1 to {MOST_ITEMS:,}")
    source, folder = Path(source), Path(shards).absolute()
    kind = kind or kind_of(source)
    with writing(folder, Manifest.of(source, kind, model, id_column=id_column, picture_column=picture_column)):
        listing = list_items(source, kind, apart=[folder], id_column=id_column, picture_column=picture_column)
        report.items, report.left_out = len(listing.items), listing.left_out
        left, failures = _missing(listing.items, folder, retry_failed)
        report.before = report.items - len(left)
        units = _units(left, next_number(folder), _size(len(left), workers.n, shard_items))
        encoded = _encoded(units, folder, model, workers)
        with closing(encoded):
            mode = "" if progress else "quiet"
            for name, marker in track(encoded, "encoding shards", total=len(units), mode=mode):
                mark_done(folder, name, marker)
                failures |= marker["failures"]
                report.encoded += marker["items"]
                report.failed += len(marker["failures"])
                report.shards += 1
        write_failures(folder, failures)
    report.failures = Counter(failures.values())
    report.seconds = time.monotonic() - began
    return report


def _missing(items: Sequence[Item], folder: Path, retry_failed: bool) -> tuple[list[Item], dict[str, str]]:
    """The items that are left to do, and why others have no code."""
    done: set[str] = set()
    failures: dict[str, str] = {}
    for shard in read_shards(folder):
        done.update(shard.ids)
        failures |= shard.failures
    failures = {} if retry_failed else {id_: reason for id_, reason in failures.items() if id_ not in done}
    return [item for item in items if item.id not in done and item.id not in failures], failures


def _size(n_items: int, workers: int, most: int) -> int:
    """How many pictures make a shard: few are shared out evenly."""
    return min(most, max(1, math.ceil(n_items / (UNITS_A_WORKER * workers)))) if workers else most


def _units(items: Sequence[Item], first: int, size: int) -> list[Unit]:
    starts = range(0, len(items), size)
    return [Unit(number, items[start : start + size]) for number, start in enumerate(starts, first)]


def _encoded(
    units: Sequence[Unit], folder: Path, model: LazyModel, workers: Workers
) -> Generator[tuple[str, dict[str, Any]], None, None]:
    """The name and the marker of each shard, as soon as its files are written."""
    if not units:
        return
    if workers.n:
        from deepbinaries.bulk.on_ray import encoded

        yield from encoded(units, folder, model, workers)
        return
    with closing(Worker(model, folder, decoders=min(MOST_DECODERS, os.cpu_count() or 1))) as worker:
        for unit in units:
            yield worker.encode(unit)
