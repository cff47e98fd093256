"""From the pictures of a dataset to region features in memory: decoded ahead in threads, encoded in batches."""

from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.datasets import Dataset
from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.features.inputs import POSITION
from deepbinaries.vision import read_picture

Decoded = Image.Image | str  # a picture, or the reason why it cannot be read


class PictureEncoder(Protocol):
    """What turns pictures into region features.

    An encoder may also have `at_least`: how many pixels it needs of a picture's sides, so that larger ones
    can be decoded faster.
    """

    @property
    def width(self) -> int:
        """d: features of a region, its position not counted."""

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """All that decides the features, as JSON: weights by their digest, proposer, number of regions, sizes."""

    def encode(self, pictures: Sequence[Image.Image], ids: Sequence[str]) -> NDArray[np.float16]:
        """The features of the pictures' regions, (n, K + 1, width + 4), the whole picture last."""


def decode_ahead(
    dataset: Dataset, rows: Sequence[int], *, at_least: int | None, workers: int, ahead: int
) -> Generator[Decoded, None, None]:
    """The picture of each row, in order; no more than `ahead` wait in memory while others are encoded."""

    def decode(row: int) -> Decoded:
        try:
            return read_picture(dataset.picture(row), name=dataset.ids[row], at_least=at_least)
        except (Error, OSError) as error:
            return str(error)

    waiting: deque[Future[Decoded]] = deque()
    pool = ThreadPoolExecutor(workers)  # Pillow's decoders let other threads run
    try:
        for row in rows:
            waiting.append(pool.submit(decode, row))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def encode_shard(
    decoded: Iterator[Decoded],
    ids: Sequence[str],
    encoder: PictureEncoder,
    *,
    batch: int,
    shape: tuple[int, ...] | None,
) -> tuple[NDArray[np.float16], dict[str, str]]:
    """The features of the next items, one for each id, and by id the reasons why some are zeros.

    Batches end where the shard ends, so that an interrupted run encodes the same batches as any other.
    `shape` is that of an item's features where it is known: items that all fail do not tell it.
    """
    regions = None if shape is None else np.zeros((len(ids), *shape), dtype=np.float16)
    failures: dict[str, str] = {}
    for start in range(0, len(ids), batch):
        names = ids[start : start + batch]
        places, pictures = [], []
        for place, picture in enumerate(islice(decoded, len(names)), start):
            if isinstance(picture, str):
                failures[ids[place]] = picture
            else:
                places.append(place)
                pictures.append(picture)
        if pictures:
            features = _encode(encoder, pictures, [ids[place] for place in places], shape)
            if regions is None:
                shape = features.shape[1:]
                regions = np.zeros((len(ids), *shape), dtype=np.float16)
            finite = np.isfinite(features).all(axis=(1, 2))
            failures |= {ids[places[item]]: "its features are not finite" for item in np.flatnonzero(~finite)}
            regions[np.array(places)[finite]] = features[finite]
    if regions is None:
        raise DataError(
            f"none of the first {len(ids):,} pictures can be read (the first: {failures[ids[0]]})",
            next_step="check that the pictures of this dataset are in place",
        )
    return regions, failures


def _encode(
    encoder: PictureEncoder, pictures: list[Image.Image], ids: list[str], shape: tuple[int, ...] | None
) -> NDArray[np.float16]:
    features = encoder.encode(pictures, ids)
    wanted = (len(pictures), *(shape or (*features.shape[1:2], encoder.width + POSITION)))
    if features.dtype != np.float16 or features.shape != wanted:
        raise UsageError(
            f"the encoder gives {features.dtype} {features.shape} for {len(pictures)} pictures, not float16 {wanted}",
            next_step="give features as (pictures, regions, width + 4), the same number of regions for every picture",
        )
    return features
