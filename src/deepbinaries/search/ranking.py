"""The order of what is found: whole shells of equal Hamming distance, ordered anew by the query's real values.

The signs of a query's values are its code, and their sizes say how sure each bit is. A stored code that differs in
unsure bits is nearer than one that differs in sure ones. The weighted distance is the share of the query's certainty
that the differing bits have, 0 to 1; for a query that is a code itself it is the Hamming distance over the length.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes
from deepbinaries.errors import UsageError
from deepbinaries.index import Certificate, Index

FIRST_BLOCK = 1000  # items that are ordered anew together, and all that are as far as the last; then twice as many


@dataclass(frozen=True)
class Ranked:
    """Items in their order."""

    ids: list[str]
    distances: NDArray[np.int64]  # Hamming
    weights: NDArray[np.float64]  # weighted distances, 0 to 1
    bits: int
    last_block: int  # where the last block begins
    certificate: Certificate  # of the Hamming search
    reordered: bool  # whether real values had a say

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return not self.ids or self.certificate.radius[0] >= self.bits


def rank(index: Index, values: NDArray[np.floating], size: int, *, among: Sequence[str] | None = None) -> Ranked:
    """The `size` nearest items of a query, and all that are as far as the last of them.

    They are ordered anew in blocks of whole shells. Whoever asks for a size of `whole_blocks` gets the same items first
    as whoever asks for a larger one.
    """
    sizes = np.abs(values.astype(np.float64))
    if not np.isfinite(sizes).all() or not sizes.any():
        raise UsageError("the query's values are all zero or not finite", next_step="ask something else")
    code = Codes.from_values(values[None])
    answer = index.search(code, size, among=among, with_ties=True)
    ids, distances = answer.ids[0], np.array(answer.distances[0], dtype=np.int64)
    weights = np.empty(0)
    if ids:
        weights = (index.codes_of(ids).to_bits() != code.to_bits()) @ sizes / sizes.sum()
    order, last_block = np.arange(len(ids)), 0
    for begin, end in blocks(distances):
        # Stable: what weighs the same stays in the order of distances and ids.
        order[begin:end] = begin + np.argsort(weights[begin:end], kind="stable")
        last_block = begin
    return Ranked(
        ids=[ids[place] for place in order.tolist()],
        distances=distances[order],
        weights=weights[order],
        bits=code.bits,
        last_block=last_block,
        certificate=answer.certificate,
        reordered=bool(np.ptp(sizes) > 0),
    )


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
