"""A snapshot: one version of an index with its files open, and the search in it. It never changes."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import merge
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes, Gallery, top_k, top_k_with_ties, within
from deepbinaries.index.base import Found
from deepbinaries.index.catalogue import State
from deepbinaries.index.ids import Ids
from deepbinaries.index.segments import Segment

Rows = NDArray[np.int64]  # numbered through all segments


def open_snapshot(folder: Path, state: State, earlier: "Snapshot | None" = None) -> "Snapshot":
    """A version with its files open, those of an earlier snapshot among them.

    Raises FileNotFoundError where a writer has removed one meanwhile.
    """
    open_already = zip(earlier.state.segments, earlier.segments, strict=True) if earlier else ()
    known = {(record.number, record.sha256): segment for record, segment in open_already}
    segments = (
        known.get((record.number, record.sha256)) or Segment(folder, record, state.bits) for record in state.segments
    )
    return Snapshot(state, tuple(segments))


class Snapshot:
    """One version of an index. Rows are numbered through its segments; in each they are in the order of their ids."""

    def __init__(self, state: State, segments: Sequence[Segment]):
        self.state, self.segments = state, tuple(segments)
        self._ends = np.cumsum([record.rows for record in state.segments], dtype=np.int64).tolist()
        self._begins = [0, *self._ends][: len(self._ends)]

    def __len__(self) -> int:
        return sum(record.n_visible for record in self.state.segments)

    @cached_property
    def gallery(self) -> Gallery:
        """The codes as the kernel searches them, every byte proven."""
        self.prove()
        return Gallery([segment.columns for segment in self.segments], self.state.bits, self._hidden)

    def prove(self) -> None:
        """Compare every byte of the segments with its digest, once."""
        for segment in self.segments:
            segment.prove()

    def nearest(self, queries: Codes, k: int, gallery: Gallery, *, with_ties: bool) -> list[Found]:
        """The k nearest items of each query in (distance, id) order, or with all that are as near as the last."""
        if with_ties or len(self.segments) > 1:
            shells = top_k_with_ties(queries, gallery, k)
            found = [self._in_order(*shells[q]) if with_ties else self._cut(*shells[q], k) for q in range(len(queries))]
        else:  # rows are in the order of ids: the kernel's order is the answer's
            near = top_k(queries, gallery, k)
            at_edge = (near.distances == near.distances[:, -1:]).sum(axis=1)
            per_query = zip(near.rows.tolist(), near.distances.tolist(), (near.ties - at_edge).tolist(), strict=True)
            found = [Found([self.id_at(row) for row in rows], far, left_out) for rows, far, left_out in per_query]
        return found

    def within(self, queries: Codes, radius: int, gallery: Gallery) -> list[Found]:
        """Every item within a radius of each query in (distance, id) order."""
        shells = within(queries, gallery, radius)
        return [self._in_order(*shells[q]) for q in range(len(queries))]

    def find(self, wanted: Ids) -> Rows:
        """The row of each wanted id, -1 for those that are not there."""
        self.prove()
        rows = np.full(len(wanted), -1, dtype=np.int64)
        for segment, record, begin in zip(self.segments, self.state.segments, self._begins, strict=True):
            found = segment.ids.find(wanted)
            found[np.isin(found, record.hidden_rows)] = -1
            rows[found >= 0] = found[found >= 0] + begin
        return rows

    def codes_at(self, rows: Rows) -> Codes:
        """The codes of some rows."""
        words = np.empty((len(rows), -(-self.state.bits // 64)), dtype="<u8")
        for segment, begin, end in zip(self.segments, self._begins, self._ends, strict=True):
            here = (rows >= begin) & (rows < end)
            words[here] = segment.columns[:, rows[here] - begin].T
        return Codes(np.ascontiguousarray(words.view(np.uint8)[:, : -(-self.state.bits // 8)]), self.state.bits)

    def of_segments(self, rows: Rows) -> Iterator[tuple[int, Rows]]:
        """The segments that rows lie in, by their place, with the numbers that the rows have there."""
        for place, (begin, end) in enumerate(zip(self._begins, self._ends, strict=True)):
            here = rows[(rows >= begin) & (rows < end)] - begin
            if here.size:
                yield place, here

    def id_at(self, row: int) -> str:
        """The id of a row."""
        place = bisect_right(self._ends, row)
        return self.segments[place].ids[row - self._begins[place]]

    def all_ids(self) -> Iterator[str]:
        """Every id, in the order of their bytes, which is the order of their characters."""
        self.prove()
        pairs = zip(self.segments, self.state.segments, strict=True)
        yield from merge(*(map(segment.ids.__getitem__, record.visible_rows) for segment, record in pairs))

    @property
    def _hidden(self) -> NDArray[np.bool_] | None:
        if not any(record.hidden for record in self.state.segments):
            return None
        hidden = np.zeros(self._ends[-1], dtype=np.bool_)
        for record, begin in zip(self.state.segments, self._begins, strict=True):
            hidden[record.hidden_rows.astype(np.int64) + begin] = True
        return hidden

    def _cut(self, rows: Rows, distances: Rows, k: int) -> Found:
        """The first k of rows that come with the whole shell at the last distance."""
        nearer = int(np.searchsorted(distances, distances[-1:])[0]) if len(rows) else 0
        shell, wanted = rows[nearer:], k - nearer
        if len(shell) > wanted:
            # In each segment the shell is in the order of ids: no more than the first ones can be wanted.
            parts = np.split(shell, np.searchsorted(shell, self._ends[:-1]))
            rows = np.concatenate([rows[:nearer], *(part[:wanted] for part in parts)])
        found = self._in_order(rows, distances[: len(rows)])
        return Found(found.ids[:k], found.distances[:k], ties_left_out=max(0, len(shell) - wanted))

    def _in_order(self, rows: Rows, distances: Rows) -> Found:
        ids, far = [self.id_at(row) for row in rows.tolist()], distances.tolist()
        if len(self.segments) > 1:
            pairs = sorted(zip(far, ids, strict=True))
            ids, far = [id_ for _, id_ in pairs], [distance for distance, _ in pairs]
        return Found(ids, far, ties_left_out=0)
