"""How much memory a training takes at the size of the paper's COCO: 85,000 pictures, 21 regions of 4,100 numbers each.

    python benchmarks/training_memory.py

The features lie in sparse files: they take no room on the disk, and as much memory as any others once they are read.
Small networks learn from all of them for an epoch and encode them; then the paper's networks learn from a few, since
what those take does not depend on how many pictures there are. The peak is that of the one process that does it all,
pages of the files included, which the system may take back whenever it needs them.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.features.pictures import SHARD_ITEMS
from deepbinaries.features.region_array import RegionArray
from deepbinaries.hashers.tvdb import TVDB
from recording import peak_memory_mb, record
from training import coco_like

PAIRS = 85_000
ALLOWED_GB = 24
BATCH = 128
WORDS, LENGTH = 10_000, 12


@dataclass(frozen=True)
class Shape:
    """Of the features of a picture."""

    regions: int
    width: int  # position included


PAPER, SMALL = Shape(21, 4100), Shape(3, 20)


def sparse_features(folder: Path, n: int, shape: Shape) -> RegionArray:
    """Features as a store has them, memory-mapped from files that are nothing but holes."""
    shards = []
    for start in range(0, n, SHARD_ITEMS):
        of_shard = (min(SHARD_ITEMS, n - start), shape.regions, shape.width)
        path = folder / f"{start}.npy"
        np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=of_shard)
        shards.append(np.lib.format.open_memmap(path, mode="r"))
    return RegionArray(shards, shard_items=SHARD_ITEMS)


def make_pairs(features: RegionArray) -> Pairs:
    n = len(features)
    tokens = np.random.default_rng(0).integers(1, WORDS, (n, LENGTH), dtype=np.int32)
    return Pairs(Images(features), Texts(tokens, WORDS), coco_like(n))


def learn(pairs: Pairs, units: int, *, encode: bool) -> float:
    """Seconds that an epoch takes, and the codes of all pictures where they are asked for."""
    began = time.monotonic()
    hasher = TVDB.preset("tvdb-lstm", device="cpu", epochs=1, batch=BATCH, hidden=units, fc=units).fit(pairs)
    if encode:
        hasher.encode(pairs.images)
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="show that the benchmark runs, and nothing else")
    parser.add_argument("--output", type=Path, help="where to write; benchmarks/results/training_memory.json otherwise")
    options = parser.parse_args()
    n, shape, units = (600, SMALL, 16) if options.small else (PAIRS, PAPER, 1024)
    with tempfile.TemporaryDirectory() as folder:
        features = sparse_features(Path(folder), n, shape)
        pairs = make_pairs(features)
        seconds = learn(pairs, 16, encode=True)
        learn(pairs.select(np.arange(2 * BATCH)), units, encode=False)
        peak = peak_memory_mb() / 1000
    path = record(
        "training_memory",
        ratios={"of_allowed_memory": round(ALLOWED_GB / peak, 2)},
        figures={
            "scale": "small: it shows that the benchmark runs" if options.small else "full",
            "pairs": n,
            "shape_of_a_picture": [shape.regions, shape.width],
            "features_gb": round(features.nbytes / 1e9, 2),
            "peak_memory_gb": round(peak, 2),
            "allowed_gb": ALLOWED_GB,
            "seconds": round(seconds, 1),
        },
        command="python benchmarks/training_memory.py" + (" --small" if options.small else ""),
        output=options.output,
    )
    print(f"{peak:.2f} GB at the peak, {features.nbytes / 1e9:.2f} GB of them features; written to {path.name}")


if __name__ == "__main__":
    main()
