"""`EmbeddedIndex`: codes in a folder, searched in the process that opens it. No server, no other package.

    catalogue.db             which segments there are: the one place of commits (`deepbinaries.index.catalogue`)
    segments/00000001.codes  codes and ids, written once (`deepbinaries.index.segments`)
    committed-….json         the receipt of the last commit (`deepbinaries.index.receipts`)
    lock                     held by the process that writes
    trash/                   files of changes that were cut short; emptied when a writer opens the index again

A change writes its segment, syncs it, gives it its name, syncs the folder, commits, and writes the receipt. Only then
are segments removed that are no longer needed. So whatever is cut where, the index is as it was before or after.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Self

import numpy as np

from deepbinaries.codes import MAX_BITS, Codes, Gallery
from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.index.around import Around, Selection, around
from deepbinaries.index.base import Answer, answer
from deepbinaries.index.catalogue import FILE, Catalogue, State
from deepbinaries.index.copying import copy
from deepbinaries.index.durable import corrupt, own_errors, sync_folder
from deepbinaries.index.folders import create, has_traces, make_folders, tidy
from deepbinaries.index.ids import Ids
from deepbinaries.index.locking import WriterLock, refuse_network_disk
from deepbinaries.index.opened import may_read, may_write
from deepbinaries.index.receipts import Seen, newest_receipt, receipt_path, write_receipt
from deepbinaries.index.segments import FOLDER, segment_path
from deepbinaries.index.snapshot import Rows, Snapshot, open_snapshot
from deepbinaries.index.verifying import Findings, verify
from deepbinaries.index.writing import Items, hide, merged, no_items, taken_up, write_items

_ATTEMPTS = 100  # to open a version while a writer replaces one after the other


class EmbeddedIndex:
    """An index in a folder. One process may write while others read; each answer comes from one version.

    An object may be used by several threads, and not by a process that was forked off with it.
    """

    def __init__(
        self,
        where: str | Path,
        *,
        bits: int | None = None,
        writable: bool = False,
        allow_network_disk: bool = False,
    ):
        """Open the index in a folder; with `bits` and `writable`, one is made where there is none."""
        self.folder = Path(where)
        self._process, self._closed, self._broken = os.getpid(), False, False
        self._changing = threading.RLock()
        self._lock: WriterLock | None = None
        self._catalogue: Catalogue | None = None
        if bits is not None and not 1 <= bits <= MAX_BITS:
            raise UsageError(f"bits={bits} is outside 1..{MAX_BITS}", next_step="64 is a good start")
        with own_errors(self.folder):
            if not allow_network_disk:
                refuse_network_disk(self.folder)
            if writable and bits is not None:
                make_folders(self.folder)
            if not (self.folder / FOLDER).is_dir():
                raise self._absent()
            if writable:
                self._lock = WriterLock(self.folder)
            try:
                self._open(bits)
            except BaseException:
                self._release()
                raise

    def add(self, ids: Sequence[str], codes: Codes) -> None:
        """Add new items. When this returns they survive kill and power cut; an id that is there is refused."""
        self._put(ids, codes, replacing=False)

    def replace(self, ids: Sequence[str], codes: Codes) -> None:
        """Give items these codes, whether they are there already or not: safe to repeat."""
        self._put(ids, codes, replacing=True)

    def remove(self, ids: Sequence[str]) -> int:
        """Remove items and say how many of them were there; the others are no error."""
        with self._changing:
            catalogue = self._may_write()
            rows = _rows(self._snapshot, ids)
            if rows.size:
                self._change(catalogue, rows, no_items(self.bits))
            return len(rows)

    def compact(self) -> None:
        """Write everything into one segment, without what was removed: the fastest to search."""
        with self._changing:
            catalogue = self._may_write()
            segments = self._snapshot.state.segments
            if len(segments) > 1 or any(record.hidden for record in segments):
                self._change(catalogue, np.empty(0, dtype=np.int64), no_items(self.bits), everything=True)

    def search(self, codes: Codes, k: int, *, among: Sequence[str] | None = None, with_ties: bool = False) -> Answer:
        """The k nearest items of each code, exact, in (distance, id) order.

        `among` restricts the search to some ids. `with_ties` gives all items at the last distance, so more than k.
        """
        began = time.perf_counter()
        snapshot = self._current()
        gallery = self._gallery(snapshot, among)
        found = snapshot.nearest(codes, k, gallery, with_ties=with_ties)
        whole, n = snapshot.state.bits, gallery.n_visible
        radius = [one.distances[-1] if len(one.ids) < n else whole for one in found]
        return answer(found, radius, rows_scanned=len(gallery), began=began, version=snapshot.state.version)

    def select(self, ids: Sequence[str] | None = None) -> Selection:
        """Some items, or all of them, as they are now, for `around`."""
        snapshot = self._current()
        return Selection(snapshot, self._gallery(snapshot, ids))

    def around(self, code: Codes, k: int, *, among: Selection | None = None) -> Around:
        """What `search` finds for one code with all ties, and the codes of it: for whoever orders it anew."""
        if len(code) != 1:
            raise UsageError(f"{len(code)} codes are not one", next_step="ask for one code at a time")
        return around(code, k, self.select() if among is None else among)

    def range(self, codes: Codes, radius: int, *, among: Sequence[str] | None = None) -> Answer:
        """Every item within a radius of each code, exact, in (distance, id) order."""
        began = time.perf_counter()
        snapshot = self._current()
        gallery = self._gallery(snapshot, among)
        found = snapshot.within(codes, radius, gallery)
        radii = [min(radius, snapshot.state.bits)] * len(found)
        return answer(found, radii, rows_scanned=len(gallery), began=began, version=snapshot.state.version)

    def codes_of(self, ids: Sequence[str]) -> Codes:
        """The codes of items, in the order of the ids; an id that is not there is refused by name."""
        snapshot = self._current()
        wanted = _distinct(ids)
        rows = dict(zip(map(wanted.__getitem__, range(len(wanted))), snapshot.find(wanted).tolist(), strict=True))
        for id_ in ids:
            if rows[id_] < 0:
                raise DataError(f"there is no item {id_!r} in {self.folder}", next_step="add it first")
        return snapshot.codes_at(np.array([rows[id_] for id_ in ids], dtype=np.int64))

    def ids(self) -> Iterator[str]:
        """Every id, in the order of their bytes."""
        return self._current().all_ids()

    def verify(self) -> Findings:
        """Read every byte of the index and say what is not as it was written."""
        self._may_read()
        return verify(self.folder)

    def backup(self, target: str | Path) -> None:
        """Write this version of the index to a new folder, which is an index itself."""
        copy(self._current(), Path(target))

    @property
    def bits(self) -> int:
        """The length of a code."""
        return self._snapshot.state.bits

    @property
    def version(self) -> int:
        """One more after every change."""
        return self._current().state.version

    def __len__(self) -> int:
        return len(self._current())

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and len(_rows(self._current(), [id_])) == 1

    def __repr__(self) -> str:
        return f"EmbeddedIndex({str(self.folder)!r}, {self.bits} bits)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder; answers that were given stay valid."""
        with self._changing:
            if not self._closed:
                self._closed = True
                self._release()

    def _open(self, bits: int | None) -> None:
        traces = has_traces(self.folder)
        if not (self.folder / FILE).exists() and (traces or not self._lock or bits is None):
            raise corrupt(self.folder, "its catalogue is gone") if traces else self._absent()
        if self._lock:
            if traces:
                self._newest(None)  # before there is a connection that would tidy up a damaged log
            self._catalogue = Catalogue(self.folder, writable=True)
            if bits is not None and not traces and self._catalogue.read() is None:
                create(self.folder, self._catalogue, State(bits, version=1, next_number=1))
        self._snapshot, self._seen = self._newest(None)
        if bits is not None and bits != self.bits:
            raise UsageError(
                f"the codes in {self.folder} have {self.bits} bits, not {bits}",
                next_step="open it without bits, or make another index",
            )
        if self._catalogue:
            tidy(self.folder, self._snapshot.state)
            self._catalogue.empty_log()
            write_receipt(self.folder, self._snapshot.state)

    def _read(self) -> State | None:
        if self._catalogue:
            return self._catalogue.read()
        # A reader keeps no connection: it looks seldom, and holds nothing that a writer would have to wait for.
        with closing(Catalogue(self.folder, writable=False)) as catalogue:
            return catalogue.read()

    def _newest(self, earlier: Snapshot | None) -> tuple[Snapshot, Seen]:
        """The newest version with its files open. They may be replaced between the look and the opening; look again."""
        for _ in range(_ATTEMPTS):
            acknowledged = newest_receipt(self.folder)  # before the catalogue: it may grow in between
            seen = Seen(receipt_path(self.folder, acknowledged))
            state = self._read()
            if state is None:
                raise corrupt(self.folder, "its catalogue is empty") if has_traces(self.folder) else self._absent()
            if state.version < acknowledged:
                if not seen.still_there():
                    continue  # the index was removed and made anew
                raise corrupt(
                    self.folder,
                    f"its catalogue has forgotten changes: version {acknowledged} was there, this is {state.version}",
                )
            try:
                return open_snapshot(self.folder, state, earlier), seen
            except FileNotFoundError as missing:
                if self._read() == state:
                    raise corrupt(self.folder, f"{missing.filename} is not there") from None
        raise Error(f"{self.folder} changes too fast to be read", next_step="try again")

    def _current(self) -> Snapshot:
        """The version to answer from: the writer's own, or else the newest.

        A writer removes the receipt of the last version before it acknowledges the next: while the same one is there,
        no version is newer, and looking at it is twenty times as fast as asking SQLite.
        """
        self._may_read()
        if self._lock is None and not self._seen.still_there():
            with self._changing, own_errors(self.folder):
                snapshot, seen = self._newest(self._snapshot)
                if snapshot.state != self._snapshot.state:
                    self._snapshot = snapshot
                self._seen = seen  # last: until then, other threads look for themselves
        return self._snapshot

    def _gallery(self, snapshot: Snapshot, among: Sequence[str] | None) -> Gallery:
        if among is None:
            return snapshot.gallery
        return snapshot.gallery.only(_rows(snapshot, among))

    def _put(self, ids: Sequence[str], codes: Codes, *, replacing: bool) -> None:
        if codes.bits != self.bits or len(codes) != len(_several(ids)):
            raise UsageError(
                f"{len(ids)} ids and {codes!r} do not fit an index of {self.bits} bits",
                next_step="give one id for each code, and codes of this length",
            )
        with self._changing:
            catalogue = self._may_write()
            new, order = Ids.sorted(ids)
            rows = self._snapshot.find(new)
            if not replacing and (rows >= 0).any():
                known = new[int(np.argmax(rows >= 0))]
                raise UsageError(f"the id {known!r} is in {self.folder} already", next_step="use replace, or remove it")
            if len(new):
                self._change(catalogue, rows[rows >= 0], (new, codes.columns()[:, order]))

    def _change(self, catalogue: Catalogue, removed: Rows, new: Items, *, everything: bool = False) -> None:
        """Commit a change: rows to remove, items to add, and segments that are written anew because of it."""
        before = self._snapshot.state
        records = hide(self._snapshot, removed)
        places = list(range(len(records))) if everything else taken_up(records, len(new[0]))
        kept = [record for place, record in enumerate(records) if place not in places]
        with own_errors(self.folder):
            items = merged(self._snapshot, records, places, new)
            if len(items[0]):
                kept.append(write_items(self.folder, before, items))
            # From here on it is not known what is on the disk if something fails: the next change begins by looking.
            self._broken = True
            sync_folder(self.folder / FOLDER)
            after = State(before.bits, before.version + 1, before.next_number + 1, tuple(kept))
            catalogue.commit(before, after)
            catalogue.empty_log()
            write_receipt(self.folder, after)
            self._snapshot = open_snapshot(self.folder, after, self._snapshot)
            for place in places:
                segment_path(self.folder, records[place].number).unlink()
            self._broken = False

    def _may_read(self) -> None:
        may_read(f"the index {self.folder}", closed=self._closed, process=self._process)

    def _may_write(self) -> Catalogue:
        self._may_read()
        may_write(f"the index {self.folder}", writable=self._lock is not None)
        if self._broken or self._catalogue is None:
            self._open_again()
            return self._may_write()
        return self._catalogue

    def _open_again(self) -> None:
        """Find out how far a change came that failed: the index is as before or after it, and goes on from there."""
        with own_errors(self.folder):
            if self._catalogue:
                self._catalogue.close()
                self._catalogue = None
            self._open(None)
        self._broken = False

    def _release(self) -> None:
        if self._catalogue:
            self._catalogue.close()
        if self._lock:
            self._lock.release()
            self._lock = None

    def _absent(self) -> DataError:
        return DataError(
            f"there is no index in {self.folder}",
            next_step="check the path, or make one: deepbinaries import-codes, or bits and writable=True in Python",
        )


def _rows(snapshot: Snapshot, ids: Sequence[str]) -> Rows:
    """The rows of those ids that are there, each once."""
    rows = snapshot.find(_distinct(ids))
    return rows[rows >= 0]


def _distinct(ids: Sequence[str]) -> Ids:
    return Ids.sorted(list(dict.fromkeys(_several(ids))))[0]


def _several(ids: Sequence[str]) -> Sequence[str]:
    if isinstance(ids, str):
        raise UsageError(f"{ids!r} is one text, not several ids", next_step="give a list of ids")
    return ids
