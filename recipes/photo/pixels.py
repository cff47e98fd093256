"""Decodes every photograph once, by all cores, into one array a collection.

    python -m recipes.photo.pixels FULL --cache CACHE
    python -m recipes.photo.pixels DATA --cache CACHE/thumbnails

CACHE then holds `coco18-288.npy` and so on, 12 GB, and 10 GB of thumbnails; training and encoding read these.
"""

import argparse
import multiprocessing
import os
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from deepbinaries.datasets import Dataset
from deepbinaries.progress import track
from deepbinaries.vision import read_picture
from deepbinaries.vision.stretching import stretched
from recipes.photo.sources import read_sources

SIDE = 288  # pixels; photographs are stretched to a square of it
THUMBNAILS = "thumbnails"  # the folder of them in the cache
AT_ONCE = 50  # photographs that a worker is given


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of coco18, iapr22 and, in full size, extra")
    parser.add_argument("--cache", type=Path, required=True)
    options = parser.parse_args()
    for source in read_sources(options.data):
        print(source.name, decoded(source.dataset, options.cache).shape, flush=True)


def decoded(dataset: Dataset, cache: Path) -> NDArray[np.uint8]:
    """The pixels of a collection, (n, side, side, 3), from the cache or, the first time, from its pictures."""
    path = cache / f"{dataset.name}-{SIDE}.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        open_memmap(unfinished, "w+", np.uint8, (len(dataset.ids), SIDE, SIDE, 3)).flush()
        _decode_all(dataset, unfinished)
        unfinished.replace(path)
    pixels: NDArray[np.uint8] = np.load(path, mmap_mode="r", allow_pickle=False)
    return pixels


def _decode_all(dataset: Dataset, path: Path) -> None:
    rows = range(len(dataset.ids))
    tasks = [rows[start : start + AT_ONCE] for start in rows[::AT_ONCE]]
    workers = min(len(os.sched_getaffinity(0)), len(tasks))
    if workers == 1:
        _begin(dataset, path)
        list(map(_decode, tasks))
        return
    with multiprocessing.get_context("spawn").Pool(workers, _begin, (dataset, path)) as pool:
        for _ in track(pool.imap_unordered(_decode, tasks), f"decoding {dataset.name}", total=len(tasks)):
            pass


def _begin(dataset: Dataset, path: Path) -> None:
    """Let a worker know what it decodes, and the file into which all of them write."""
    global _dataset, _pixels
    _dataset, _pixels = dataset, open_memmap(path, "r+")


def _decode(rows: range) -> None:
    for row in rows:
        _pixels[row] = stretched(read_picture(_dataset.picture(row), name=_dataset.ids[row]), SIDE)


_dataset: Dataset
_pixels: NDArray[np.uint8]

if __name__ == "__main__":
    main()
