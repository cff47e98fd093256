"""`RayIndex`: codes in shards, each searched by an actor of a Ray cluster, for more items than one machine can search.

An index is a folder (`deepbinaries.index.manifest`) on a disk that all machines of the cluster see, under the same
path. An id belongs to the shard that its fingerprint says. Each shard is opened by one actor or by several replicas
(`deepbinaries.index.shard`), with the same segments and the same kernel as an index in a folder, and this process
merges what they find (`deepbinaries.index.merging`): the answer is the same, in the same order, with the same ties.

Every question names one version, so that all shards answer from it. If an actor ends in the middle, another replica
is asked, or the same one when Ray has started it anew; if nobody answers in time, the call is an error that names the
shard. There are no partial answers.

One process writes at a time; it holds the lock of the folder. A change is spread over the shards, whose actors write
their segments, several machines at once; when all of them are on the disk, this process commits the change to all
shards in one step. An actor that ends meanwhile has changed nothing, and the change goes on with another.
"""

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import merge
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from deepbinaries.cluster import join
from deepbinaries.codes import MAX_BITS, Codes
from deepbinaries.errors import CorruptIndexError, DataError, Error, IndexBusyError, UsageError
from deepbinaries.index.base import Answer, answer
from deepbinaries.index.durable import make_durably, own_errors
from deepbinaries.index.ids import Ids
from deepbinaries.index.locking import WriterLock
from deepbinaries.index.manifest import (
    FILE,
    Manifest,
    commit,
    create,
    has_segments,
    read_manifest,
    remove_replaced,
    shards_of,
    tidy,
)
from deepbinaries.index.merging import all_within, nearest_of_all, nearest_with_ties
from deepbinaries.index.opened import may_read, may_write
from deepbinaries.index.ray_settings import Settings, parsed
from deepbinaries.index.shard import Hits, OtherVersion, Written
from deepbinaries.index.verifying import Findings

if TYPE_CHECKING:
    from deepbinaries.index.actors import Actors

_AT_ONCE = 10_000  # ids that each shard lists at a time
_PAUSE = 0.02  # seconds until a version is looked for again that was replaced meanwhile


