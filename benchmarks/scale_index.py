"""What it takes to move an index to another engine, and what a query waits for there.

    python benchmarks/scale_index.py                                     # 10^6 codes to each engine
    python benchmarks/scale_index.py --codes 20000 --engines milvus postgres

Random codes in a folder are copied to PostgreSQL, to Milvus and to a Ray cluster, all on this machine and on the same
disk, as `deepbinaries copy-index FROM TO --verify N` does it. Then the same single queries and one batch are asked of
the folder and of the engine. Seconds and milliseconds are by the clock: the engines work in processes of their own, and
with as many cores as they take. Milvus is the embedded one, which listens on a port. An engine that cannot be started
is left out.
"""

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from deepbinaries.codes import Codes
from deepbinaries.errors import MissingExtraError
from deepbinaries.index import Index, compare_answers, copy_items, open_index
from recording import record

K = 10
SINGLES, BATCH = 30, 100  # queries
SHARDS = 2  # of the Ray cluster

Engine = tuple[str, Callable[[Index], int]]  # an address, and how many bytes the engine holds on the disk


class CannotStartError(Exception):
    """An engine that is not there."""


@contextlib.contextmanager
def running(kind: str, folder: Path, **settings: str) -> Iterator[Any]:
    """A server like that of the tests."""
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "index"))
    module: Any = import_module(f"running_{kind}")
    if kind == "postgres":
        module.MEMORY = folder  # not in memory, but on the disk that the others are on
    try:
        server = getattr(module, f"Running{kind.capitalize()}")(**settings)
    except module.CannotStartError as error:
        raise CannotStartError(str(error)) from error
    try:
        yield server
    finally:
        server.remove()


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[Engine]:
    with running("postgres", folder, shared_buffers="1GB") as server:
        yield server.uri(), lambda index: int(index.verify().n_bytes)  # type: ignore[attr-defined]


@contextlib.contextmanager
def milvus(folder: Path) -> Iterator[Engine]:
    with running("milvus", folder) as server:
        yield server.uri(), lambda _index: bytes_below(server.folder)


@contextlib.contextmanager
def ray(folder: Path) -> Iterator[Engine]:
    from deepbinaries.cluster import leave

    try:
        yield f"ray:{folder / 'shards'}?shards={SHARDS}", lambda _index: bytes_below(folder / "shards")
    finally:
        leave()


ENGINES = {"postgres": postgres, "milvus": milvus, "ray": ray}


def bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def fill(folder: Path, n: int, bits: int) -> None:
    """Make the index that is copied."""
    rng = np.random.default_rng(1)
    codes = Codes(rng.integers(0, 256, (n, bits // 8), dtype=np.uint8), bits)
    with open_index(folder, bits=bits, writable=True) as index:
        index.add([f"photo-{number}.jpg" for number in rng.permutation(n)], codes)


def waits(index: Index) -> dict[str, float]:
    """How long queries wait, in milliseconds: single ones, and each of a batch."""
    rng = np.random.default_rng(2)
    queries = Codes(rng.integers(0, 256, (SINGLES + BATCH, index.bits // 8), dtype=np.uint8), index.bits)
    index.search(queries[SINGLES:], K)  # until searches add up to something they are left to numpy, which is slower
    single = [1000 * seconds(partial(index.search, queries[q : q + 1], K)) for q in range(SINGLES)]
    batch = 1000 * seconds(partial(index.search, queries[SINGLES:], K)) / BATCH
    return {
        "single, median ms": float(np.median(single)),
        "single, worst ms": max(single),
        f"{BATCH} at once, ms a query": batch,
    }


def seconds(task: Callable[[], object]) -> float:
    began = time.perf_counter()
    task()
    return time.perf_counter() - began


def measure(address: str, n_bytes: Callable[[Index], int], source: Path, n_queries: int) -> dict[str, Any]:
    """Copy the source to an engine and compare both; seconds, bytes, waits, and whether all answers were alike."""
    with open_index(source) as there, open_index(address, bits=there.bits, writable=True) as here:
        took = seconds(lambda: copy_items(there, here))
        began = time.perf_counter()
        found = compare_answers(there, here, n_queries)
        compared = time.perf_counter() - began
        return {
            "copy, s": took,
            "codes a second": len(there) / took,
            "bytes a code": n_bytes(here) / len(there),
            "verify, s": compared,
            "queries": n_queries,
            "equal distances": n_queries if found.alike else None,
            "ids compared": found.ids_compared,
            "problems": list(found.problems),
            **waits(here),
        }


def run(n: int, bits: int, n_queries: int, engines: list[str], folder: Path) -> dict[str, Any]:
    """The figures of the folder itself and of every engine that can be started."""
    source = folder / "source"
    made = seconds(lambda: fill(source, n, bits))
    with open_index(source) as index:
        figures = {"folder": {"fill, s": made, "bytes a code": bytes_below(source) / n, **waits(index)}}
    for name in engines:
        place = folder / name
        place.mkdir(mode=0o755)
        print(f"copying {n:,} codes to {name} ...", flush=True)
        try:
            with ENGINES[name](place) as (address, n_bytes):
                figures[name] = measure(address, n_bytes, source, n_queries)
        except (CannotStartError, MissingExtraError) as error:
            print(f"{name} is left out: {error}")
        else:
            print({key: round(value, 3) if isinstance(value, float) else value for key, value in figures[name].items()})
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codes", type=int, default=10**6)
    parser.add_argument("--bits", type=int, default=128, help="a multiple of 8")
    parser.add_argument("--verify", type=int, default=1000, help="queries that both must answer alike")
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scale-") as place:
        folder = Path(place)
        folder.chmod(0o755)  # PostgreSQL runs as an ordinary user
        figures = run(given.codes, given.bits, given.verify, given.engines, folder)
    ours = figures["folder"]["single, median ms"]
    others = [name for name in figures if name != "folder"]
    path = record(
        "scale_index",
        ratios={f"vs_{name}": round(figures[name]["single, median ms"] / ours, 3) for name in others},
        figures={"items": given.codes, "bits": given.bits, "k": K, "engines": figures},
        command=f"python benchmarks/scale_index.py --codes {given.codes} --bits {given.bits} --verify {given.verify} "
        f"--engines {' '.join(given.engines)}",
        output=given.output,
    )
    print(f"written to {path}")
    if problems := [problem for name in others for problem in figures[name]["problems"]]:
        raise SystemExit("; ".join(problems))


if __name__ == "__main__":
    main()
