"""How long a search takes through the index, ids and all, beside bare faiss, usearch and pgvector.

    python benchmarks/search.py              # 10^5 and 10^6 codes
    python benchmarks/search.py --full       # 10^7 codes as well
    python benchmarks/search.py --full --postgres-at 10000000

The ten nearest of uniform and of clustered codes of 64 and 128 bits, for single queries and for 64 at once. Ours is
`EmbeddedIndex.search`: codes under texts in no order, mapped from files, answered by id in (distance, id) order with a
certificate; once as one segment, as `compact` leaves it, and once as it has grown by five calls. The peers search
codes by number in memory: faiss `IndexBinaryFlat` in the better of its two ways, usearch with `exact=True`. pgvector is
asked for the ids by SQL, in a table of the same ids and codes. The bare kernel shows what ids and certificate cost.

One thread each: `OMP_NUM_THREADS` for us and faiss, `threads=1` for usearch; PostgreSQL answers a connection by one
process, and `max_parallel_workers_per_gather = 0` keeps it from starting others. Everybody takes turns, and the best
processor time counts; for pgvector, which works in another process, the best time by the clock. All distances are
compared, and with pgvector the ids as well.
"""

import argparse
import contextlib
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes, top_k
from deepbinaries.index import Answer, EmbeddedIndex
from kernel import BATCH, BITS, KINDS, SAMPLE, SINGLES, Cell, Contest, K, Turn, best_seconds, check, make_codes
from recording import peak_memory_mb, record

SIZES = (10**5, 10**6, 10**7)
GOAL = 10**6  # codes from which on the ratios without a number are taken
POSTGRES_AT = 10**6  # codes that PostgreSQL is asked for at most, unless told otherwise
GROWTH = (0.6, 0.25, 0.1, 0.04, 0.01)  # shares of the codes that are added by one call
ASKED = {"batch": BATCH, "single": SINGLES}

Statement = Callable[[Codes], list[tuple[str, int]]]
T = TypeVar("T")


def items(kind: str, n: int, bits: int) -> tuple[list[str], Codes]:
    """Codes that `Contest` has too, and texts for them that are in no order."""
    codes = make_codes(np.random.default_rng(1), kind, n, bits)
    return [f"photo-{number}.jpg" for number in np.random.default_rng(2).permutation(n)], codes


def fill(folder: Path, kind: str, n: int, bits: int) -> Cell:
    """Make an index by one call, and another by several: items a second, and memory and bytes for each of them."""
    ids, codes = items(kind, n, bits)
    before = peak_memory_mb()
    at_once = added_a_second(folder / "one", ids, codes, (1.0,))
    needed = peak_memory_mb() - before
    by_calls = added_a_second(folder / "grown", ids, codes, GROWTH)
    n_bytes = sum(path.stat().st_size for path in (folder / "one").rglob("*") if path.is_file())
    return {
        "items added a second": at_once,
        f"items added a second by {len(GROWTH)} calls": by_calls,
        "memory of adding, bytes an item": needed * 1e6 / n,
        "bytes an item": n_bytes / n,
    }


def added_a_second(folder: Path, ids: list[str], codes: Codes, shares: Sequence[float]) -> float:
    ends = np.round(len(ids) * np.cumsum(shares)).astype(int).tolist()
    began = time.perf_counter()
    with EmbeddedIndex(folder, bits=codes.bits, writable=True) as index:
        for begin, end in zip([0, *ends], ends, strict=False):
            index.add(ids[begin:end], codes[begin:end])
    return len(ids) / (time.perf_counter() - began)


def first_answer(folder: Path, kind: str, bits: int) -> Cell:
    """How long a new process takes to open an index and to its first answer, which proves every byte; by the clock."""
    query = make_codes(np.random.default_rng(3), kind, 1, bits)
    top_k(query, make_codes(np.random.default_rng(4), kind, 10_000, bits), K)  # loads the kernel, which takes longer
    times = [time.perf_counter()]
    with EmbeddedIndex(folder) as index:
        times.append(time.perf_counter())
        index.search(query, K)
        times.append(time.perf_counter())
        index.search(query, K)
        times.append(time.perf_counter())
    names = ("open, ms", "first answer, ms", "second answer, ms")
    return {name: 1000 * float(spent) for name, spent in zip(names, np.diff(times), strict=True)}


