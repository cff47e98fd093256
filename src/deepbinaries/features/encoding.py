"""From decoded pictures to region features in memory: encoded in batches, several at a time where a GPU is."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deepbinaries.errors import DataError, UsageError
from deepbinaries.features.decoding import Decoded
from deepbinaries.features.in_order import in_order
from deepbinaries.features.inputs import POSITION
from deepbinaries.vision.pixels import Picture

EXPONENT = 0x7C00  # the bits of a float16 that are all set in infinities and in what is no number

Features = NDArray[np.float16]
Shard = tuple[list[Features], dict[str, str]]  # in batches, and the reasons by id why some are zeros


class PictureEncoder(Protocol):
    """What turns pictures into region features.

    An encoder may also have `at_least`: how many pixels it needs of a picture's sides, so that larger ones
    can be decoded faster; and `at_once`: how many batches it is best given at a time, one if it does not say.
    One that takes several may be given pictures as their pixels, (height, width, 3), instead of as Pillow's.
    """

    @property
    def width(self) -> int:
        """d: features of a region, its position not counted."""

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """All that decides the features, as JSON: weights by their digest, proposer, number of regions, sizes."""

    def encode(self, pictures: Sequence[Picture], ids: Sequence[str]) -> Features:
        """The features of the pictures' regions, (n, K + 1, width + 4), the whole picture last."""


def pixels_needed(encoder: PictureEncoder) -> int | None:
    """What an encoder needs of a picture's sides; None: all they have."""
    at_least: int | None = getattr(encoder, "at_least", None)
    return at_least


def batches_at_once(encoder: PictureEncoder) -> int:
    """How many batches an encoder is best given at a time: several where a GPU is, one elsewhere."""
    at_once: int = getattr(encoder, "at_once", 1)
    return at_once


def encode_shards(
    decoded: Iterator[Decoded],
    shards: Iterable[Sequence[str]],
    encoder: PictureEncoder,
    *,
    batch: int,
    shape: tuple[int, ...] | None,
) -> Generator[Shard, None, None]:
    """The features of each shard of ids, in batches, and the reasons why some are zeros.

    Pictures come in the ids' order. Batches end where a shard ends, so that an interrupted run encodes the same
    batches as any other. `shape` is that of an item's features where it is known: items that all fail do not tell it.
    """
    all_ids = [list(ids) for ids in shards]

    def batches() -> Iterator[tuple[list[str], list[Decoded]]]:
        for ids in all_ids:
            for start in range(0, len(ids), batch):
                names = ids[start : start + batch]
                yield names, list(islice(decoded, len(names)))

    def encode(names_and_pictures: tuple[list[str], list[Decoded]]) -> tuple[Features | None, dict[str, str]]:
        return encode_batch(encoder, *names_and_pictures)

    at_once = batches_at_once(encoder)
    done = in_order(encode, batches(), workers=at_once, ahead=at_once)
    try:
        for ids in all_ids:
            lengths = [len(ids[start : start + batch]) for start in range(0, len(ids), batch)]
            parts = list(islice(done, len(lengths)))
            failures = {id_: reason for _, reasons in parts for id_, reason in reasons.items()}
            found = next((features for features, _ in parts if features is not None), None)
            if found is None and shape is None:
                raise DataError(
                    f"none of the first {len(ids):,} pictures can be read (the first: {failures[ids[0]]})",
                    next_step="check that the pictures of this dataset are in place",
                )
            shape = shape or (0 if found is None else found.shape[1], encoder.width + POSITION)
            yield [_whole(part, n, shape) for (part, _), n in zip(parts, lengths, strict=True)], failures
    finally:
        done.close()


def encode_batch(
    encoder: PictureEncoder, ids: list[str], decoded: list[Decoded]
) -> tuple[Features | None, dict[str, str]]:
    """Features of a batch, zeros where a picture has none, and the reasons by id; None where all have failed."""
    failures = {id_: picture for id_, picture in zip(ids, decoded, strict=True) if isinstance(picture, str)}
    places = [place for place, picture in enumerate(decoded) if not isinstance(picture, str)]
    if not places:
        return None, failures
    pictures = [picture for picture in decoded if not isinstance(picture, str)]
    features = encoder.encode(pictures, [ids[place] for place in places])
    if features.dtype != np.float16 or features.ndim != 3 or len(features) != len(pictures):
        raise _misshapen(features, f"({len(pictures)}, regions, {encoder.width + POSITION})")
    finite = are_finite(features)
    if len(places) == len(ids) and finite.all():
        return features, failures
    failures |= {ids[places[item]]: "its features are not finite" for item in np.flatnonzero(~finite)}
    filled = np.zeros((len(ids), *features.shape[1:]), dtype=np.float16)
    filled[np.array(places)[finite]] = features[finite]
    return filled, failures


def are_finite(features: Features) -> NDArray[np.bool_]:
    """Which items of (n, regions, width) hold finite numbers alone. By their bits, some ten times as fast as numpy.

    >>> are_finite(np.array([[[1, -65504]], [[0, np.inf]], [[np.nan, 0]]], np.float16)).tolist()
    [True, False, False]
    """
    exponents = features.view(np.uint16) & EXPONENT
    largest: NDArray[np.uint16] = exponents.max(axis=(1, 2), initial=0)
    return largest < EXPONENT


def _whole(features: Features | None, n_items: int, shape: tuple[int, ...]) -> Features:
    """The features of a batch, proven to be of this shape; zeros where it has none."""
    if features is None:
        return np.zeros((n_items, *shape), dtype=np.float16)
    if features.shape[1:] != shape:
        raise _misshapen(features, str((len(features), *shape)))
    return features


def _misshapen(features: NDArray[Any], wanted: str) -> UsageError:
    return UsageError(
        f"the encoder gives {features.dtype} {features.shape} for {len(features)} pictures, not float16 {wanted}",
        next_step="give features as (pictures, regions, width + 4), the same number of regions for every picture",
    )
