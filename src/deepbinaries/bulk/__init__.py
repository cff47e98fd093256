"""Codes of large collections: encoded by as many workers as there are, written as shards that say when they are whole.

    encode_collection("shards-of-pictures", "codes", LazyModel("model"), workers=Workers(8))
    import_shards("codes", "codes-index")

Whatever ends a run, the next one goes on: what is done is not decoded again.
"""

from deepbinaries.bulk.encoding import Report, encode_collection
from deepbinaries.bulk.importing import import_shards
from deepbinaries.bulk.shards import Shard, read_shards
from deepbinaries.bulk.workers import Workers

__all__ = ["Report", "Shard", "Workers", "encode_collection", "import_shards", "read_shards"]
