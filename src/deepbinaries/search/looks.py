"""Look-alikes, told by the eight bytes that say of each picture what it looks like in the small."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 256  # looks that are compared with all before them
ALIKE = 6  # bits of 64 in which look-alikes may differ


def fold(looks: Sequence[bytes], *, most: int = ALIKE) -> list[int]:
    """For each picture in order the first one that it looks like, itself if there is none.

    >>> fold([bytes(8), b"\\xff" * 8, b"\\x01" + bytes(7)])
    [0, 1, 0]
    """
    if not looks:
        return []
    all_looks = np.frombuffer(b"".join(looks), dtype=np.uint64)
    firsts, heads = list(range(len(looks))), np.empty(0, dtype=np.int64)
    for begin in range(0, len(looks), _AT_ONCE):
        places = np.arange(begin, min(begin + _AT_ONCE, len(looks)))
        near = _near(all_looks[places], all_looks[heads], most)
        known = near.any(axis=1)
        if known.any():
            for place, head in zip(places[known].tolist(), heads[near[known].argmax(axis=1)].tolist(), strict=True):
                firsts[place] = head
        places = places[~known]
        # Most pictures look like no other: it is only few pairs that are gone through one by one.
        for later, earlier in np.argwhere(np.tril(_near(all_looks[places], all_looks[places], most), -1)).tolist():
            place, other = int(places[later]), int(places[earlier])
            if firsts[place] == place and firsts[other] == other:
                firsts[place] = other
        heads = np.concatenate([heads, [place for place in places.tolist() if firsts[place] == place]]).astype(np.int64)
    return firsts


def _near(some: NDArray[np.uint64], others: NDArray[np.uint64], most: int) -> NDArray[np.bool_]:
    """Which looks are nearly the same, (some, others)."""
    near: NDArray[np.bool_] = np.bitwise_count(some[:, None] ^ others) <= most
    return near
