"""One shard of an index: what an actor of a cluster holds, and what it answers. It knows nothing of the cluster.

A shard answers from the version that it is asked for. It opens the newest one when that is meant, from the files on
the disk alone, so that one that is started anew goes on like the one before.
"""

import secrets
import threading
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes, Gallery
from deepbinaries.errors import CorruptIndexError, Error
from deepbinaries.index.base import Found
from deepbinaries.index.catalogue import State
from deepbinaries.index.durable import own_errors, sync_folder
from deepbinaries.index.ids import Ids
from deepbinaries.index.manifest import REMEDY, damaged, read_manifest, shard_folder, shards_of
from deepbinaries.index.segments import FOLDER
from deepbinaries.index.snapshot import Snapshot, open_snapshot
from deepbinaries.index.verifying import Findings, disorder
from deepbinaries.index.writing import hide, merged, no_items, taken_up, write_items

_KEPT = 2  # versions that stay open: the newest, and the one that a question on its way may mean
_NUMBERS = 2**48  # that a segment's is drawn from


class Refusal(NamedTuple):
    """An error, as it travels from an actor to whoever asked."""

    kind: type[Error]
    problem: str
    next_step: str


class OtherVersion(NamedTuple):
    """What is answered instead when the version asked for cannot be opened any more."""

    newest: int


class Hits(NamedTuple):
    """What the queries found in a shard."""

    found: list[Found]
    n_visible: int  # items that could have been found
    rows_scanned: int


class Written(NamedTuple):
    """What a shard would be after a change, which is on the disk, and is nothing before it is committed."""

    state: State
    n_removed: int  # items that were there before