class RayIndex:
    """An index in shards on a Ray cluster. One process may write while others read; threads may share an object."""

    def __init__(
        self,
        where: str | Path,
        *,
        bits: int | None = None,
        writable: bool = False,
        shards: int | None = None,
        replicas: int = 1,
        cpus: int = 0,
        patience: float = 60.0,
        address: str | None = None,
    ):
        """Open the index in a folder, or at `ray:FOLDER?shards=3&replicas=2`; settings in an address go first.

        With `bits` and `writable` one is made where there is none, with as many `shards` as the cluster has machines
        unless their number is given. `replicas` is how many actors open each shard, `cpus` how many cores each of
        them reserves (0 reserves none and uses one), `patience` how many seconds to wait for a shard that does not
        answer, and `address` the cluster, as `deepbinaries.cluster.join` takes it.
        """
        given = Settings(shards, replicas, cpus, patience, address)
        self.folder, self._settings = parsed(where, given)
        if bits is not None and not 1 <= bits <= MAX_BITS:
            raise UsageError(f"bits={bits} is outside 1..{MAX_BITS}", next_step="64 is a good start")
        self._process, self._closed = os.getpid(), False
        self._changing = threading.RLock()
        self._lock: WriterLock | None = None
        self._actors: Actors | None = None
        try:
            with own_errors(self.folder):
                if writable:
                    self._open_to_write(bits)
                self._seen = _look(self.folder), read_manifest(self.folder)  # in this order
            self._n_shards = len(self._seen[1].shards)
            self._check_found(bits)
            self._actors = self._start()
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
            self._may_write()
            return self._change({place: (some, None, False) for place, some in self._by_shard(_distinct(ids)).items()})

    def compact(self) -> None:
        """Write every shard into one segment, without what was removed: the fastest to search."""
        with self._changing:
            self._may_write()
            loose = [
                place
                for place, state in enumerate(self._current().shards)
                if len(state.segments) > 1 or any(record.hidden for record in state.segments)
            ]
            self._change({place: ([], None, True) for place in loose})

    def search(self, codes: Codes, k: int, *, among: Sequence[str] | None = None, with_ties: bool = False) -> Answer:
        """The k nearest items of each code, exact, in (distance, id) order.

        `among` restricts the search to some ids. `with_ties` gives all items at the last distance, so more than k.
        """
        began, nearest = time.perf_counter(), nearest_with_ties if with_ties else nearest_of_all
        manifest, hits = self._hits("search", codes, among, k, with_ties)
        found = [nearest([one.found[q] for one in hits], k) for q in range(len(codes))]
        n = sum(one.n_visible for one in hits)
        radius = [one.distances[-1] if len(one.ids) < n else self.bits for one in found]
        rows_scanned = sum(one.rows_scanned for one in hits)
        return answer(found, radius, rows_scanned=rows_scanned, began=began, version=manifest.version)

    def range(self, codes: Codes, radius: int, *, among: Sequence[str] | None = None) -> Answer:
        """Every item within a radius of each code, exact, in (distance, id) order."""
        began = time.perf_counter()
        manifest, hits = self._hits("range", codes, among, radius)
        found = [all_within([one.found[q] for one in hits]) for q in range(len(codes))]
        radii, rows_scanned = [min(radius, self.bits)] * len(found), sum(one.rows_scanned for one in hits)
        return answer(found, radii, rows_scanned=rows_scanned, began=began, version=manifest.version)

    def codes_of(self, ids: Sequence[str]) -> Codes:
        """The codes of items, in the order of the ids; an id that is not there is refused by name."""
        wanted = _distinct(ids)
        packed = np.empty((len(wanted), -(-self.bits // 8)), dtype=np.uint8)
        for rows, there, codes in self._stored(wanted):
            if not there.all():
                missing = wanted[rows[int(np.argmin(there))]]
                raise DataError(f"there is no item {missing!r} in {self.folder}", next_step="add it first")
            packed[rows] = codes.packed
        places = dict(zip(wanted, range(len(wanted)), strict=True))
        return Codes(packed[[places[id_] for id_ in ids]], self.bits)

    def ids(self) -> Iterator[str]:
        """Every id, in the order of their bytes; those that are added or removed meanwhile may be among them or not."""
        self._may_read()
        return merge(*map(self._ids_of, range(self._n_shards)))

    def verify(self) -> Findings:
        """Read every byte of all shards and say what is not as it was written."""
        try:
            manifest, found = self._ask("verify", dict.fromkeys(range(self._n_shards), ()), unhurried=True)
        except CorruptIndexError as error:
            return Findings((error.problem,))
        each: list[Findings] = list(found.values())
        return Findings(
            tuple(problem for one in each for problem in one.problems),
            manifest.version,
            sum(one.items for one in each),
            sum(one.segments for one in each),
            sum(one.n_bytes for one in each),
        )

    @property
    def bits(self) -> int:
        """The length of a code."""
        return self._seen[1].bits

    @property
    def version(self) -> int:
        """One more after every change."""
        return self._current().version

    def __len__(self) -> int:
        return len(self._current())

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and all(there.all() for _, there, _ in self._stored([id_]))

    def __repr__(self) -> str:
        return f"RayIndex({str(self.folder)!r}, {self.bits} bits, {self._n_shards} shards)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the actors and let go of the folder; answers that were given stay valid."""
        with self._changing:
            if not self._closed and os.getpid() == self._process:
                self._closed = True
                self._release()

    def _open_to_write(self, bits: int | None) -> None:
        """Take the right to write, and make the index where it is meant to be made."""
        if bits is not None and not (self.folder / FILE).exists():
            if (self.folder / "segments").is_dir():
                raise UsageError(
                    f"{self.folder} is an index that is not in shards", next_step="copy it to a folder of its own"
                )
            make_durably(self.folder)
        if not self.folder.is_dir():
            read_manifest(self.folder)  # says that there is none
        self._lock = WriterLock(self.folder)
        if bits is not None and not (self.folder / FILE).exists() and not has_segments(self.folder):
            create(self.folder, bits, self._settings.shards or self._n_machines())
        tidy(self.folder, read_manifest(self.folder))

    def _check_found(self, bits: int | None) -> None:
        if bits not in (None, self.bits):
            raise UsageError(
                f"the codes in {self.folder} have {self.bits} bits, not {bits}",
                next_step="open it without bits, or make another index",
            )
        if self._settings.shards not in (None, self._n_shards):
            raise UsageError(
                f"the index {self.folder} has {self._n_shards} shards, not {self._settings.shards}",
                next_step="leave shards away, or copy it to a new folder with as many as you wish",
            )

    def _n_machines(self) -> int:
        join(self._settings.address)
        from deepbinaries.index.actors import machines

        return len(machines())

    def _start(self) -> "Actors":
        join(self._settings.address)  # first: it says what Ray reads when it is imported
        from deepbinaries.index.actors import Actors

        return Actors(self.folder, self._n_shards, self._settings)

    @property
    def _running(self) -> "Actors":
        assert self._actors is not None  # noqa: S101 - they are there once the index is open
        return self._actors

    def _current(self) -> Manifest:
        """The newest version."""
        self._may_read()
        look, manifest = self._seen
        with own_errors(self.folder):
            if (now := _look(self.folder)) != look:
                manifest = read_manifest(self.folder)
                if (len(manifest.shards), manifest.bits) != (self._n_shards, self.bits):
                    raise UsageError(f"the index {self.folder} was made anew", next_step="open it again")
                self._seen = now, manifest  # both at once: other threads may be here as well
        return manifest

    def _ask(
        self, question: str, arguments: Mapping[int, tuple[Any, ...]], *, unhurried: bool = False
    ) -> tuple[Manifest, dict[int, Any]]:
        """What some shards answer, all from one version: the newest one."""
        deadline = time.monotonic() + self._settings.patience
        while True:
            manifest = self._current()
            questions = {place: (question, manifest.digest, *of_shard) for place, of_shard in arguments.items()}
            answers = self._running.ask(questions, unhurried=unhurried)
            if not any(isinstance(one, OtherVersion) for one in answers.values()):
                return manifest, answers
            if time.monotonic() >= deadline:  # also where the disk of a machine lags behind
                raise Error(f"{self.folder} changes too fast to be read", next_step="try again")
            time.sleep(_PAUSE)

    def _hits(
        self, question: str, codes: Codes, among: Sequence[str] | None, *asked: int | bool
    ) -> tuple[Manifest, list[Hits]]:
        """What every shard finds."""
        if codes.bits != self.bits:
            raise UsageError(
                f"queries have {codes.bits} bits and {self.folder} {self.bits}",
                next_step="encode both with the same model",
            )
        chosen = None if among is None else self._by_shard(_distinct(among))
        each = {
            place: (None if chosen is None else chosen.get(place, []), codes, *asked) for place in range(self._n_shards)
        }
        manifest, answers = self._ask(question, each)
        return manifest, [answers[place] for place in each]

    def _stored(self, ids: Sequence[str]) -> Iterator[tuple[list[int], NDArray[np.bool_], Codes]]:
        """Of each shard some rows of distinct ids, which of them are there, and the codes of those."""
        rows = self._rows_by_shard(ids)
        _, answers = self._ask("codes_of", {place: ([ids[row] for row in some],) for place, some in rows.items()})
        return ((rows[place], there, codes) for place, (there, codes) in answers.items())

    def _ids_of(self, place: int) -> Iterator[str]:
        last = ""
        while True:
            # From the newest version: whoever lists may change the index himself before he asks for more.
            some: list[str] = self._ask("ids_after", {place: (last, _AT_ONCE)})[1][place]
            yield from some
            if len(some) < _AT_ONCE:
                return
            last = some[-1]

    def _rows_by_shard(self, ids: Sequence[str]) -> dict[int, list[int]]:
        """Which of some distinct ids belong to which shard."""
        in_order, order = Ids.sorted(ids)
        shards = shards_of(in_order, self._n_shards)
        return {place: order[shards == place].tolist() for place in np.unique(shards).tolist()}

    def _by_shard(self, ids: Sequence[str]) -> dict[int, list[str]]:
        return {place: [ids[row] for row in rows] for place, rows in self._rows_by_shard(ids).items()}

    def _put(self, ids: Sequence[str], codes: Codes, *, replacing: bool) -> None:
        if codes.bits != self.bits or len(codes) != len(_several(ids)):
            raise UsageError(
                f"{len(ids)} ids and {codes!r} do not fit an index of {self.bits} bits",
                next_step="give one id for each code, and codes of this length",
            )
        with self._changing:
            self._may_write()
            rows = self._rows_by_shard(ids)
            for some, there, _ in self._stored(ids) if not replacing else ():
                if there.any():
                    known = ids[some[int(np.argmax(there))]]
                    raise UsageError(
                        f"the id {known!r} is in {self.folder} already", next_step="use replace, or remove it"
                    )
            self._change({place: ([ids[row] for row in some], codes[some], False) for place, some in rows.items()})

    def _change(self, parts: Mapping[int, tuple[list[str], Codes | None, bool]]) -> int:
        """Commit a change of some shards to all of them at once, and say how many items were there before."""
        began_from = self._current()
        version = began_from.version + 1
        before, answers = self._ask("write", {place: (*part, version) for place, part in parts.items()}, unhurried=True)
        written: dict[int, Written] = answers
        shards = tuple(written[place].state if place in written else old for place, old in enumerate(before.shards))
        if shards != before.shards:
            after = Manifest(version, shards)
            with own_errors(self.folder):
                if began_from.digest != before.digest or read_manifest(self.folder).digest != before.digest:
                    raise IndexBusyError(  # the disk does not tell one machine of the locks of another
                        f"the index {self.folder} was changed by another process meanwhile",
                        next_step="write from one process alone; this change was not made",
                    )
                commit(self.folder, after)
                with suppress(OSError):  # what stays behind is removed by the next who writes
                    remove_replaced(self.folder, before, after)
        return sum(one.n_removed for one in written.values())

    def _may_read(self) -> None:
        may_read(f"the index {self.folder}", closed=self._closed, process=self._process)

    def _may_write(self) -> None:
        self._may_read()
        may_write(f"the index {self.folder}", writable=self._lock is not None)

    def _release(self) -> None:
        if self._actors:
            self._actors.close()
        if self._lock:
            self._lock.release()
            self._lock = None


def _look(folder: Path) -> tuple[int, ...]:
    """By which it is seen whether the manifest was replaced; nothing where it is not there."""
    try:
        found = (folder / FILE).stat()
    except FileNotFoundError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _distinct(ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(_several(ids)))


def _several(ids: Sequence[str]) -> Sequence[str]:
    if isinstance(ids, str):
        raise UsageError(f"{ids!r} is one text, not several ids", next_step="give a list of ids")
    return ids
