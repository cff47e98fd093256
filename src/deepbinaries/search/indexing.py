"""Indexing a folder of photographs: only what is new or changed is read, only new content is decoded.

Work is committed in small portions. Whatever ends a run, the next one goes on from the last portion. Photographs are
only ever read.
"""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deepbinaries import __version__
from deepbinaries.codes import Codes
from deepbinaries.errors import DataError
from deepbinaries.index.durable import make_durably, own_errors
from deepbinaries.index.locking import WriterLock
from deepbinaries.progress import track
from deepbinaries.search.catalogue import ORPHANS, PICTURES, SENTENCES, Catalogue, File
from deepbinaries.search.generation import Generation
from deepbinaries.search.layout import CONFIG, NAME, Layout, claim_generation, make_folder, stored_layout
from deepbinaries.search.models import LazyModel
from deepbinaries.search.relevance import estimate
from deepbinaries.search.sentences import update_sentences
from deepbinaries.search.skipped import write_skipped
from deepbinaries.search.taking_up import Taken, take_up
from deepbinaries.search.walking import Seen, Walk, walk
from deepbinaries.vision.originals import local_time
from deepbinaries.vision.reading import reads_heic

PORTION = 64  # files that are committed together: what a killed run loses at most


@dataclass
class Report:
    """What a run did."""

    files: int = 0  # pictures in the folder and below
    done: int = 0  # of these, looked at so far
    unchanged: int = 0  # of these, not even opened
    recognised: int = 0  # opened, their content was known: moved, copied or touched
    encoded: int = 0  # decoded and encoded
    removed: int = 0  # files that are gone or excluded now
    sentences: int = 0  # of files that were read anew
    unsaid: int = 0  # sentences that stand beside no readable picture any more
    failures: Counter[str] = field(default_factory=Counter)  # files that cannot be read, by reason; of all runs
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def changed(self) -> bool:
        """Whether the index is another one than before."""
        return bool(self.recognised or self.encoded or self.removed or self.sentences or self.unsaid)


def index_folder(
    photographs: str | Path,
    model: LazyModel,
    *,
    index: str | Path | None = None,
    excludes: Sequence[str] = (),
    workers: int | None = None,
    progress: bool = True,
    report: Report | None = None,
) -> Report:
    """Bring the index of a folder of photographs up to date; it is made where there is none.

    `index` is its folder, `.deepbinaries` inside the photographs' unless given. A `report` that is given is filled as
    the run goes on, for whoever wants to tell how far it came.
    """
    began, report = time.monotonic(), report or Report()
    root = Path(photographs)
    if not root.is_dir():
        raise DataError(f"{root} is no folder", next_step="give the folder of the photographs")
    place = Path(index) if index is not None else root / NAME
    make_folder(place, root)  # refuses a folder of something else before anything is written to it
    with ExitStack() as stack, own_errors(place):
        if not (place / CONFIG).exists():
            make_durably(place)
        stack.callback(WriterLock(place).release)
        stored, layout = stored_layout(place), make_folder(place, root)
        if layout != stored:
            if stored is not None and stored.generation:
                _refuse_other_photographs(stored, root)
            layout.write()
        home = claim_generation(layout, model.fingerprint, model.facts)
        generation = stack.enter_context(closing(Generation(home, bits=model.bits, writable=True)))
        if not layout.generation:
            layout = layout.switched_to(home.name)  # there is nothing else that could answer meanwhile
        found = walk(root, excludes=excludes, apart=[place])
        _Run(root, generation, model, found, report).update(workers, "" if progress else "quiet")
        update_sentences(root, generation, model, found, report)
        facts: dict[str, Any] = {"reader": _reader(), "finished": local_time(time.time_ns())}
        pictures = generation.indexes[PICTURES]
        if generation.catalogue.fact("null_of") != pictures.version:
            facts |= {"null": estimate(pictures, model.get()).to_json(), "null_of": pictures.version}
        generation.catalogue.note(**facts)
        if layout.generation != home.name:
            layout.switched_to(home.name)
        report.failures = write_skipped(generation.catalogue, place)
    report.seconds = time.monotonic() - began
    return report


