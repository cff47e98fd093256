"""The loops of multi-index search, written for numba. `deepbinaries.codes.multi_index` calls them.

Nothing here trusts more than the offsets, which lie in memory and were checked: whatever a mapped
file holds, no loop leads out of its arrays.
"""

# numba finds the types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

import numpy as np

from deepbinaries.codes.compiled import popcount
from deepbinaries.codes.compiling import compiled

# What a bucket costs beside its rows, in rows: finding it waits for memory.
BUCKET = 24


@compiled
def search(tables, ids, offsets, shifts, widths, query, k, radius, budget):
    """The keys of the rows near a query, the radius that is complete (-1 after giving up), and the rows looked at.

    Step s looks into table s % m for substrings that differ in exactly s // m bits. Whoever is unseen
    after it differs from the query in more than s bits, so that the ball of radius s is complete. The
    search ends at `radius`, or earlier when a complete ball holds k rows, and gives up before a
    step that would cost more than the budget leaves.

    A key is distance << 32 | row. All rows up to the k-th distance have one, and some beyond it may.
    """
    n_tables = len(widths)
    keys = np.empty(1024, dtype=np.uint64)
    counts = np.zeros(65, dtype=np.int64)  # not bits + 1: bits set in the padding must not lead out of the array
    # The k-th distance is at most `edge`, and `seen` rows lie within it.
    edge, seen, filled, looked_at, spent = radius, 0, 0, 0, 0
    for step in range(radius + 1):
        apart, j = step // n_tables, step % n_tables
        n_buckets = choose(widths[j], apart)
        spent += BUCKET * n_buckets
        if spent > budget:
            return keys[:0], -1, looked_at
        centre = np.int64(substring(query, shifts[j], widths[j]))
        n_rows = rows_in_buckets(offsets[j], centre, apart, n_buckets)
        spent += n_rows
        if spent > budget:
            return keys[:0], -1, looked_at
        looked_at += n_rows
        codes, flips = tables[j], (1 << apart) - 1
        for _ in range(n_buckets):
            bucket = centre ^ flips
            first, last = np.uint64(offsets[j, bucket]), np.uint64(offsets[j, bucket + 1])
            flips = next_flips(flips)
            if least(codes, query, first, last) > edge:  # most buckets, and eight rows at once see to it
                continue
            for place in range(first, last):
                difference = codes[place] ^ query
                d = popcount(difference)
                if d > edge or not met_first(difference, shifts, widths, apart, j):
                    continue
                if filled == keys.size:
                    keys = twice_as_long(keys)
                keys[filled] = np.uint64(d) << np.uint64(32) | np.uint64(ids[j, place])
                filled += 1
                counts[d] += 1
                seen += 1
                while seen - counts[edge] >= k:
                    seen -= counts[edge]
                    edge -= 1
        if edge <= step and seen >= k:
            return keys[:filled], step, looked_at
    return keys[:filled], radius, looked_at


@compiled
def least(codes, query, first, last):
    """The least distance of a query to a run of codes; rows are counted in uint64 to be compared as vectors."""
    found = np.int64(64)
    for place in range(first, last):
        found = min(found, popcount(codes[place] ^ query))
    return found


@compiled
def substring(code, shift, width):
    return code >> shift & ((np.uint64(1) << width) - np.uint64(1))


@compiled
def choose(n, k):
    """In how many ways k of n bits can be flipped."""
    ways = np.int64(1)
    for i in range(k):
        ways = ways * (np.int64(n) - i) // (i + 1)
    return ways


@compiled
def next_flips(flips):
    """The next larger number with as many ones; the lowest run of ones moves up by one and leaves the rest below."""
    if flips == 0:
        return flips
    lowest = flips & -flips
    raised = flips + lowest
    return raised | ((flips ^ raised) >> 2) // lowest


@compiled
def rows_in_buckets(offsets, centre, apart, n_buckets):
    """How many rows have a substring that differs from the centre in `apart` bits; only offsets are read."""
    rows, flips = np.int64(0), (1 << apart) - 1
    for _ in range(n_buckets):
        bucket = centre ^ flips
        rows += np.int64(offsets[bucket + 1]) - np.int64(offsets[bucket])
        flips = next_flips(flips)
    return rows


@compiled
def met_first(difference, shifts, widths, apart, j):
    """Whether no step before this one met the same row; the difference tells, so that nobody keeps a list."""
    for i in range(len(widths)):
        differing = popcount(substring(difference, shifts[i], widths[i]))
        if differing < apart or (differing == apart and i < j):
            return False
    return True


@compiled
def twice_as_long(keys):
    longer = np.empty(2 * keys.size, dtype=np.uint64)
    longer[: keys.size] = keys
    return longer
