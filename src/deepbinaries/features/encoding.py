"""From the pictures of a dataset to region features in memory: decoded ahead in threads, encoded in batches."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.datasets import Dataset
from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.features.inputs import POSITION
from deepbinaries.vision import read_picture

Decoded = Image.Image | str  # a picture, or the reason why it cannot be read
Item = TypeVar("Item")
Result = TypeVar("Result")


class PictureEncoder(Protocol):
    """What turns pictures into region features.

    An encoder may also have `at_least`: how many pixels it needs of a picture's sides, so that larger ones
    can be decoded faster; and `at_once`: how many batches it is best given at a time, one if it does not say.
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

    return in_order(decode, rows, workers=workers, ahead=ahead)  # Pillow's decoders let other threads run


def encode_shards(
    decoded: Iterator[Decoded],
    shards: Iterable[Sequence[str]],
    encoder: PictureEncoder,
    *,
    batch: int,
    shape: tuple[int, ...] | None,
) -> Generator[tuple[NDArray[np.float16], dict[str, str]], None, None]:
    """The features of each shard of ids, and by id the reasons why some are zeros; pictures come in the ids' order.

    Batches end where a shard ends, so that an interrupted run encodes the same batches as any other.
    `shape` is that of an item's features where it is known: items that all fail do not tell it.
    """
    all_ids = [list(ids) for ids in shards]

    def batches() -> Iterator[tuple[list[str], list[Decoded]]]:
        for ids in all_ids:
            for start in range(0, len(ids), batch):
                names = ids[start : start + batch]
                yield names, list(islice(decoded, len(names)))

    def encode(
        names_and_pictures: tuple[list[str], list[Decoded]],
    ) -> tuple[NDArray[np.float16] | None, dict[str, str]]:
        return encode_batch(encoder, *names_and_pictures)

    at_once: int = getattr(encoder, "at_once", 1)
    done = in_order(encode, batches(), workers=at_once, ahead=at_once)
    try:
        for ids in all_ids:
            parts = list(islice(done, -(-len(ids) // batch)))
            failures = {id_: reason for _, reasons in parts for id_, reason in reasons.items()}
            found = next((features for features, _ in parts if features is not None), None)
            if found is None and shape is None:
                raise DataError(
                    f"none of the first {len(ids):,} pictures can be read (the first: {failures[ids[0]]})",
                    next_step="check that the pictures of this dataset are in place",
                )
            wanted = shape or (0 if found is None else found.shape[1], encoder.width + POSITION)
            yield _shard(parts, len(ids), batch, wanted), failures
            shape = wanted
    finally:
        done.close()


def encode_batch(
    encoder: PictureEncoder, ids: list[str], decoded: list[Decoded]
) -> tuple[NDArray[np.float16] | None, dict[str, str]]:
    """Features of a batch, zeros where a picture has none, and the reasons by id; None where all have failed."""
    failures = {id_: picture for id_, picture in zip(ids, decoded, strict=True) if isinstance(picture, str)}
    places = [place for place, picture in enumerate(decoded) if not isinstance(picture, str)]
    if not places:
        return None, failures
    pictures = [picture for picture in decoded if not isinstance(picture, str)]
    features = encoder.encode(pictures, [ids[place] for place in places])
    if features.dtype != np.float16 or features.ndim != 3 or len(features) != len(pictures):
        raise _misshapen(features, f"({len(pictures)}, regions, {encoder.width + POSITION})")
    finite = np.isfinite(features).all(axis=(1, 2))
    if len(places) == len(ids) and finite.all():
        return features, failures
    failures |= {ids[places[item]]: "its features are not finite" for item in np.flatnonzero(~finite)}
    filled = np.zeros((len(ids), *features.shape[1:]), dtype=np.float16)
    filled[np.array(places)[finite]] = features[finite]
    return filled, failures


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], *, workers: int, ahead: int
) -> Generator[Result, None, None]:
    """What `work` makes of each item, in their order, done by threads; no more than `ahead` lie in memory.

    >>> list(in_order(abs, [-1, 2, -3], workers=2, ahead=2))
    [1, 2, 3]
    """
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _shard(
    parts: Sequence[tuple[NDArray[np.float16] | None, Any]], n_items: int, batch: int, shape: tuple[int, ...]
) -> NDArray[np.float16]:
    regions = np.zeros((n_items, *shape), dtype=np.float16)
    for start, (features, _) in zip(range(0, n_items, batch), parts, strict=True):
        if features is not None:
            if features.shape[1:] != shape:
                raise _misshapen(features, str((len(features), *shape)))
            regions[start : start + batch] = features
    return regions


def _misshapen(features: NDArray[Any], wanted: str) -> UsageError:
    return UsageError(
        f"the encoder gives {features.dtype} {features.shape} for {len(features)} pictures, not float16 {wanted}",
        next_step="give features as (pictures, regions, width + 4), the same number of regions for every picture",
    )
