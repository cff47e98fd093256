"""What a picture looks like in the small: its thumbnail, and eight bytes by which look-alikes are told.

Codes say what a picture shows: two dogs may share one. Whether two pictures are nearly the same photograph is asked of
their pixels: a bit for each pair of neighbouring fields of a 9 x 8 grid, saying which of both is brighter.
"""

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

THUMBNAIL = 320  # pixels of the longer side
QUALITY = 75
GRID = (9, 8)
_AT_ONCE = 256  # looks that are compared with all before them
ALIKE = 6  # bits of 64 in which look-alikes may differ


def thumbnail(picture: Image.Image) -> bytes:
    """A small copy of an RGB picture, as a WebP file."""
    scale = min(1, THUMBNAIL / max(picture.size))
    width, height = (max(1, round(side * scale)) for side in picture.size)
    small = picture if scale == 1 else picture.resize((width, height), Image.Resampling.BILINEAR, reducing_gap=1.5)
    file = io.BytesIO()
    small.save(file, "WEBP", quality=QUALITY, method=0)  # others take up to four times as long for a fifth of the bytes
    return file.getvalue()


def look(picture: Image.Image) -> bytes:
    """Eight bytes that hardly change when a picture is saved in another size or quality.

    >>> flat = Image.new("RGB", (90, 80), "red")
    >>> look(flat) == look(flat.resize((45, 40)))
    True
    """
    grey = np.asarray(picture.convert("L").resize(GRID, Image.Resampling.BOX), dtype=np.int16)
    return np.packbits(grey[:, 1:] > grey[:, :-1]).tobytes()


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
