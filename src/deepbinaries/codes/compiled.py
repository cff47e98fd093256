"""The loops of exact Hamming search, written for numba. `deepbinaries.codes.kernel` calls them.

What keeps them fast, and what a test of the machine code watches:

- Codes come as a tuple of columns, one array a word, so that the sum over the words of a code is
  unrolled by its type and eight rows are compared at once. One source serves every length.
- An inner loop counts its rows in uint64, since a signed index is tested for being negative, and its
  distances in int64, since AVX2 compares no others.
- Arrays that are only read are read-only by type, so that a memory map and an array share machine code.

They share one file because numba's cache looks at the file of a loop, not at what the loop calls.

Throughout, `columns` are those of one segment and `hidden` is None, or 1 for each row that no search
may find; `queries` are (queries, words). A tile is a run of consecutive rows.
"""

# numba finds the types, and it looks at the names of arguments, used or not.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg"
# ruff: noqa: ARG001, ARG005

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from deepbinaries.codes.compiling import compiled

FAR = np.int64(1 << 14)  # added to the distance of hidden rows: beyond every radius, within 16 bits
GROUP = 32  # tiles whose minima fill a register or two
BLOCK_WORDS = 1 << 15  # words that all queries meet before the next block: 256 KB, within the cache of a core


@intrinsic
def popcount(_context, _word):
    """The number of ones in a word, by the processor's own instruction where it has one."""
    return types.int64(types.uint64), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])


def distance(columns, words, hidden, row):
    """In how many bits a row differs from a query; hidden rows are far from every one."""


@overload(distance)
def _distance(columns, words, hidden, row):
    if len(columns) > 1:
        return lambda columns, words, hidden, row: (
            popcount(columns[0][row] ^ words[0]) + distance(columns[1:], words[1:], hidden, row)
        )
    if isinstance(hidden, types.NoneType):
        return lambda columns, words, hidden, row: popcount(columns[0][row] ^ words[0])
    return lambda columns, words, hidden, row: popcount(columns[0][row] ^ words[0]) + FAR * np.int64(hidden[row])


def words_of(query, columns):
    """The words of a query as a tuple, as many as there are columns."""


@overload(words_of)
def _words_of(query, columns):
    if len(columns) == 1:
        return lambda query, columns: (query[0],)
    return lambda query, columns: (query[0],) + words_of(query[1:], columns[1:])  # noqa: RUF005  # numba's syntax


@compiled
def least(columns, hidden, words, first, last):
    found = FAR
    for row in range(first, last):
        found = min(found, distance(columns, words, hidden, row))
    return found


@compiled
def four_least(columns, hidden, a, b, c, d, first, last):
    """Rows are loaded once and compared with four queries, whose words stay in registers."""
    of_a = of_b = of_c = of_d = FAR
    for row in range(first, last):
        of_a = min(of_a, distance(columns, a, hidden, row))
        of_b = min(of_b, distance(columns, b, hidden, row))
        of_c = min(of_c, distance(columns, c, hidden, row))
        of_d = min(of_d, distance(columns, d, hidden, row))
    return of_a, of_b, of_c, of_d


@compiled
def count_at(columns, hidden, words, radius, first, last):
    count = np.int64(0)
    for row in range(first, last):
        count += np.int64(distance(columns, words, hidden, row) == radius)
    return count


@compiled
def count_up_to(columns, hidden, words, radius, first, last):
    count = np.int64(0)
    for row in range(first, last):
        count += np.int64(distance(columns, words, hidden, row) <= radius)
    return count


@compiled
def write_distances(columns, hidden, words, first, last, out):
    for row in range(first, last):
        out[row - first] = distance(columns, words, hidden, row)


