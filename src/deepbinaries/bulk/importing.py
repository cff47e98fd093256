"""Shards into an index."""

from pathlib import Path

from deepbinaries.bulk.folder import Manifest
from deepbinaries.bulk.shards import Shard, names, read_shards
from deepbinaries.codes.codes import concatenate
from deepbinaries.errors import DataError
from deepbinaries.index import Index, open_index
from deepbinaries.progress import track

PORTION = 100_000  # codes that are committed together


def import_shards(shards: str | Path, index: str | Path) -> int:
    """Put the codes of a folder of shards into an index; how many there are. Run again, it changes nothing."""
    folder = Path(shards)
    n_shards, manifest = len(names(folder)), Manifest.read(folder)
    if manifest is None or not n_shards:
        raise DataError(f"{folder} holds no shard that is done", next_step="encode the collection first")
    waiting: list[Shard] = []
    n_items = 0
    with open_index(index, bits=manifest.bits, writable=True) as opened:
        for shard in track(read_shards(folder), "importing shards", total=n_shards):
            waiting.append(shard)
            if sum(len(one.ids) for one in waiting) >= PORTION:
                n_items += _put(waiting, opened)
                waiting = []
        return n_items + _put(waiting, opened)


def _put(shards: list[Shard], index: Index) -> int:
    ids = [id_ for shard in shards for id_ in shard.ids]
    if ids:
        index.replace(ids, concatenate([shard.codes for shard in shards]))
    return len(ids)
