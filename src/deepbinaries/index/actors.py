"""The shards of an index as actors of a Ray cluster: where they are, and who of several replicas is asked.

To be imported after `deepbinaries.cluster.join`.
"""

import time
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from deepbinaries.index.base import ServerLostError
from deepbinaries.index.ray_settings import Settings
from deepbinaries.index.shard import Shard, given

THREADS = 4  # questions that one actor answers at the same time: who reads does not wait for who writes
PAUSE = 0.1  # seconds between two rounds of asking every replica
START = 60.0  # seconds for all of them to start
AVOIDED = 5.0  # seconds for which a replica that did not answer is asked last

Question = tuple[Any, ...]  # the name of a method of `Shard`, the digest of a version, and arguments


class Actors:
    """Several replicas of each shard, each on another machine where there are enough. They end with this process.

    Ray starts an actor anew that ends, on another machine if need be; it opens its files by itself.
    """

    def __init__(self, root: Path, n_shards: int, settings: Settings):
        self._root, self._replicas, self._patience = root, settings.replicas, settings.patience
        self._turns = [count() for _ in range(n_shards)]
        self._avoided: dict[tuple[int, int], float] = {}  # shard and replica, until when
        nodes, kind = machines(), ray.remote(Shard)
        self._handles: list[list[Any]] = [
            [
                kind.options(
                    num_cpus=settings.cpus,
                    memory=1,  # a byte, since Ray puts an actor that needs nothing at all anywhere
                    max_restarts=-1,
                    max_concurrency=THREADS,
                    scheduling_strategy=NodeAffinitySchedulingStrategy(nodes[(place + one) % len(nodes)], soft=True),
                ).remote(str(root.absolute()), place)
                for one in range(settings.replicas)
            ]
            for place in range(n_shards)
        ]
        try:
            self._see_that_they_start(settings.cpus)
        except BaseException:
            self.close()
            raise

    def ask(self, questions: Mapping[int, Question], *, unhurried: bool = False) -> dict[int, Any]:
        """The answer of each shard that is asked something: of every one of them, or an error that names who is silent.

        A replica that ends, or that is silent for its share of the patience, is passed over: another one is asked.
        `unhurried` waits for whoever is alive, however long it takes.
        """
        answers: dict[int, Any] = {}
        share = None if unhurried else self._patience / self._replicas
        deadline = None if unhurried else time.monotonic() + self._patience
        while True:
            asked = {place: self._replica(place) for place in questions if place not in answers}
            refs = {place: self._handles[place][one].ask.remote(*questions[place]) for place, one in asked.items()}
            lost: dict[int, Exception] = {}
            until = None if share is None else time.monotonic() + share
            for place, ref in refs.items():
                try:
                    answers[place] = given(ray.get(ref, timeout=until and max(0.0, until - time.monotonic())))
                except RayTaskError as error:  # it failed in a way that another one would too
                    raise self._lost(place, error) from error
                except RayError as error:
                    self._avoided[place, asked[place]] = time.monotonic() + AVOIDED
                    lost[place] = error
            if not lost:
                return answers
            deadline = deadline or time.monotonic() + self._patience
            if time.monotonic() >= deadline:
                place = min(lost)
                raise self._lost(place, lost[place]) from lost[place]
            time.sleep(PAUSE)

    def close(self) -> None:
        """End the actors."""
        if ray.is_initialized():
            for handle in chain.from_iterable(self._handles):
                ray.kill(handle)

    def _replica(self, place: int) -> int:
        """Whose turn it is; those that did not answer a moment ago come last."""
        first, now = next(self._turns[place]), time.monotonic()
        order = [(first + one) % self._replicas for one in range(self._replicas)]
        return min(order, key=lambda one: self._avoided.get((place, one), 0.0) > now)

    def _see_that_they_start(self, cpus: int) -> None:
        """Wait until each shard can be asked; replicas that come later are welcome."""
        refs = [[handle.ready.remote() for handle in handles] for handles in self._handles]
        everyone = list(chain.from_iterable(refs))
        started, _ = ray.wait(everyone, num_returns=len(everyone), timeout=START)
        for place, of_shard in enumerate(refs):
            if not any(ref in started and _is_well(ref) for ref in of_shard):
                room = f"see that the cluster has {len(everyone) * cpus} free cores, or reserve none" if cpus else ""
                raise ServerLostError(
                    f"shard {place} of the index {self._root} does not start on the cluster",
                    next_step=room or "see that deepbinaries is installed on all of its machines in the same release",
                )

    def _lost(self, place: int, error: Exception) -> ServerLostError:
        said = (str(error).strip().splitlines() or [""])[-1].strip() or type(error).__name__
        return ServerLostError(
            f"shard {place} of the index {self._root} does not answer ({type(error).__name__}: {said[:200]})",
            next_step="try again when the cluster has started it anew, or open the index with more replicas; "
            "what was acknowledged is safe, and a change that was cut short is there wholly or not at all",
        )


def machines() -> list[str]:
    """The machines of the cluster that are alive, as Ray names them."""
    return sorted(node["NodeID"] for node in ray.nodes() if node["Alive"])  # type: ignore[no-untyped-call]


def _is_well(ref: Any) -> bool:
    try:
        return bool(ray.get(ref))
    except RayError:
        return False
