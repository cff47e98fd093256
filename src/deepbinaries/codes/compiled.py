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
BLOCK_WORDS = 1 << 15  # words that all queries meet before the next block: 256 KB, within the cache of a core
KEYS = 1024  # rows whose distances are counted at once

NO_LABEL, ONE = np.uint64(0), np.uint64(1)


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
def bound_distances(minima, k, n_distances, bounds, begin, end):
    """Write bounds[q], a distance within which query q has k rows: the minima of k tiles are k rows."""
    counts = np.empty(n_distances, dtype=np.int64)
    for q in range(begin, end):
        counts[:] = 0
        for t in range(minima.shape[1]):
            if minima[q, t] < n_distances:  # a tile that is hidden as a whole has no row to count
                counts[minima[q, t]] += 1
        seen, radius = counts[0], 0
        while seen < k and radius < n_distances - 1:
            radius += 1
            seen += counts[radius]
        bounds[q] = radius


@compiled
def nearest(
    columns, hidden, tiles_before, rows_before, queries, tile, k, minima, bounds, state, counts, rows, near, begin, end
):
    """Add the rows of one segment to what is known of queries begin..end; segments come in the order of their rows.

    state[q] is (edge, nearer, filled): the k-th distance is at most `edge`, of the rows seen
    `nearer` < k lie below it, and `filled` of them, the final ones among them, are kept in rows[q]
    and near[q]. The edge only falls, and whoever lies below it is counted, so counts[q, edge] is
    complete at the end: the rows at the k-th distance.
    """
    n_rows, capacity = columns[0].size, rows.shape[1]
    distances = np.empty(tile, dtype=np.uint16)
    for q in range(begin, end):
        words = words_of(queries[q], columns)
        edge, nearer, filled = state[q, 0], state[q, 1], state[q, 2]
        for t in range(-(-n_rows // tile)):
            minimum = np.int64(minima[q, tiles_before + t])
            if minimum > edge or minimum > bounds[q]:
                continue
            first, last = np.uint64(t * tile), np.uint64(min((t + 1) * tile, n_rows))
            if minimum == edge:  # nobody enters any more: a row at the edge that comes later is further down
                counts[q, edge] += count_at(columns, hidden, words, edge, first, last)
                continue
            if filled + tile > capacity:
                filled = drop_beyond(rows, near, q, filled, edge, k - nearer)
            write_distances(columns, hidden, words, first, last, distances)
            for i in range(np.int64(last - first)):
                d = np.int64(distances[i])
                if d > edge:
                    continue
                counts[q, d] += 1
                if d < edge:
                    rows[q, filled], near[q, filled] = rows_before + t * tile + i, d
                    filled += 1
                    nearer += 1
                    while nearer >= k:
                        edge -= 1
                        nearer -= counts[q, edge]
        state[q, 0], state[q, 1], state[q, 2] = edge, nearer, filled


@compiled
def drop_beyond(rows, near, query, filled, edge, at_edge):
    """Keep the rows below the edge and the first `at_edge` of those on it; gives back how many those are."""
    kept = 0
    for i in range(filled):
        d = near[query, i]
        if d > edge or (d == edge and at_edge == 0):
            continue
        if d == edge:
            at_edge -= 1
        rows[query, kept], near[query, kept] = rows[query, i], d
        kept += 1
    return kept


@compiled
def into_order(rows, near, state, k, n_distances, out_rows, out_near, begin, end):
    """Write the k rows that are kept for each query by distance; they lie in row order, which equal ones keep."""
    places = np.empty(n_distances + 1, dtype=np.int64)
    for q in range(begin, end):
        edge, nearer = state[q, 0], state[q, 1]
        filled = state[q, 2] = drop_beyond(rows, near, q, state[q, 2], edge, k - nearer)
        places[:] = 0
        for i in range(filled):
            places[near[q, i] + 1] += 1
        for d in range(n_distances):
            places[d + 1] += places[d]
        for i in range(filled):
            place = places[near[q, i]]
            places[near[q, i]] += 1
            out_rows[q, place], out_near[q, place] = rows[q, i], near[q, i]


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


@compiled
def histograms(columns, hidden, rows_before, queries, masks, query_masks, everything, relevant, begin, end):
    """Add to (everything, relevant)[q, d] the rows of one segment at distance d, and those that share a label.

    Labels are bit masks: masks (words, rows of all segments) and query_masks (queries, words).
    """
    n_rows, n_distances = columns[0].size, everything.shape[1]
    keys, shared = np.empty(KEYS, dtype=np.uint16), np.empty(KEYS, dtype=np.uint64)
    # Four counts beside each other, since adding twice to one number in a row waits for the first to be stored.
    counts = np.empty((4, 2 * n_distances + 1), dtype=np.int64)
    block_rows = max(BLOCK_WORDS // (len(columns) * KEYS), 1) * KEYS
    for block in range(0, n_rows, block_rows):
        for q in range(begin, end):
            words, alone = words_of(queries[q], columns), only_word(query_masks[q])
            counts[:] = 0
            for start in range(block, min(block + block_rows, n_rows), KEYS):
                first, last = np.uint64(start), np.uint64(min(start + KEYS, n_rows))
                if alone >= 0:
                    of_word = query_masks[q, alone]
                    write_keys_of_word(columns, words, first, last, masks[alone, rows_before:], of_word, keys)
                else:
                    share_labels(masks, rows_before, query_masks[q], first, last, shared)
                    write_keys(columns, words, first, last, shared, keys)
                if hidden is not None:
                    hide_keys(hidden, first, last, n_distances, keys)
                add_up(keys, np.int64(last - first), counts)
            for d in range(n_distances):
                others = counts[0, 2 * d] + counts[1, 2 * d] + counts[2, 2 * d] + counts[3, 2 * d]
                sharing = counts[0, 2 * d + 1] + counts[1, 2 * d + 1] + counts[2, 2 * d + 1] + counts[3, 2 * d + 1]
                everything[q, d] += others + sharing
                relevant[q, d] += sharing


@compiled
def only_word(of_query):
    """The one word of a query's mask that holds labels; -1 where there are several, or none."""
    found = -1
    for w in range(len(of_query)):
        if of_query[w] != NO_LABEL:
            if found >= 0:
                return -1
            found = w
    return found


@compiled
def share_labels(masks, rows_before, of_query, first, last, shared):
    """Write the labels that rows share with a query, nonzero where there are any."""
    written = False
    for w in range(len(of_query)):
        of_word = of_query[w]
        if of_word == NO_LABEL:  # most queries have few labels: most words have none to share
            continue
        mask = masks[w, rows_before:]
        if written:
            for row in range(first, last):
                shared[row - first] |= mask[row] & of_word
        else:
            for row in range(first, last):
                shared[row - first] = mask[row] & of_word
        written = True
    if not written:
        shared[:] = NO_LABEL


@compiled
def write_keys(columns, words, first, last, shared, keys):
    """Twice the distance, plus one where a label is shared."""
    for row in range(first, last):
        near = distance(columns, words, None, row)
        keys[row - first] = near + near + min(shared[row - first], ONE)


@compiled
def write_keys_of_word(columns, words, first, last, mask, of_word, keys):
    """The same where one word holds all labels of the query, in one pass: a third less time."""
    for row in range(first, last):
        near = distance(columns, words, None, row)
        keys[row - first] = near + near + min(mask[row] & of_word, ONE)


@compiled
def hide_keys(hidden, first, last, n_distances, keys):
    """Give hidden rows the last key, which nobody reads."""
    for row in range(first, last):
        if hidden[row]:
            keys[row - first] = 2 * n_distances


@compiled
def add_up(keys, n_keys, counts):
    whole = n_keys - n_keys % 4
    for i in range(0, whole, 4):
        counts[0, keys[i]] += 1
        counts[1, keys[i + 1]] += 1
        counts[2, keys[i + 2]] += 1
        counts[3, keys[i + 3]] += 1
    for i in range(whole, n_keys):
        counts[0, keys[i]] += 1
