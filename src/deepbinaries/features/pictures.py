"""Region features for the pictures of a dataset: made once, kept on disk, taken up where a run was interrupted."""

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets import Dataset
from deepbinaries.errors import UsageError
from deepbinaries.features.encoding import PictureEncoder, decode_ahead, encode_shards
from deepbinaries.features.manifest import claim, describe
from deepbinaries.features.shards import check_shard, read_note, write_shard
from deepbinaries.features.store import FeatureStore, unfinished
from deepbinaries.progress import track

SHARD_ITEMS = 512  # what a killed run loses at most; 88 MB in the paper's size
MOST_WORKERS = 16
BATCH = 64  # pictures encoded together


def prepare_images(
    dataset: Dataset,
    rows: NDArray[np.integer] | Sequence[int] | None,
    encoder: PictureEncoder,
    folder: str | Path,
    *,
    batch: int = BATCH,
    workers: int | None = None,
    progress: bool = True,
    shard_items: int = SHARD_ITEMS,
) -> FeatureStore:
    """The store of the region features of these rows (None: all), in a folder of its own below `folder`.

    What an earlier run has done is checked and kept. A picture that cannot be read does not stop a run:
    its features are zeros, and `failures` of the store says why.
    """
    if batch < 1 or shard_items < 1 or (workers is not None and workers < 1):
        raise UsageError(
            f"batch={batch}, workers={workers} and shard_items={shard_items} encode nothing",
            next_step="give numbers from 1 on",
        )
    mode = "" if progress else "quiet"
    at_least: int | None = getattr(encoder, "at_least", None)
    made_by = {**encoder.fingerprint, "at_least": at_least}
    manifest = describe(dataset, _ascending(dataset, rows), made_by, shard_items)
    home = claim(Path(folder), manifest)
    shards, missing = manifest.shards(), unfinished(home, manifest)
    shape = None
    for shard in track(sorted(set(range(len(shards))) - set(missing)), "checking features", mode=mode):
        note = read_note(home, shard)
        check_shard(home, shard, note)
        shape = note.shape[1:]
    left = [row for shard in missing for row in manifest.rows[shards[shard]].tolist()]
    workers = workers or min(MOST_WORKERS, os.cpu_count() or 1)
    ahead = batch + workers  # the next batch is ready when the encoder is, and no more lies in memory
    with closing(decode_ahead(dataset, left, at_least=at_least, workers=workers, ahead=ahead)) as decoded:
        pictures = track(decoded, "encoding pictures", total=len(left), mode=mode)
        ids = [manifest.ids[shards[shard]] for shard in missing]
        with closing(encode_shards(pictures, ids, encoder, batch=batch, shape=shape)) as encoded:
            for shard, (regions, failures) in zip(missing, encoded, strict=True):
                write_shard(home, shard, regions, failures)
    return FeatureStore(home)


def _ascending(dataset: Dataset, rows: Any) -> NDArray[np.int64]:
    """The rows in the order of the dataset, each once, so that a store serves every split that draws from them."""
    n_items = len(dataset.ids)
    chosen = np.arange(n_items) if rows is None else np.unique(np.asarray(rows, dtype=np.int64))
    if not len(chosen):
        raise UsageError("there are no rows to prepare", next_step="give some, or None for all")
    if chosen[0] < 0 or chosen[-1] >= n_items:
        raise UsageError(
            f"row {chosen[0] if chosen[0] < 0 else chosen[-1]} is not in {dataset.name!r}",
            next_step=f"give rows from 0 to {n_items - 1}",
        )
    return chosen