def in_new_process(task: Callable[..., T], *arguments: Any) -> T:
    """What a task gives back that has a process for itself, with its memory and without what others have proven."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(task, *arguments).result()


@contextlib.contextmanager
def postgres() -> Iterator[Any]:
    """A server like that of the tests, with memory for a table; None where none can be started."""
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "index"))
    running_postgres: Any = import_module("running_postgres")
    try:
        server = running_postgres.RunningPostgres(shared_buffers="1GB")
    except running_postgres.CannotStartError as error:
        print(f"pgvector is left out: {error}")
        yield None
        return
    try:
        yield server
    finally:
        server.remove()


@contextlib.contextmanager
def pgvector(server: Any, kind: str, n: int, bits: int) -> Iterator[Statement]:
    """The k nearest by SQL, in a table that is filled through our own index and searched without it."""
    psycopg: Any = import_module("psycopg")
    from deepbinaries.index.postgres import PostgresIndex
    from deepbinaries.index.postgres_statements import as_texts

    with PostgresIndex(server.uri(), bits=bits, writable=True, name="bench") as index:
        index.add(*items(kind, n, bits))
        index.compact()
    nearest = f"SELECT id, (code <~> %s::bit({bits}))::int AS far FROM bench.items ORDER BY far, id LIMIT {K}"  # noqa: S608
    with psycopg.connect(server.uri(), autocommit=True) as connection:
        connection.execute("SET max_parallel_workers_per_gather = 0")
        yield lambda query: connection.execute(nearest, as_texts(query), prepare=True).fetchall()
        connection.execute("DROP SCHEMA bench CASCADE")


def measure(kind: str, n: int, bits: int, rounds: int, folder: Path, server: Any) -> Cell:
    """Milliseconds a query of everybody, for one kind, number and length of codes, and what the index takes."""
    made = in_new_process(fill, folder, kind, n, bits)
    opened = in_new_process(first_answer, folder / "one", kind, bits)
    contest = Contest(kind, n, bits)
    with EmbeddedIndex(folder / "one") as one, EmbeddedIndex(folder / "grown") as several:
        check_answers(contest, one.search(contest.queries, K), several.search(contest.queries, K))
        seconds = best_seconds(turns(contest, one, several), rounds) | slow_seconds(contest, one)
        by_sql = {} if server is None else sql_milliseconds(contest, one, server, kind, rounds)
    return {
        "kind": kind,
        "items": n,
        "bits": bits,
        **milliseconds(seconds),
        **by_sql,
        **made,
        **opened,
    }


def turns(contest: Contest, one: EmbeddedIndex, several: EmbeddedIndex) -> dict[str, Turn]:
    """The indexes, the bare kernel, and faiss in both of its ways."""
    queries = contest.queries
    singles = [queries[q] for q in range(SINGLES)]
    bare = contest.turns()
    return {
        "index batch": lambda: one.search(queries, K),
        "kernel batch": bare.pop("batch"),
        "grown index batch": lambda: several.search(queries, K),
        "index single": lambda: [one.search(query, K) for query in singles],
        "kernel single": bare.pop("single"),
        "grown index single": lambda: [several.search(query, K) for query in singles],
        **bare,
    }


def slow_seconds(contest: Contest, index: EmbeddedIndex) -> dict[str, float]:
    """usearch, once, with a few queries: at once is no faster for it than one by one."""
    usearch: Any = import_module("usearch.index")
    packed, sample = contest.codes.packed, contest.queries[:SAMPLE]

    def search() -> Any:
        return usearch.search(packed, sample.packed, K, usearch.MetricKind.Hamming, exact=True, threads=1)

    theirs = np.asarray(search().distances).astype(np.int64)
    check(np.array(index.search(sample, K).distances), theirs, "usearch")
    return best_seconds({"usearch": search}, 1)


def sql_milliseconds(contest: Contest, index: EmbeddedIndex, server: Any, kind: str, rounds: int) -> dict[str, float]:
    """The best milliseconds of a query to pgvector, by the clock; its answers are ours, ids and all."""
    sample = [contest.queries[q] for q in range(SAMPLE)]
    best = float("inf")
    with pgvector(server, kind, len(contest.codes), contest.codes.bits) as nearest:
        for query in sample:
            check(np.array(index.search(query, K)[0]), np.array(nearest(query)), "pgvector")
        for _ in range(rounds):
            began = time.perf_counter()
            for query in sample:
                nearest(query)
            best = min(best, time.perf_counter() - began)
    return {"pgvector, ms a query": 1000 * best / SAMPLE}


def check_answers(contest: Contest, *answers: Answer) -> None:
    """Stop where an answer is not as near as that of faiss, where two differ in ids, or where one is not certified."""
    distances: NDArray[np.int32] = contest.faiss_search(contest.queries.packed, True)
    for answer in answers:
        check(np.array(answer.distances), distances, "faiss")
        check(np.array(answer.ids), np.array(answers[0].ids), "the other index")
        check(np.array(answer.certificate.radius), distances[:, -1], "faiss, by the radius that is certified")
        if not answer.certificate.exact or answer.certificate.rows_scanned != len(contest.codes):
            raise SystemExit(f"the certificate does not say that all was searched: {answer.certificate}")


def milliseconds(seconds: dict[str, float]) -> dict[str, float]:
    """The time of a turn as that of a query."""
    n_asked = {name: ASKED["batch"] if "batch" in name else ASKED["single"] for name in seconds} | {"usearch": SAMPLE}
    return {f"{name}, ms a query": 1000 * spent / n_asked[name] for name, spent in seconds.items()}


def ratios(cells: Sequence[Cell]) -> dict[str, float]:
    """How many times longer the peers take, in the worst cell: of those from a million codes on, and of each number."""
    found = of_cells([cell for cell in cells if cell["items"] >= GOAL] or cells)
    for n in sorted({cell["items"] for cell in cells}):
        of_size = of_cells([cell for cell in cells if cell["items"] == n])
        found |= {f"{name}_{n}": ratio for name, ratio in of_size.items() if name.startswith("vs_faiss")}
    return found


def of_cells(cells: Sequence[Cell]) -> dict[str, float]:
    of: dict[str, list[float]] = {}
    for cell in cells:
        ms = {key.removesuffix(", ms a query"): cell[key] for key in cell if key.endswith(", ms a query")}
        for asked in ASKED:
            faiss = min(ms[f"faiss {asked}, {way}"] for way in ("counting", "heap"))
            of.setdefault(f"vs_faiss_{asked}", []).append(faiss / ms[f"index {asked}"])
            of.setdefault(f"vs_faiss_{asked}_grown", []).append(faiss / ms[f"grown index {asked}"])
            of.setdefault(f"of_bare_kernel_{asked}", []).append(ms[f"kernel {asked}"] / ms[f"index {asked}"])
            for peer in ("usearch", "pgvector"):
                if peer in ms:
                    of.setdefault(f"vs_{peer}_{asked}", []).append(ms[peer] / ms[f"index {asked}"])
    return {name: round(min(values), 2) for name, values in sorted(of.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="10^7 codes as well; needs 5 GB and a quarter of an hour")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of codes; 10^5 and 10^6 unless given")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--postgres-at", type=int, default=POSTGRES_AT, help="codes that PostgreSQL is given at most")
    parser.add_argument("--folder", type=Path, help="where indexes are kept for a while; the usual place unless given")
    parser.add_argument("--output", type=Path, help="where to write; benchmarks/results/search.json unless given")
    chosen = parser.parse_args()
    sizes = chosen.sizes or list(SIZES if chosen.full else SIZES[:-1])

    cells = []
    with tempfile.TemporaryDirectory(dir=chosen.folder) as parent, postgres() as server:
        for n, bits, kind in ((n, bits, kind) for n in sizes for bits in BITS for kind in KINDS):
            folder, able = Path(parent) / "indexes", server if n <= chosen.postgres_at else None
            cells.append(measure(kind, n, bits, chosen.rounds, folder, able))
            shutil.rmtree(folder)
            print(line(cells[-1]))
    found = ratios(cells)
    command = ["python benchmarks/search.py --sizes", *map(str, sizes), f"--rounds {chosen.rounds}"]
    command += [f"--postgres-at {chosen.postgres_at}"] if chosen.postgres_at != POSTGRES_AT else []
    path = record(
        "search",
        ratios=found,
        figures={"k": K, "batch": BATCH, "calls of a grown index": len(GROWTH), "cells": cells},
        command=" ".join(command),
        output=chosen.output,
    )
    print("\n".join(f"{name:36} {value}" for name, value in found.items()))
    print(f"written to {path.name}")


def line(cell: Cell) -> str:
    times = (f"{key.removesuffix(', ms a query')} {cell[key]:.3f}" for key in cell if key.endswith("ms a query"))
    return f"{cell['kind']:9} {cell['items']:>10,} x {cell['bits']:3} bits, ms a query: {'; '.join(times)}"


if __name__ == "__main__":
    main()
