"""The shards of an index in this process, in place of the actors of a cluster: the same questions and answers."""

from deepbinaries.index.ray import RayIndex
from deepbinaries.index.shard import Shard, given


class LocalShards:
    def __init__(self, root, n_shards):
        self.shards = [Shard(str(root), place) for place in range(n_shards)]

    def ask(self, questions, **_patience):
        return {place: given(self.shards[place].ask(*question)) for place, question in questions.items()}

    def close(self):
        pass


class LocalIndex(RayIndex):
    """`RayIndex` without Ray."""

    def _start(self):
        return LocalShards(self.folder, self._n_shards)

    def _n_machines(self):
        return 3
