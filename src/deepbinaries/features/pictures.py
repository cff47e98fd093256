"""Region features for the pictures of a dataset: made once, kept on disk, taken up where a run was interrupted."""

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets import Dataset
from deepbinaries.errors import UsageError
from deepbinaries.features.decoding import Decoded, decode_in_processes, decode_in_threads
from deepbinaries.features.encoding import PictureEncoder, Shard, batches_at_once, encode_shards, pixels_needed
from deepbinaries.features.in_order import in_order
from deepbinaries.features.manifest import claim, describe
from deepbinaries.features.shards import check_shard, read_note, write_shard
from deepbinaries.features.store import FeatureStore, unfinished
from deepbinaries.progress import track
from deepbinaries.vision.reading import reads_heic

SHARD_ITEMS = 512  # what a killed run loses at most, and on a GPU what it did while they were written; 88 MB
MOST_WORKERS = 16
LEAST_CORES = 4  # below, processes that decode would take turns with the one that feeds the GPU
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
    its features are zeros, and `failures` of the store says why. So many `workers` decode ahead: threads, or, when
    there are several and the encoder runs on a GPU, processes. Unless given, as many as there are cores, or three for
    every four of them where a GPU is; at most 16.
    """
    if batch < 1 or shard_items < 1 or (workers is not None and workers < 1):
        raise UsageError(
            f"batch={batch}, workers={workers} and shard_items={shard_items} encode nothing",
            next_step="give numbers from 1 on",
        )
    mode = "" if progress else "quiet"
    made_by = {**encoder.fingerprint, "at_least": pixels_needed(encoder), "heic": reads_heic()}
    manifest = describe(dataset, _ascending(dataset, rows), made_by, shard_items)
    home = claim(Path(folder), manifest)
    shards, missing = manifest.shards(), unfinished(home, manifest)
    shape = None
    for shard in track(sorted(set(range(len(shards))) - set(missing)), "checking features", mode=mode):
        note = read_note(home, shard, manifest.ids[shards[shard]])
        check_shard(home, shard, note)
        shape = note.shape[1:]
    left = [row for shard in missing for row in manifest.rows[shards[shard]].tolist()]
    with closing(_decoded(dataset, left, encoder, workers=workers, ready=batch)) as decoded:
        pictures = track(decoded, "encoding pictures", total=len(left), mode=mode)
        ids = [manifest.ids[shards[shard]] for shard in missing]
        with closing(encode_shards(pictures, ids, encoder, batch=batch, shape=shape)) as encoded:
            _write(home, zip(missing, encoded, strict=True), encoder)
    return FeatureStore(home)


def _decoded(
    dataset: Dataset, rows: Sequence[int], encoder: PictureEncoder, *, workers: int | None, ready: int
) -> Generator[Decoded, None, None]:
    """The pictures of these rows, decoded in the way that is fastest for this encoder on this machine."""
    cores = os.cpu_count() or 1
    in_processes = batches_at_once(encoder) > 1 and workers != 1 and cores >= LEAST_CORES
    # The process that feeds a GPU needs cores of its own, or it comes late to it.
    workers = workers or min(MOST_WORKERS, cores * 3 // 4 if in_processes else cores)
    decode = decode_in_processes if in_processes else decode_in_threads
    return decode(dataset, rows, at_least=pixels_needed(encoder), workers=workers, ready=ready)


def _write(folder: Path, shards: Iterable[tuple[int, Shard]], encoder: PictureEncoder) -> None:
    """Write shards as they come. A GPU goes on meanwhile; elsewhere that would save less than a killed run loses."""

    def write(shard: tuple[int, Shard]) -> None:
        number, (parts, failures) = shard
        write_shard(folder, number, parts, failures)

    for _ in in_order(write, shards, workers=1, ahead=2 if batches_at_once(encoder) > 1 else 1):
        pass


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