class Shard:
    """A shard with its files open; several threads may ask it."""

    def __init__(self, root: str, place: int):
        """Store where it is; the files are opened when something is asked, so that damage is an answer."""
        self._root, self._place = Path(root), place
        self._folder = shard_folder(self._root, place)
        self._versions: dict[str, Snapshot] = {}  # that are open, by the digest of their manifest; the newest last
        self._opening = threading.Lock()

    def ready(self) -> bool:
        """Whether it can be asked."""
        return True

    def ask(self, question: str, digest: str, *arguments: Any) -> Any:
        """What a version answers to a question, which is a method below; or `Refusal`, or `OtherVersion`."""
        try:
            with own_errors(self._root):
                snapshot = self._snapshot(digest)
                return snapshot if isinstance(snapshot, OtherVersion) else getattr(self, question)(snapshot, *arguments)
        except CorruptIndexError as error:
            return Refusal(CorruptIndexError, error.problem, REMEDY)
        except Error as error:
            return Refusal(type(error), error.problem, error.next_step)

    def search(self, snapshot: Snapshot, among: Sequence[str] | None, codes: Codes, k: int, with_ties: bool) -> Hits:
        """The k nearest items of each code, or with all that are as near as the last."""
        gallery = _gallery(snapshot, among)
        return Hits(snapshot.nearest(codes, k, gallery, with_ties=with_ties), gallery.n_visible, len(gallery))

    def range(self, snapshot: Snapshot, among: Sequence[str] | None, codes: Codes, radius: int) -> Hits:
        """Every item within a radius of each code."""
        gallery = _gallery(snapshot, among)
        return Hits(snapshot.within(codes, radius, gallery), gallery.n_visible, len(gallery))

    def codes_of(self, snapshot: Snapshot, ids: Sequence[str]) -> tuple[NDArray[np.bool_], Codes]:
        """Which of some distinct ids are there, (n,), and the codes of those."""
        wanted, order = Ids.sorted(ids)
        rows = np.empty(len(ids), dtype=np.int64)
        rows[order] = snapshot.find(wanted)
        return rows >= 0, snapshot.codes_at(rows[rows >= 0])

    def ids_after(self, snapshot: Snapshot, last: str, n: int) -> list[str]:
        """The first n ids behind one, in the order of bytes; "" is before all of them."""
        snapshot.prove()
        found: list[str] = []
        for segment, record in zip(snapshot.segments, snapshot.state.segments, strict=True):
            begin = bisect_right(segment.ids, last)
            hidden = record.hidden_rows[np.searchsorted(record.hidden_rows, begin) :]
            rows = np.arange(begin, min(record.rows, begin + n + len(hidden)))
            found += segment.ids.texts(np.setdiff1d(rows, hidden, assume_unique=True)[:n])
        return sorted(found)[:n]

    def write(
        self, snapshot: Snapshot, ids: Sequence[str], codes: Codes | None, everything: bool, version: int
    ) -> Written:
        """Write the segment of a change: ids that get these codes, or that are removed where there are none.

        `everything` takes up all segments. Others see nothing of it until the manifest of that version names it.
        """
        items, order = Ids.sorted(ids)
        rows = snapshot.find(items)
        rows = rows[rows >= 0]
        records = hide(snapshot, rows)
        new = no_items(snapshot.state.bits) if codes is None else (items, codes.columns()[:, order])
        if not (rows.size or len(new[0]) or everything):
            return Written(snapshot.state, n_removed=0)
        places = range(len(records)) if everything else taken_up(records, len(new[0]))
        kept = [record for place, record in enumerate(records) if place not in places]
        # Drawn, since an attempt that was given up may still be writing: no two of them share a file.
        before = replace(snapshot.state, next_number=secrets.randbelow(_NUMBERS))
        together = merged(snapshot, records, list(places), new)
        if len(together[0]):
            kept.append(write_items(self._folder, before, together))
            sync_folder(self._folder / FOLDER)
        return Written(State(before.bits, version, next_number=0, segments=tuple(kept)), len(rows))

    def verify(self, snapshot: Snapshot) -> Findings | OtherVersion:
        """Read every byte of a version and say what is not as it was written."""
        state, problems, n_bytes = snapshot.state, [], 0
        try:
            afresh = open_snapshot(self._folder, state)
            for segment in afresh.segments:
                segment.prove(afresh=True)
                n_bytes += segment.n_bytes
            problems = disorder(afresh) or self._strangers(afresh)
        except FileNotFoundError as error:
            manifest = read_manifest(self._root)
            if manifest.shards[self._place] != state:
                return OtherVersion(manifest.version)
            problems = [f"{error.filename} is not there"]
        return Findings(tuple(problems), state.version, len(snapshot), len(state.segments), n_bytes)

    def _strangers(self, snapshot: Snapshot) -> list[str]:
        """Whether there are items that belong to another shard, where nobody would look for them."""
        n_shards = len(read_manifest(self._root).shards)
        for segment in snapshot.segments:
            strange = np.flatnonzero(shards_of(segment.ids, n_shards) != self._place)
            if strange.size:
                return [f"the item {segment.ids[int(strange[0])]!r} is in {self._folder}, where it does not belong"]
        return []

    def _snapshot(self, digest: str) -> Snapshot | OtherVersion:
        with self._opening:
            while digest not in self._versions:
                manifest = read_manifest(self._root)
                if manifest.digest != digest:
                    return OtherVersion(manifest.version)
                state, newest = manifest.shards[self._place], next(reversed(self._versions.values()), None)
                try:
                    same = newest is not None and newest.state == state
                    opened = newest if newest is not None and same else open_snapshot(self._folder, state, newest)
                except FileNotFoundError as missing:
                    if read_manifest(self._root).digest == digest:  # else a writer has replaced it between both looks
                        raise damaged(self._root, f"{missing.filename} is not there") from None
                    continue
                self._versions = dict([*self._versions.items(), (digest, opened)][-_KEPT:])
            return self._versions[digest]


def given(answer: Any) -> Any:
    """An answer of `Shard.ask`; where it is a refusal, the error is raised here that was raised there."""
    if isinstance(answer, Refusal):
        raise answer.kind(answer.problem, next_step=answer.next_step)
    return answer


def _gallery(snapshot: Snapshot, among: Sequence[str] | None) -> Gallery:
    if among is None:
        return snapshot.gallery
    rows = snapshot.find(Ids.sorted(among)[0])
    return snapshot.gallery.only(rows[rows >= 0])
