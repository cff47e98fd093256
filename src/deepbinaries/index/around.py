"""The items around one code, with their codes: for whoever orders them anew and shows a few.

There may be thousands of them, so that ids are made when they are asked for.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes, Gallery, top_k_with_ties
from deepbinaries.index.base import Certificate
from deepbinaries.index.snapshot import Rows, Snapshot


@dataclass(frozen=True)
class Selection:
    """Some items of one version of an index, among which can be searched again and again."""

    snapshot: Snapshot
    gallery: Gallery  # with all others hidden

    def __len__(self) -> int:
        return self.gallery.n_visible

    @property
    def version(self) -> int:
        """Of the index."""
        return self.snapshot.state.version


@dataclass(frozen=True)
class Around:
    """Items in (distance, id) order."""

    distances: NDArray[np.int64]
    codes: Codes
    certificate: Certificate
    ids_at: Callable[[Rows], list[str]]  # the ids of items by their places


def around(query: Codes, k: int, among: Selection) -> Around:
    """The k nearest items of one query and all that are as near as the last."""
    began, snapshot = time.perf_counter(), among.snapshot
    rows, distances = top_k_with_ties(query, among.gallery, k)[0]
    if len(snapshot.segments) > 1:  # the rows of one are in the order of ids
        order = _by_distance_and_id(snapshot, rows, distances)
        rows, distances = rows[order], distances[order]
    certificate = Certificate(
        exact=True,
        radius=(int(distances[-1]) if len(rows) < len(among) else snapshot.state.bits,),
        ties_left_out=(0,),
        rows_scanned=len(among.gallery),
        milliseconds=(time.perf_counter() - began) * 1000,
        version=among.version,
    )
    return Around(distances, snapshot.codes_at(rows), certificate, lambda places: snapshot.ids_at(rows[places]))


def _by_distance_and_id(snapshot: Snapshot, rows: Rows, distances: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order that sorts rows; whole ids are compared only where their beginnings are equal."""
    beginnings = np.empty(len(rows), dtype=np.uint64)
    begin = 0
    for segment in snapshot.segments:
        end = begin + len(segment.ids)
        here = (rows >= begin) & (rows < end)
        beginnings[here] = segment.ids.beginnings(rows[here] - begin)
        begin = end
    order = np.lexsort((beginnings, distances))
    keys = np.stack([distances[order].astype(np.uint64), beginnings[order]])
    changes = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
    for first, last in pairwise([0, *changes.tolist(), len(order)]):
        if last - first > 1:
            ids = snapshot.ids_at(rows[order[first:last]])
            order[first:last] = order[first:last][sorted(range(last - first), key=ids.__getitem__)]
    return order
