"""The units of a collection encoded by actors of Ray Data.

A unit goes to an actor as the names of its pictures, and comes back as what its shard's marker has to say: pictures and
codes never pass through Ray. An actor that dies is replaced, and its unit is given to another.
"""

import json
import logging
import os
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deepbinaries.bulk.worker import Unit, Worker
from deepbinaries.bulk.workers import Workers
from deepbinaries.cluster import join, leave, quiet
from deepbinaries.errors import Error
from deepbinaries.onnx_files import limit_threads
from deepbinaries.search.models import LazyModel

RETRIES = 3  # of a unit whose worker died: a machine goes away now and then, but one that always dies has a reason
RESTARTS = 20  # of a worker


class Actor:
    """A worker in a process of Ray. Errors are answers: what it raised would come back wrapped several times over."""

    def __init__(self, model: LazyModel, folder: Path, cores: int, gpus: float):
        self._worker: Worker | None = None
        self._model, self._folder, self._cores = model, folder, cores
        if not gpus:  # Ray hides none from a worker that was given none, and all would crowd on the first
            os.environ["CUDA_VISIBLE_DEVICES"] = ""

    def __call__(self, row: dict[str, Any]) -> dict[str, str]:
        unit: Unit = row["item"]
        try:
            if self._worker is None:
                limit_threads(self._cores)  # as Ray does by itself for torch
                self._worker = Worker(self._model, self._folder, decoders=self._cores)
            name, marker = self._worker.encode(unit)
            return {"name": name, "marker": json.dumps(marker), "problem": "", "next_step": ""}
        except Error as error:
            return _problem(error.problem, error.next_step)
        except Exception as error:  # a network's own, such as that of a GPU which is full
            what = (str(error).strip().splitlines() or [""])[0]
            return _problem(
                f"a worker failed ({type(error).__name__}: {what:.200})",
                "run it again to go on; without --workers it says where",
            )


def _problem(problem: str, next_step: str) -> dict[str, str]:
    return {"name": "", "marker": "", "problem": problem, "next_step": next_step}


def encoded(
    units: Sequence[Unit], folder: Path, model: LazyModel, workers: Workers
) -> Generator[tuple[str, dict[str, Any]], None, None]:
    """The name and the marker of each shard, in the order in which they get done."""
    started = join(workers.address, None if workers.address else workers.n * workers.cores)
    try:
        for row in _rows(units, folder, model, workers):
            if row["problem"]:
                raise Error(row["problem"], next_step=row["next_step"])
            yield row["name"], json.loads(row["marker"])
    finally:
        if started:
            leave()


def _rows(
    units: Sequence[Unit], folder: Path, model: LazyModel, workers: Workers
) -> Generator[dict[str, str], None, None]:
    with quiet():  # all the while: Ray Data works in threads of this process
        ray = _with_data()
        _refuse_too_many(workers, [node["Resources"] for node in ray.nodes() if node["Alive"]])
        dataset = ray.data.from_items(list(units), override_num_blocks=len(units)).map(
            Actor,
            fn_constructor_args=(model, folder, workers.cores, workers.gpus),
            compute=ray.data.ActorPoolStrategy(size=workers.n, max_tasks_in_flight_per_actor=1),
            num_cpus=workers.cores,
            num_gpus=workers.gpus or None,
            max_restarts=RESTARTS,
            max_task_retries=RETRIES,
        )
        try:
            yield from dataset.iter_rows()
        except ray.exceptions.RayError as error:
            what = "".join(sign for sign in " ".join(str(error).split()) if sign.isprintable())  # it may be coloured
            raise Error(
                f"the workers died again and again ({what:.300})",
                next_step="see that memory suffices for so many of them; run it again to go on",
            ) from error


def _with_data() -> Any:
    """Ray with Ray Data, which says nothing on the terminal; in Ray's own folder it writes everything."""
    import ray
    import ray.data

    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setLevel(logging.CRITICAL)
    return ray


def _refuse_too_many(workers: Workers, machines: Sequence[Mapping[str, float]]) -> None:
    """Raise where no machine has room for even one worker: Ray would wait for one to come."""
    if not any(one.get("CPU", 0) >= workers.cores and one.get("GPU", 0) >= workers.gpus for one in machines):
        raise Error(
            f"no worker with {workers.cores} cores and {workers.gpus:g} GPUs finds its place on any of the "
            f"{len(machines)} machines of the cluster",
            next_step="ask for less, or add a machine to it",
        )
