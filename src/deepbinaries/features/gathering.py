"""Pictures gathered for a network: so many at a time, or fewer where they are large."""

from collections.abc import Iterable, Iterator

from PIL import Image

from deepbinaries.features.in_order import ENOUGH


def gathered(pictures: Iterable[Image.Image], most: int) -> Iterator[list[Image.Image]]:
    """Pictures in batches of `most`; one ends earlier as soon as its pictures have as many pixels as may lie ready.

    >>> [len(some) for some in gathered([Image.new("L", (1, 1))] * 5, 2)]
    [2, 2, 1]
    """
    batch: list[Image.Image] = []
    n_pixels = 0
    for picture in pictures:
        batch.append(picture)
        n_pixels += picture.width * picture.height
        if len(batch) == most or n_pixels >= ENOUGH:
            yield batch
            batch, n_pixels = [], 0
    if batch:
        yield batch
