"""What a change of an index does to its segments: which are taken up into the new one, and how that is made.

Every item is rewritten about as often as the index has doubled since, and the number of segments grows with the
logarithm of their size: each is larger than all smaller ones together.
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepbinaries.errors import Error
from deepbinaries.index.catalogue import State
from deepbinaries.index.ids import Ids
from deepbinaries.index.segments import FOLDER, Columns, Record, file_size, write_segment
from deepbinaries.index.snapshot import Rows, Snapshot

SMALL = 2048  # rows; segments of up to this many are always taken up
MOST_HIDDEN = 8  # a segment is written anew when more than one in this many of its rows are removed

Items = tuple[Ids, Columns]


def hide(snapshot: Snapshot, rows: Rows) -> list[Record]:
    """The records of the segments with some more rows removed."""
    records = list(snapshot.state.segments)
    for place, here in snapshot.of_segments(rows):
        hidden = np.union1d(records[place].hidden_rows, here).astype("<u4")
        records[place] = replace(records[place], hidden=hidden.tobytes())
    return records


def taken_up(records: Sequence[Record], n_new: int) -> list[int]:
    """The places of the segments that are written anew together with some new items.

    >>> sizes = [50_000, 9_000, 3_000, 100]
    >>> segments = [Record(number, rows, id_bytes=0, sha256="") for number, rows in enumerate(sizes)]
    >>> taken_up(segments, n_new=1), taken_up(segments, n_new=3_000)
    ([3], [3, 2])
    """
    places, gathered = [], n_new
    for place in sorted(range(len(records)), key=lambda place: records[place].n_visible):
        record = records[place]
        n_hidden = record.rows - record.n_visible
        if n_new and record.n_visible <= max(SMALL, gathered):
            gathered += record.n_visible
        elif n_hidden <= max(SMALL, record.rows // MOST_HIDDEN) and record.n_visible:
            continue
        places.append(place)
    return places


def no_items(bits: int) -> Items:
    """What a change adds that only removes."""
    return Ids.sorted([])[0], np.empty((-(-bits // 64), 0), dtype=np.uint64)


def merged(snapshot: Snapshot, records: Sequence[Record], places: Sequence[int], new: Items) -> Items:
    """The new items and the visible ones of some segments, together in the order of their ids."""
    if not places:
        return new
    parts, columns = [(new[0], np.arange(len(new[0])))], [new[1]]
    for place in places:
        segment, visible = snapshot.segments[place], records[place].visible_rows
        segment.prove()
        parts.append((segment.ids, visible))
        columns.append(segment.columns[:, visible])
    ids, order = Ids.merged(parts)
    return ids, np.concatenate(columns, axis=1)[:, order]


def write_items(folder: Path, state: State, items: Items) -> Record:
    """Write items as the next segment of an index, if there is room for it."""
    ids, columns = items
    needed, free = file_size(state.bits, len(ids), len(ids.text)), shutil.disk_usage(folder / FOLDER).free
    if needed > free:
        raise Error(
            f"{folder} needs {needed:,} bytes for this change and has {free:,}",
            next_step="make room; the index is as it was",
        )
    return write_segment(folder, state.next_number, state.bits, ids, columns)
