"""A snapshot: one version of an index with its files open, and the search in it. It never changes."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import merge
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes, Gallery, Neighbours, top_k, top_k_with_ties, within
from deepbinaries.index.base import Found
from deepbinaries.index.catalogue import State
from deepbinaries.index.ids import Ids
from deepbinaries.index.segments import Segment

Rows = NDArray[np.int64]  # numbered through all segments
OfSegment = tuple[list[int], list[int], int]  # the nearest rows of a segment, their distances, rows at the last one


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
        if with_ties:
            shells = top_k_with_ties(queries, gallery, k)
            return [self._in_order(*shells[q]) for q in range(len(queries))]
        if len(self.segments) > 1:
            parts = self._galleries if gallery is self.gallery else self._apart(gallery)
            found, n = [_per_query(top_k(queries, part, k)) for part in parts], min(k, gallery.n_visible)
            return [self._together(of_query, n) for of_query in zip(*found, strict=True)]
        near = top_k(queries, gallery, k)  # rows are in the order of ids: the kernel's order is the answer's
        n = near.rows.shape[1]
        if not n:
            return [Found([], [], ties_left_out=0) for _ in range(len(queries))]
        ids = self.segments[0].ids.texts(near.rows.ravel())
        per_query = zip(range(0, len(ids), n), near.distances.tolist(), near.ties.tolist(), strict=True)
        return [Found(ids[i : i + n], far, ties - far.count(far[-1])) for i, far, ties in per_query]

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

    def ids_at(self, rows: Rows) -> list[str]:
        """The ids of many rows."""
        if len(self.segments) == 1:
            return self.segments[0].ids.texts(rows)
        ids = [""] * len(rows)
        for segment, begin, end in zip(self.segments, self._begins, self._ends, strict=True):
            here = np.flatnonzero((rows >= begin) & (rows < end))
            for place, id_ in zip(here.tolist(), segment.ids.texts(rows[here] - begin), strict=True):
                ids[place] = id_
        return ids

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

    @cached_property
    def _galleries(self) -> list[Gallery]:
        return self._apart(self.gallery)

    def _apart(self, gallery: Gallery) -> list[Gallery]:
        """Each segment of a gallery as one of its own."""
        hidden, parts = gallery.hidden, zip(gallery.segments, self._begins, self._ends, strict=True)
        return [Gallery([part], gallery.bits, hidden if hidden is None else hidden[i:j]) for part, i, j in parts]

    def _together(self, of_segments: Sequence[OfSegment], k: int) -> Found:
        """The k nearest items of all segments, from as many of each.

        However many items lie at the last distance, no more are looked at: each segment gives the first of them by id.
        """
        if not k:
            return Found([], [], ties_left_out=0)
        edge = sorted(chain.from_iterable(far for _, far, _ in of_segments))[k - 1]
        pairs: list[tuple[int, str]] = []
        left_out = -k
        for segment, (rows, far, ties) in zip(self.segments, of_segments, strict=True):
            n = bisect_right(far, edge)
            pairs += zip(far[:n], map(segment.ids.__getitem__, rows[:n]), strict=True)
            if far and far[-1] == edge:
                left_out += ties - far.count(edge)
        nearest = sorted(pairs)[:k]
        return Found([id_ for _, id_ in nearest], [distance for distance, _ in nearest], len(pairs) + left_out)

    def _in_order(self, rows: Rows, distances: Rows) -> Found:
        ids, far = self.ids_at(rows), distances.tolist()
        if len(self.segments) > 1:
            pairs = sorted(zip(far, ids, strict=True))
            ids, far = [id_ for _, id_ in pairs], [distance for distance, _ in pairs]
        return Found(ids, far, ties_left_out=0)


def _per_query(near: Neighbours) -> Iterator[OfSegment]:
    return zip(near.rows.tolist(), near.distances.tolist(), near.ties.tolist(), strict=True)