@compiled
def tile_minima(columns, hidden, tiles_before, queries, tile, first_tile, last_tile, minima):
    """Write minima[q, tiles_before + t], the least distance of query q to a visible row of tile t."""
    n_queries, n_rows = len(queries), columns[0].size
    in_fours = n_queries - n_queries % 4
    step = max(BLOCK_WORDS // (tile * len(columns)), 1)
    for block in range(first_tile, last_tile, step):
        block_end = min(block + step, last_tile)
        for q in range(0, in_fours, 4):
            a, b = words_of(queries[q], columns), words_of(queries[q + 1], columns)
            c, d = words_of(queries[q + 2], columns), words_of(queries[q + 3], columns)
            for t in range(block, block_end):
                first, last = np.uint64(t * tile), np.uint64(min((t + 1) * tile, n_rows))
                of_a, of_b, of_c, of_d = four_least(columns, hidden, a, b, c, d, first, last)
                minima[q, tiles_before + t] = of_a
                minima[q + 1, tiles_before + t] = of_b
                minima[q + 2, tiles_before + t] = of_c
                minima[q + 3, tiles_before + t] = of_d
        for q in range(in_fours, n_queries):
            a = words_of(queries[q], columns)
            for t in range(block, block_end):
                first, last = np.uint64(t * tile), np.uint64(min((t + 1) * tile, n_rows))
                minima[q, tiles_before + t] = least(columns, hidden, a, first, last)


@compiled
def nearest(
    columns, hidden, tiles_before, rows_before, queries, tile, k, minima, state, counts, rows, near, out, begin, end
):
    """Add the rows of one segment to what is known of queries begin..end; segments come in the order of their rows.

    state[q] is (bound, edge, nearer, filled): the k-th distance is at most `bound` and `edge`, of the rows
    seen `nearer` < k lie below the edge, and `filled` of them, the final ones among them, are kept in
    rows[q] and near[q]. After the last segment, `out` holds rows, distances and ties.
    """
    n_tiles = -(-columns[0].size // tile)
    distances = np.empty(tile, dtype=np.uint16)
    for q in range(begin, end):
        if tiles_before == 0:
            state[q, 0] = bound_of(minima[q], k, counts[q])
            state[q, 1] = state[q, 0] + 1
        words, minima_here = words_of(queries[q], columns), minima[q, tiles_before : tiles_before + n_tiles]
        take_in(
            columns, hidden, rows_before, words, tile, k, minima_here, state[q], counts[q], rows[q], near[q], distances
        )
        if tiles_before + n_tiles == minima.shape[1]:
            into_order(rows[q], near[q], state[q], k, counts[q], out[0][q], out[1][q])
            out[2][q] = counts[q, state[q, 1]]


@compiled
def bound_of(minima, k, counts):
    """A distance within which there are k rows, since the minima of k tiles are k rows; counts are left at zero."""
    for minimum in minima:
        if minimum < counts.size - 1:  # a tile that is hidden as a whole has no row to count
            counts[minimum] += 1
    seen, radius = counts[0], 0
    while seen < k and radius < counts.size - 2:
        radius += 1
        seen += counts[radius]
    counts[:] = 0
    return radius


@compiled
def take_in(columns, hidden, rows_before, words, tile, k, minima, state, counts, rows, near, distances):
    """Look at the tiles that reach below the edge, and at those on it, whose rows tie.

    The edge only falls, and whoever lies below it is counted, so that counts[edge] is complete at the
    end: the rows at the k-th distance.
    """
    n_rows = columns[0].size
    bound, edge, nearer, filled = state
    for group in range(0, minima.size, GROUP):
        if least_of(minima[group : group + GROUP]) > min(bound, edge):  # most tiles, and 32 at once see to it
            continue
        for t in range(group, min(group + GROUP, minima.size)):
            minimum = np.int64(minima[t])
            if minimum > edge or minimum > bound:
                continue
            first, last = np.uint64(t * tile), np.uint64(min((t + 1) * tile, n_rows))
            if minimum == edge:  # nobody enters any more: a row at the edge that comes later is further down
                counts[edge] += count_at(columns, hidden, words, edge, first, last)
                continue
            if filled + tile > rows.size:
                filled = drop_beyond(rows, near, filled, edge, k - nearer)
            write_distances(columns, hidden, words, first, last, distances)
            for i in range(np.int64(last - first)):
                d = np.int64(distances[i])
                if d > edge:
                    continue
                counts[d] += 1
                if d < edge:
                    rows[filled], near[filled] = rows_before + t * tile + i, d
                    filled += 1
                    nearer += 1
                    while nearer >= k:
                        edge -= 1
                        nearer -= counts[edge]
    state[1], state[2], state[3] = edge, nearer, filled


@compiled
def least_of(minima):
    found = minima[0]
    for minimum in minima:
        found = min(found, minimum)
    return found


@compiled
def drop_beyond(rows, near, filled, edge, at_edge):
    """Keep the rows below the edge and the first `at_edge` of those on it; gives back how many those are."""
    kept = 0
    for i in range(filled):
        d = near[i]
        if d > edge or (d == edge and at_edge == 0):
            continue
        if d == edge:
            at_edge -= 1
        rows[kept], near[kept] = rows[i], d
        kept += 1
    return kept


@compiled
def into_order(rows, near, state, k, counts, out_rows, out_near):
    """Write the k rows that are kept by distance; they lie in row order, which equal ones keep."""
    edge, nearer = state[1], state[2]
    filled = state[3] = drop_beyond(rows, near, state[3], edge, k - nearer)
    places = np.zeros(counts.size + 1, dtype=np.int64)
    for i in range(filled):
        places[near[i] + 1] += 1
    for d in range(counts.size):
        places[d + 1] += places[d]
    for i in range(filled):
        place = places[near[i]]
        places[near[i]] += 1
        out_rows[place], out_near[place] = rows[i], near[i]


@compiled
def count_within(columns, hidden, tiles_before, queries, tile, minima, radii, counts, begin, end):
    """Add to counts[q] how many rows of one segment lie within radii[q]."""
    n_rows = columns[0].size
    for q in range(begin, end):
        words, radius = words_of(queries[q], columns), radii[q]
        for t in range(-(-n_rows // tile)):
            if minima[q, tiles_before + t] <= radius:
                first, last = np.uint64(t * tile), np.uint64(min((t + 1) * tile, n_rows))
                counts[q] += count_up_to(columns, hidden, words, radius, first, last)


@compiled
def write_within(
    columns, hidden, tiles_before, rows_before, queries, tile, minima, radii, places, ends, rows, near, begin, end
):
    """Write the rows of one segment within radii[q] to places[q]:ends[q], in row order, and move the places."""
    n_rows = columns[0].size
    distances = np.empty(tile, dtype=np.uint16)
    for q in range(begin, end):
        words, radius = words_of(queries[q], columns), radii[q]
        place = places[q]
        for t in range(-(-n_rows // tile)):
            if minima[q, tiles_before + t] <= radius:
                first, last = np.uint64(t * tile), np.uint64(min((t + 1) * tile, n_rows))
                write_distances(columns, hidden, words, first, last, distances)
                for i in range(np.int64(last - first)):
                    # The ends are what was counted; a mapped file that changed since must not lead beyond them.
                    if distances[i] <= radius and place < ends[q]:
                        rows[place], near[place] = rows_before + t * tile + i, distances[i]
                        place += 1
        places[q] = place


@compiled
def all_distances(columns, query, out):
    write_distances(columns, None, words_of(query, columns), np.uint64(0), np.uint64(columns[0].size), out)
