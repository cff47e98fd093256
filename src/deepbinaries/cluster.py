"""Starting Ray on this machine, or joining a cluster that somebody named; quiet, and nothing is reported to anybody."""

import logging
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from typing import Any

from deepbinaries.errors import Error, MissingExtraError, UsageError

OBJECT_STORE_BYTES = 256 * 2**20  # what passes through it is small: queries, answers, names of pictures
STANDARD_ERROR = 2
PATIENCE = 5.0  # seconds for which an address is given to answer
SETTINGS = {  # read when Ray is imported, and by the processes that it starts
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # its core writes to standard error by itself
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # all that it would print, on standard output, of workers that died
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else it warns of a change to come
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
}


def join(address: str | None = None, cpus: int | None = None) -> bool:
    """Whether this call connected the process to Ray; not if it was connected already, and then nothing changes.

    Without an `address` Ray is started on this machine alone, for this process alone, and ends with it; `cpus` is then
    how many cores it may use (all, unless given). `auto` is the cluster that runs on this machine, `HOST:PORT` another.
    """
    if cpus is not None and (cpus < 1 or address is not None):
        raise UsageError(
            f"cpus={cpus} together with address={address!r} starts nothing",
            next_step="give 1 or more for Ray on this machine, none for a cluster that runs already",
        )
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray") from None
    if ray.is_initialized():
        return False
    try:
        if address is not None:
            _knock(address)
        # Ray puts the current folder on the path of its workers: a file in there that is called like a module, among
        # somebody's photographs, would be run.
        with quiet(), _nothing_on_standard_error(), chdir(os.sep):
            ray.init(
                address=address or "local", logging_level=logging.ERROR, log_to_driver=False, **_started(address, cpus)
            )
    except (OSError, OverflowError, RuntimeError, ValueError) as error:  # no port is that large
        what = f"no Ray cluster answers at {address}" if address else "Ray cannot be started on this machine"
        raise Error(f"{what} ({_first_line(error)})", next_step=_advice(address)) from error
    return True


def leave() -> None:
    """Disconnect from Ray; one that `join` started on this machine ends."""
    ray = sys.modules.get("ray")
    if ray is not None:
        ray.shutdown()


@contextmanager
def quiet() -> Iterator[None]:
    """Warnings are ignored in here: Ray's are about its own releases to come."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _started(address: str | None, cpus: int | None) -> dict[str, Any]:
    """What can be said of a Ray that is to be started, and not of one that runs already."""
    if address is not None:
        return {}
    return {"num_cpus": cpus, "object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}


@contextmanager
def _nothing_on_standard_error() -> Iterator[None]:
    """While Ray starts, its core writes there that it will write nothing."""
    sys.stderr.flush()
    kept, nowhere = os.dup(STANDARD_ERROR), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, STANDARD_ERROR)
    try:
        yield
    finally:
        os.dup2(kept, STANDARD_ERROR)
        os.close(kept)
        os.close(nowhere)


def _knock(address: str) -> None:
    """Raise OSError where nobody listens: Ray itself would wait for minutes, and then once more."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():
        return  # a name, such as `auto`, of which Ray knows at once whether there is one
    with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE):
        pass


def _advice(address: str | None) -> str:
    if address is None:
        return "see that there is room in memory and in the folder for temporary files"
    return "check the address, and that every machine runs the same release of Ray and of Python"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