class _Run:
    """The files of one run: those that are there, and those that are known."""

    def __init__(self, root: Path, generation: Generation, model: LazyModel, found: Walk, report: Report):
        self.root, self.generation, self.model, self.found, self.report = root, generation, model, found, report
        self.catalogue = generation.catalogue
        self.before = {file.path: file for file in self.catalogue.files()}
        if not found.pictures and any(file.id for file in self.before.values()):
            raise DataError(
                f"{root} holds no picture any more, its index knows {len(self.before):,} files",
                next_step="is the disk in place? If they are gone for good, remove the index",
            )

    def update(self, workers: int | None, mode: str) -> None:
        """Take up what is new, then forget what is gone: a file that was moved is both, and is recognised."""
        again = self.catalogue.fact("reader") != _reader()  # it may read what the last one could not
        left = [seen for seen in self.found.pictures if not self._is_known(seen, again)]
        self.report.files = len(self.found.pictures)
        self.report.unchanged = self.report.done = self.report.files - len(left)
        self._refuse()
        known = self.catalogue.ids()
        with closing(take_up(self.root, left, known, self.model, workers=workers)) as taken:
            portion: list[Taken] = []
            for one in track(taken, "indexing pictures", total=len(left), mode=mode):
                portion.append(one)
                if len(portion) >= PORTION:
                    known |= self._commit(portion)
                    portion = []
            self._commit(portion)
        self._forget()

    def _is_known(self, seen: Seen, again: bool) -> bool:
        before = self.before.get(seen.path)
        same = before is not None and (before.size, before.changed) == (seen.size, seen.changed)
        return same and before is not None and (before.id is not None or not again)

    def _refuse(self) -> None:
        """Note what the walk has refused."""
        refused = (Taken(Seen(path, -1, 0), reason=reason) for path, reason in self.found.refused.items())
        files = [self._file(one) for one in refused]
        new = [file for file in files if self.before.get(file.path) != file]
        if new:
            self._put(new)

    def _commit(self, portion: Sequence[Taken]) -> set[str]:
        """Write a portion: codes first, then rows; the ids that are known from then on."""
        new = {one.id: one for one in portion if one.id and one.item and one.small and one.values is not None}
        if new:
            self.catalogue.begin(PICTURES, new)
            values = np.stack([one.values for one in new.values() if one.values is not None])
            self.generation.indexes[PICTURES].replace(list(new), Codes.from_values(values))
        if portion:
            self._put([self._file(one) for one in portion], list(new.values()))
            self.generation.settle()
        self.report.done += len(portion)
        self.report.encoded += len(new)
        self.report.recognised += sum(one.id is not None and one.item is None for one in portion)
        return set(new)

    def _put(self, files: Sequence[File], new: Sequence[Taken] = ()) -> None:
        """Write rows. What their paths held before may have lost its last file by that."""
        earlier = {before.id for file in files if (before := self.before.get(file.path)) and before.id}
        if orphans := earlier - {file.id for file in files}:
            self.catalogue.begin(ORPHANS, orphans)
        items = [one.item for one in new if one.item]
        self.catalogue.put(files, items, {one.id: one.small for one in new if one.id and one.small})

    def _file(self, one: Taken) -> File:
        found, path = one.found, one.seen.path
        before = self.before.get(path)
        size, changed = (found.size, found.changed) if found else (-1, one.seen.changed)
        since = ""
        if one.reason:
            since = before.since if before and before.reason == one.reason else local_time(time.time_ns())
        said = before.said if before else ()  # brought up to date with all others, later
        return File(path, size, changed, local_time(changed), one.id, one.reason, since, said)

    def _forget(self) -> None:
        """Forget files that are gone, and pictures that no file holds any more."""
        there = {seen.path for seen in self.found.pictures} | self.found.refused.keys()
        hidden = tuple(f"{folder}/" for folder in self.found.unreadable)  # nothing is known of what is in there
        gone = [path for path in self.before if path not in there and not path.startswith(hidden)]
        self.report.removed = sum(self.before[path].id is not None for path in gone)
        if gone:
            self.catalogue.begin(ORPHANS, [file.id for path in gone if (file := self.before[path]).id])
            self.catalogue.begin(SENTENCES, self.catalogue.ids_beside(gone))
            self.catalogue.remove_files(gone)
        for some in _portions(self.catalogue.without_file()):
            self.catalogue.begin(PICTURES, some)
            self.catalogue.remove_items(some)
            self.generation.settle()
        self.generation.settle()
        if self.catalogue.pending(ORPHANS):
            self.catalogue.settle(ORPHANS)


def _refuse_other_photographs(stored: Layout, root: Path) -> None:
    """Raise where no file of an index is in a folder: photographs may have moved, but others would replace them all."""
    with closing(Catalogue(stored.home)) as catalogue:
        files = [file for file in catalogue.files() if file.id is not None]
    if files and not any(_has_size(root / file.path, file.size) for file in files):
        raise DataError(
            f"{stored.folder} is the index of {stored.photographs}, and {root} holds none of its photographs",
            next_step="give --index another folder, or remove that index if it is not needed any more",
        )


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def _reader() -> str:
    """What decides about which files can be read."""
    return f"{__version__} {reads_heic()}"


def _portions(ids: list[str], size: int = 1000) -> Iterable[list[str]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))
