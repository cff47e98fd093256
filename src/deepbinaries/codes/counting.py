"""The loops that count distances for an evaluation, written for numba. `deepbinaries.codes.kernel` calls them.

Arithmetic limits them, and that memory takes one increment a cycle. Hence:

- Codes and labels are cut into bytes, and byte b of every row lies together in a plane: a register
  holds 32 or 64 bytes, and a sum of bytes is a distance without more ado.
- Two queries meet the rows together, and each row is loaded once for both.
- One increment counts for both: a row falls into a joint table, in the line of the key that it has for
  the one query and in the column of the key that it has for the other. A key is twice the distance,
  counted from the nearest row, plus one where a label is shared. The sums of the table's lines and of
  its columns are what each query has.

Numba widens what it adds, and a wide number in a loop halves how many rows a register holds: hence
the operations of our own. Rows are counted in uint64, since a signed index is tested for being negative.
"""

# numba finds the types, and it looks at the names of arguments, used or not.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg"
# ruff: noqa: ARG001

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from deepbinaries.codes.compiling import compiled

FEW = 4096  # rows, for which adding up the joint table would take longer than counting for each query by itself
KEYS = 256  # lines and columns of the joint table
WHOLE = 64  # counts that are added up without a remainder

NOTHING, ONE, ONE_MORE = np.uint8(0), np.uint8(1), np.uint16(1)
KEY_BITS, BOTH_KEYS = np.uint16(8), np.uint64(0xFFFF)


@intrinsic
def plus_differing(_context, total, _byte, _other):
    """The total plus the number of bits in which two bytes differ, as wide as the total."""

    def code(_context, builder, _signature, arguments):
        before, byte, other = arguments
        return builder.add(before, builder.zext(builder.ctpop(builder.xor(byte, other)), before.type))

    return total(total, types.uint8, types.uint8), code


@intrinsic
def or_shared(_context, _shared, _byte, _other):
    """The bits that were shared before, and those that two bytes share."""

    def code(_context, builder, _signature, arguments):
        before, byte, other = arguments
        return builder.or_(before, builder.and_(byte, other))

    return types.uint8(types.uint8, types.uint8, types.uint8), code


def plus_all_differing(total, planes, query, row):
    """The total plus the number of bits in which some bytes of a row differ from those of a query."""


@overload(plus_all_differing)
def _plus_all_differing(total, planes, query, row):
    if len(planes) == 1:
        return lambda total, planes, query, row: plus_differing(total, planes[0][row], query[0])
    return lambda total, planes, query, row: plus_all_differing(
        plus_differing(total, planes[0][row], query[0]), planes[1:], query[1:], row
    )


