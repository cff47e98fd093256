"""The order of what is found: whole shells of equal Hamming distance, ordered anew by the query's real values.

The signs of a query's values are its code, and their sizes say how sure each bit is. A stored code that differs in
unsure bits is nearer than one that differs in sure ones. The weighted distance is the share of the query's certainty
that the differing bits have, 0 to 1; for a query that is a code itself it is the Hamming distance over the length.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes
from deepbinaries.errors import UsageError
from deepbinaries.index import Certificate, EmbeddedIndex
from deepbinaries.index.around import Selection

FIRST_BLOCK = 1000  # items that are ordered anew together, and all that are as far as the last; then twice as many

_BITS_OF_BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)


@dataclass(frozen=True)
class Ranked:
    """Items in their order; ids are made when they are asked for."""

    distances: NDArray[np.int64]  # Hamming
    weights: NDArray[np.float64]  # weighted distances, 0 to 1
    bits: int
    last_block: int  # where the last block begins
    certificate: Certificate  # of the Hamming search
    reordered: bool  # whether real values had a say
    ids_at: Callable[[NDArray[np.int64]], list[str]]  # the ids of items by their places

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return not len(self.distances) or self.certificate.radius[0] >= self.bits


def rank(index: EmbeddedIndex, values: NDArray[np.floating], size: int, *, among: Selection | None = None) -> Ranked:
    """The `size` nearest items of a query, and all that are as far as the last of them.

    They are ordered anew in blocks of whole shells. Whoever asks for a size of `whole_blocks` gets the same items first
    as whoever asks for a larger one.
    """
    sizes = np.abs(values.astype(np.float64))
    if not np.isfinite(sizes).all() or not sizes.any():
        raise UsageError("the query's values are all zero or not finite", next_step="ask something else")
    code = Codes.from_values(values[None])
    found = index.around(code, size, among=among)
    distances, weights = found.distances, weighted_distances(found.codes.packed ^ code.packed, sizes)
    order, last_block = np.arange(len(distances)), 0
    for begin, end in blocks(distances):
        # Stable: what weighs the same stays in the order of distances and ids.
        order[begin:end] = begin + np.argsort(weights[begin:end], kind="stable")
        last_block = begin
    return Ranked(
        distances=distances[order],
        weights=weights[order],
        bits=code.bits,
        last_block=last_block,
        certificate=found.certificate,
        reordered=bool(np.ptp(sizes) > 0),
        ids_at=lambda places: found.ids_at(order[places]),
    )


def weighted_distances(differing: NDArray[np.uint8], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of all `sizes` that the bits have which are set in each packed row.

    >>> weighted_distances(np.array([[0b00], [0b10]], dtype=np.uint8), np.array([1.0, 3.0]))
    array([0.  , 0.75])
    """
    n_bytes = differing.shape[1]
    of_bytes = np.zeros(8 * n_bytes)
    of_bytes[: len(sizes)] = sizes
    # What each value of each byte weighs: a row is then a few additions, always in the same order, so that equal
    # codes weigh the same to the last bit.
    tables = of_bytes.reshape(n_bytes, 8) @ _BITS_OF_BYTES.T
    total = np.zeros(len(differing))
    for place, table in enumerate(tables):
        total += table[differing[:, place]]
    return total / float(sizes.sum())


def whole_blocks(n: int) -> int:
    """The least number from n on at which a block ends.

    >>> whole_blocks(20), whole_blocks(1001)
    (1000, 2000)
    """
    size = FIRST_BLOCK
    while size < n:
        size *= 2
    return size


def blocks(distances: NDArray[np.int64], first: int = FIRST_BLOCK) -> list[tuple[int, int]]:
    """The parts of ascending distances that are ordered anew together; equal distances are in one part.

    >>> blocks(np.array([0, 1, 1, 1, 2, 3, 4]), first=2)
    [(0, 4), (4, 7)]
    """
    found, begin, size = [], 0, first
    while begin < len(distances):
        last = distances[min(size, len(distances)) - 1]
        end = max(begin, int(np.searchsorted(distances, last, side="right")))
        if end > begin:
            found.append((begin, end))
        begin, size = end, 2 * size
    return found
