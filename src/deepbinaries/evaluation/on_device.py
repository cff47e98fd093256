"""Counting where torch computes, a GPU above all: the numbers of the processor's kernel, from matrix products.

Two codes written as -1 and +1 have the product bits - 2 * distance, and two sets of labels written as 0
and 1 have as product the number of labels they share. Every sum on the way is a whole number, and up to
2,048 even half precision holds those exactly: nothing is ever rounded.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deepbinaries.codes import Codes
from deepbinaries.evaluation.relevance import SharedLabels
from deepbinaries.vision.backbones.torch_backbone import find_device

AT_ONCE = 2**24  # comparisons, or bits of the gallery: some hundred megabytes
EXACT_IN_HALF = 2048

Counting = Callable[[Codes, slice], NDArray[np.int64]]


def counting(gallery: Codes, relevance: SharedLabels, n_grades: int, device: str) -> Counting:
    """What counts gallery items by grade and distance, (queries, grades, bits + 1), for queries and their rows.

    Higher grades than there are count as the last one, so that two grades say whether an item is relevant.

    >>> from deepbinaries.datasets.labels import Labels
    >>> labels = Labels.from_names([["cat"], ["cat"], ["dog"]])
    >>> codes = Codes.from_bits([[1, 1], [0, 1], [1, 1]])
    >>> counting(codes, SharedLabels.of(labels, labels), 2, "cpu")(codes[0], slice(0, 1)).tolist()
    [[[1, 0, 0], [1, 1, 0]]]
    """
    place, n_distances = find_device(device), gallery.bits + 1
    packed, labels = _to(place, gallery.packed), _to(place, _bytes(relevance.gallery))

    def count(queries: Codes, rows: slice) -> NDArray[np.int64]:
        asking = _bits(_to(place, queries.packed)) * 2 - 1
        asked = _bits(_to(place, _bytes(relevance.queries[:, rows])))
        n_bits = asking.shape[1]  # whole bytes: padding is equal everywhere and makes no distance
        n_keys = n_grades * n_distances
        first_keys = n_keys * torch.arange(len(queries), device=place)[:, None]
        counts = torch.zeros(n_keys * len(queries), dtype=torch.int64, device=place)
        step = max(1, AT_ONCE // max(len(queries), n_bits, asked.shape[1]))
        for start in range(0, len(gallery), step):
            stored, carried = _bits(packed[start : start + step]) * 2 - 1, _bits(labels[start : start + step])
            distance = (n_bits - asking @ stored.T).long() // 2
            grade = (asked @ carried.T).long().clamp(max=n_grades - 1)
            keys = first_keys + n_distances * grade + distance
            counts += torch.bincount(keys.flatten(), minlength=len(counts))
        found: NDArray[np.int64] = counts.reshape(len(queries), n_grades, n_distances).cpu().numpy()
        return found

    return count


def _to(place: torch.device, array: NDArray[np.uint8]) -> Tensor:
    return torch.from_numpy(np.array(array)).to(place)  # a copy: torch warns of arrays that cannot be written


def _bytes(masks: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Label columns (words, n) as (n, bytes), least significant first."""
    return np.ascontiguousarray(masks.T, dtype="<u8").view(np.uint8)


def _bits(packed: Tensor) -> Tensor:
    """The bits of (n, bytes) as (n, 8 * bytes) numbers 0 and 1, ready to be multiplied."""
    bits = (packed[:, :, None] >> torch.arange(8, device=packed.device, dtype=torch.uint8)) & 1
    half = packed.is_cuda and 8 * packed.shape[1] <= EXACT_IN_HALF
    return bits.flatten(1).to(torch.float16 if half else torch.float32)