@compiled
def histograms(columns, hidden, masks, queries, query_masks, near, everything, relevant, begin, end):
    """Add to (everything, relevant)[q, d] the visible rows of one segment at distance d, and those that share a label.

    columns and masks are (words, rows), queries and query_masks (queries, bytes). near is (2, rows that
    all queries meet before the next ones), room for distances as long as they can get.
    """
    n_rows, n_block = columns.shape[1], near.shape[1]
    planes = np.empty((queries.shape[1], n_block), dtype=np.uint8)
    labels = np.empty((query_masks.shape[1], n_block), dtype=np.uint8)
    words, shared = np.empty(n_block, dtype=np.uint64), np.empty((2, n_block), dtype=np.uint8)
    keys, table = np.empty(4 * (n_block // 4 + 1), dtype=np.uint16), np.zeros(KEYS * KEYS, dtype=np.uint16)
    of_a, of_b = np.empty(KEYS, dtype=np.uint16), np.empty(KEYS, dtype=np.uint16)
    wanted = np.zeros(query_masks.shape[1], dtype=np.uint8)
    for q in range(begin, end):
        wanted |= query_masks[q]
    for start in range(0, n_rows, n_block):
        n = cut_into_bytes(columns, hidden, start, None, words, planes)
        cut_into_bytes(masks, hidden, start, wanted, words, labels)
        for a in range(begin, end if n else begin, 2):
            b = min(a + 1, end - 1)  # the last of an odd number meets itself
            write_distances(planes, queries[a], queries[b], n, near)
            share_labels(labels, query_masks[a], n, shared[0])
            share_labels(labels, query_masks[b], n, shared[1])
            low_a, span_a = range_of(near[0], n)
            low_b, span_b = range_of(near[1], n)
            if n < FEW or 2 * max(span_a, span_b) > KEYS:
                count_one(near[0], shared[0], n, everything[a], relevant[a])
                if b > a:
                    count_one(near[1], shared[1], n, everything[b], relevant[b])
                continue
            write_keys(near, shared, low_a, low_b, n, keys)
            count_keys(keys, n, table)
            add_up(table, 2 * span_a, 2 * span_b, of_a, of_b)
            add_counts(of_a, low_a, span_a, everything[a], relevant[a])
            if b > a:
                add_counts(of_b, low_b, span_b, everything[b], relevant[b])


@compiled
def cut_into_bytes(columns, hidden, start, wanted, words, planes):
    """Write planes[b, i], byte b of the i-th visible row from `start` on; gives back how many there are."""
    kept = 0
    for w in range(columns.shape[0]):
        column, kept = columns[w], 0
        for row in range(start, min(start + words.size, column.size)):
            words[kept] = column[row]
            kept += 1 if hidden is None else 1 - hidden[row]
        for b in range(8 * w, 8 * w + 8):
            if wanted is None or wanted[b]:
                write_byte(words, np.uint64(8 * (b - 8 * w)), np.uint64(kept), planes[b])
    return np.uint64(kept)


@compiled
def write_byte(words, shift, n, plane):
    for row in range(n):
        plane[row] = words[row] >> shift


@compiled
def write_distances(planes, a, b, n, near):
    """Write the distances of two queries, eight bytes at a time, so that both queries stay in registers."""
    begin_distances(eight(planes), eight(a), eight(b), n, near[0], near[1])
    for first in range(8, a.size, 8):
        add_distances(eight(planes[first:]), eight(a[first:]), eight(b[first:]), n, near[0], near[1])


@compiled
def eight(items):
    return items[0], items[1], items[2], items[3], items[4], items[5], items[6], items[7]


@compiled
def begin_distances(planes, a, b, n, near_a, near_b):
    for row in range(n):
        near_a[row] = plus_all_differing(NOTHING, planes, a, row)
        near_b[row] = plus_all_differing(NOTHING, planes, b, row)


@compiled
def add_distances(planes, a, b, n, near_a, near_b):
    for row in range(n):
        near_a[row] = plus_all_differing(near_a[row], planes, a, row)
        near_b[row] = plus_all_differing(near_b[row], planes, b, row)


@compiled
def share_labels(planes, query, n, shared):
    """Write the labels that rows share with a query, nonzero where there are any."""
    written = False
    for b in range(query.size):
        if query[b] == NOTHING:  # most queries have few labels
            continue
        if written:
            share_more(planes[b], query[b], n, shared)
        else:
            share_first(planes[b], query[b], n, shared)
        written = True
    if not written:
        shared[:] = NOTHING


@compiled
def share_first(plane, byte, n, shared):
    for row in range(n):
        shared[row] = or_shared(NOTHING, plane[row], byte)


@compiled
def share_more(plane, byte, n, shared):
    for row in range(n):
        shared[row] = or_shared(shared[row], plane[row], byte)


@compiled
def range_of(near, n):
    """The least distance, and how many there are from there to the largest."""
    low, high = near[0], near[0]
    for row in range(n):
        low, high = min(low, near[row]), max(high, near[row])
    return low, np.int64(high) - np.int64(low) + 1


@compiled
def write_keys(near, shared, low_a, low_b, n, keys):
    near_a, near_b, shared_a, shared_b = near[0], near[1], shared[0], shared[1]
    for row in range(n):
        a = np.uint16(2 * (near_a[row] - low_a)) | min(shared_a[row], ONE)
        b = np.uint16(2 * (near_b[row] - low_b)) | min(shared_b[row], ONE)
        keys[row] = np.uint16(a) | np.uint16(b << KEY_BITS)


@compiled
def count_keys(keys, n, table):
    """Four keys are loaded at once, so that nothing but the increments takes time."""
    fours, n_fours = keys.view(np.uint64), n // np.uint64(4)
    for i in range(n_fours):
        four = fours[i]
        table[four & BOTH_KEYS] += ONE_MORE
        table[(four >> np.uint64(16)) & BOTH_KEYS] += ONE_MORE
        table[(four >> np.uint64(32)) & BOTH_KEYS] += ONE_MORE
        table[four >> np.uint64(48)] += ONE_MORE
    for i in range(n_fours * np.uint64(4), n):
        table[keys[i]] += ONE_MORE


@compiled
def add_up(table, n_a, n_b, of_a, of_b):
    """Write the sums of the table's columns and lines, and empty it. No sum exceeds the rows of a block."""
    width = np.uint64(-(-n_a // WHOLE) * WHOLE)  # beyond the last key there are zeros
    of_a[:] = 0
    for line in range(np.uint64(n_b)):
        counts = table[line * np.uint64(KEYS) : (line + np.uint64(1)) * np.uint64(KEYS)]
        add_line(counts, width, of_a)
        of_b[line] = sum_of_line(counts, width)
        counts[:width] = 0


@compiled
def add_line(counts, width, total):
    for key in range(width):
        total[key] += counts[key]


@compiled
def sum_of_line(counts, width):
    total = np.uint16(0)
    for key in range(width):
        total += counts[key]
    return total


@compiled
def add_counts(counts, low, span, everything, relevant):
    """Add the counts of keys to those of distances."""
    for d in range(span):
        everything[low + d] += counts[2 * d] + counts[2 * d + 1]
        relevant[low + d] += counts[2 * d + 1]


@compiled
def count_one(near, shared, n, everything, relevant):
    """Count for one query by itself, whatever the range of its distances."""
    for row in range(n):
        everything[near[row]] += 1
        relevant[near[row]] += min(shared[row], ONE)
