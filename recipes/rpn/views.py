"""What the head learns from: photographs, mirrored ones and cut-outs, each with the teacher's boxes in it."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepbinaries.datasets.base import Dataset
from deepbinaries.errors import DataError
from deepbinaries.features.decoding import decode_in_processes
from deepbinaries.vision.backbones import Backbone
from deepbinaries.vision.pixels import Picture, as_pixels, size_of
from deepbinaries.vision.regions import Shares, areas
from deepbinaries.vision.stretching import stretched
from recipes.rpn.teacher import Seen

SMALLEST_CUT = 0.5  # of a picture's side
STEP = 16  # pixels of a cut-out's sides, so that there are few sizes: each is prepared for anew
STILL_SEEN = 0.5  # the share of a thing that a cut-out must leave
AT_ONCE = 128


@dataclass(frozen=True)
class View:
    """A picture to learn from, and where things are in it."""

    picture: Picture
    boxes: Shares  # (k, 4)
    objectness: Shares  # (k,)


def mirrored(view: View) -> View:
    """The same view from left to right.

    >>> pixels = np.array([[[1, 1, 1], [2, 2, 2]]], np.uint8)
    >>> turned = mirrored(View(pixels, np.array([[0, 0, 0.25, 1]], np.float32), np.ones(1, np.float32)))
    >>> turned.picture[0, :, 0].tolist(), turned.boxes.tolist()
    ([2, 1], [[0.75, 0.0, 1.0, 1.0]])
    """
    x0, y0, x1, y1 = view.boxes.T
    pixels = np.ascontiguousarray(as_pixels(view.picture)[:, ::-1])
    return View(pixels, np.stack([1 - x1, y0, 1 - x0, y1], axis=1), view.objectness)


def cut_out(view: View, rng: np.random.Generator) -> View:
    """A part of the view, about half as wide and high at least; things that lose half of them are no longer there."""
    width, height = size_of(view.picture)
    w, h = (max(1, int(length * rng.uniform(SMALLEST_CUT, 1)) // STEP * STEP) for length in (width, height))
    x, y = int(rng.integers(width - w + 1)), int(rng.integers(height - h + 1))
    pixels = np.ascontiguousarray(as_pixels(view.picture)[y : y + h, x : x + w])
    corner, size = np.array([x, y, x, y]), np.array([w, h, w, h])
    inside = ((view.boxes * np.array([width, height, width, height]) - corner) / size).clip(0, 1).astype(np.float32)
    left = areas(inside) * (w * h) / (width * height)
    stays = left >= STILL_SEEN * areas(view.boxes)
    return View(pixels, inside[stays], view.objectness[stays])


def views_of(picture: Picture, seen: Seen, rng: np.random.Generator, *, cuts: int) -> list[View]:
    """The picture, its mirror image and some cut-outs, every other one mirrored."""
    whole = View(picture, seen.boxes, seen.objectness)
    parts = [cut_out(whole, rng) for _ in range(cuts)]
    return [whole, mirrored(whole), *(mirrored(part) if place % 2 else part for place, part in enumerate(parts))]


def pictures_of(dataset: Dataset, rows: Sequence[int]) -> Iterator[Picture]:
    """The pictures of some rows, decoded ahead."""
    workers = min(16, os.cpu_count() or 1)
    with closing(decode_in_processes(dataset, rows, at_least=None, workers=workers, ready=4 * AT_ONCE)) as decoded:
        for picture in decoded:
            if isinstance(picture, str):
                raise DataError(picture, next_step="copy the dataset again")
            yield picture


def map_maker(backbone: Backbone, side: int) -> Callable[[Sequence[Picture]], Any]:
    """A function that gives the maps of some pictures as a tensor, on the device of the backbone."""
    of: Any = backbone

    def on_gpu(pictures: Sequence[Picture]) -> Any:
        return of.maps_of_pictures(pictures, side)

    def on_cpu(pictures: Sequence[Picture]) -> Any:
        return of.tensor_maps(np.stack([stretched(picture, side) for picture in pictures]))

    return on_gpu if of.on_gpu else on_cpu
