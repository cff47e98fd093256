"""A Ray cluster of three machines for tests, all of them processes of this one."""

import os

from deepbinaries.cluster import SETTINGS, join, leave, quiet

os.environ.update(SETTINGS)  # Ray looks at them when it is imported

import ray  # noqa: F401
from ray.cluster_utils import Cluster

MACHINES = 3
SIZE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}  # of each, in bytes: the least that Ray takes


class RunningRay:
    """The cluster, to which this process is connected."""

    def __init__(self):
        leave()  # of another test, which was connected to Ray on this machine
        with quiet():
            self.cluster = Cluster(initialize_head=True, head_node_args={**SIZE, "include_dashboard": False})
            self.others = [self._further() for _ in range(MACHINES - 1)]
        self.address = self.cluster.address
        join(self.address)

    def _further(self):
        """One more machine; on a busy one it may take longer than Ray waits, so it is tried twice."""
        try:
            return self.cluster.add_node(**SIZE)
        except Exception:  # Ray's own, of no family
            return self.cluster.add_node(**SIZE)

    def lose_a_machine(self):
        """End one at once, as a power cut does."""
        with quiet():
            self.cluster.remove_node(self.others.pop(), allow_graceful=False)

    def remove(self):
        leave()
        with quiet():
            self.cluster.shutdown()
