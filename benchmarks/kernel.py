"""How long exact search takes: our kernel beside faiss, usearch and blocked numpy, and beside reading the bytes.

    python benchmarks/kernel.py
    python benchmarks/kernel.py --full      # 10^7 codes as well

The ten nearest codes of 64 queries at once and of single queries, with uniform and with clustered
codes of 64 and 128 bits; ties are counted. One thread each. Everybody takes turns, several rounds
of them, and the best processor time of each counts, so that a busy machine disturbs little. The
grid is run again in a process whose instructions are limited to AVX2. Beside the grid: how the
search fares from 10^4 codes on, how long single queries wait, and how long a new process takes to
its first answer.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before faiss is imported
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["DEEPBINARIES_SEARCH"] = "numba"

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from deepbinaries.codes import Codes, Gallery, top_k
from recording import peak_memory_mb, record

K = 10
BATCH = 64
SINGLES = 8  # queries that are asked one by one in a turn
SAMPLE = 4  # queries that the slow peers are timed on
ASKED = 300  # queries whose waiting times are put in order
PERCENTILES = (50, 95, 99)
BITS = (64, 128)
KINDS = ("uniform", "clustered")
AVX2 = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx2,+avx,+bmi,+bmi2,+fma,+lzcnt,+movbe,+popcnt,+sse4.1,+sse4.2,+ssse3",
    "FAISS_OPT_LEVEL": "avx2",
}

Turn = Callable[[], Any]
Cell = dict[str, Any]


def make_codes(rng: np.random.Generator, kind: str, n: int, bits: int) -> Codes:
    """Uniform codes, or codes around 2,000 centres of which few are frequent, with 0 to 6 bits flipped."""
    if kind == "uniform":
        return Codes(rng.integers(0, 256, (n, bits // 8), dtype=np.uint8), bits)
    frequency = 1 / np.arange(1, 2001)
    centres = np.random.default_rng(0).integers(0, 256, (2000, bits // 8), dtype=np.uint8)
    packed = centres[rng.choice(2000, n, p=frequency / frequency.sum())]
    for flips in range(6):
        rows = np.flatnonzero(rng.integers(0, 7, n) > flips)
        bit = rng.integers(0, bits, len(rows))
        packed[rows, bit // 8] ^= (1 << bit % 8).astype(np.uint8)
    return Codes(packed, bits)


def best_seconds(turns: Mapping[str, Turn], rounds: int) -> dict[str, float]:
    """The best processor time of each, in turns, so that a busy moment of the machine meets all of them."""
    best = dict.fromkeys(turns, float("inf"))
    for turn in turns.values():
        turn()  # compiles and warms up
    for _ in range(rounds):
        for name, turn in turns.items():
            begin = time.process_time()
            turn()
            best[name] = min(best[name], time.process_time() - begin)
    return best


def blocked_numpy(queries: NDArray[np.uint64], columns: NDArray[np.uint64]) -> list[NDArray[np.int64]]:
    """Numpy at its best: columns, blocks that stay in the cache, a bound from the least distances of tiles."""
    n, block, tile = columns.shape[1], 1 << 15, 256
    distance = np.full(-(-n // block) * block, 255, dtype=np.uint8)
    answers = []
    for query in queries:
        for start in range(0, n, block):
            part = distance[start : min(start + block, n)]
            part[:] = np.bitwise_count(columns[0, start : start + block] ^ query[0])
            for word, column in zip(query[1:], columns[1:, start : start + block], strict=True):
                part += np.bitwise_count(column ^ word)
        minima = distance.reshape(-1, tile).min(axis=1)
        near = np.flatnonzero(distance <= np.partition(minima, K - 1)[K - 1])
        answers.append(near[np.argsort(distance[near], kind="stable")][:K])
    return answers


class Contest:
    """Some queries and codes, laid out for us and for faiss."""

    def __init__(self, kind: str, n: int, bits: int):
        faiss: Any = import_module("faiss")
        faiss.omp_set_num_threads(1)
        rng = np.random.default_rng(1)
        self.codes, self.queries = make_codes(rng, kind, n, bits), make_codes(rng, kind, BATCH, bits)
        self.gallery = Gallery.of(self.codes)
        self.index = faiss.IndexBinaryFlat(bits)
        self.index.add(self.codes.packed)

    def faiss_search(self, packed: NDArray[np.uint8], use_heap: bool) -> NDArray[np.int32]:
        self.index.use_heap = use_heap
        found: NDArray[np.int32] = self.index.search(packed, K)[0]
        return found

    def turns(self) -> dict[str, Turn]:
        """Both searches, of all queries at once and of some one by one; faiss in both of its ways."""
        queries, gallery = self.queries, self.gallery
        singles = [queries[q] for q in range(SINGLES)]
        return {
            "batch": lambda: top_k(queries, gallery, K, threads=1),
            "faiss batch, counting": lambda: self.faiss_search(queries.packed, False),
            "faiss batch, heap": lambda: self.faiss_search(queries.packed, True),
            "single": lambda: [top_k(query, gallery, K, threads=1) for query in singles],
            "faiss single, counting": lambda: [self.faiss_search(query.packed, False) for query in singles],
            "faiss single, heap": lambda: [self.faiss_search(query.packed, True) for query in singles],
        }


def milliseconds(seconds: Mapping[str, float]) -> dict[str, float]:
    """The time of a turn as that of a query."""
    n_asked = {name: BATCH if "batch" in name else SINGLES if "single" in name else SAMPLE for name in seconds}
    return {f"{name}, ms a query": 1000 * spent / n_asked[name] for name, spent in seconds.items()}


def measure(kind: str, n: int, bits: int, rounds: int) -> Cell:
    """Milliseconds a query of everybody, for one kind, number and length of codes."""
    usearch: Any = import_module("usearch.index")
    contest = Contest(kind, n, bits)
    codes, queries, gallery = contest.codes, contest.queries, contest.gallery
    sample = queries.packed[:SAMPLE]
    words = queries.columns().T[:SAMPLE]
    slow: dict[str, Turn] = {
        "usearch": lambda: usearch.search(codes.packed, sample, K, usearch.MetricKind.Hamming, exact=True, threads=1),
        "numpy": lambda: blocked_numpy(words, gallery.segments[0]),
    }
    check(top_k(queries, gallery, K, threads=1).distances, contest.faiss_search(queries.packed, True), "faiss")
    ours = top_k(queries[:SAMPLE], gallery, K, threads=1).rows
    check(ours, np.array(blocked_numpy(words, gallery.segments[0])), "numpy")
    times = milliseconds(best_seconds(contest.turns(), rounds) | best_seconds(slow, 1))
    return {"kind": kind, "items": n, "bits": bits, **times}


def check(ours: NDArray[Any], theirs: NDArray[Any], whose: str) -> None:
    """Stop when two searches that are both exact contradict each other."""
    if not np.array_equal(ours, theirs):
        raise SystemExit(f"our answers are not those of {whose}: one of the two is wrong")


@njit(nogil=True)
def read_all(words):  # type: ignore[no-untyped-def]
    """Read every word once: four streams keep more of the memory busy than one."""
    n = words.size // 4
    a, b, c, d = words[:n], words[n : 2 * n], words[2 * n : 3 * n], words[3 * n : 4 * n]
    total = np.uint64(0)
    for i in range(n):
        total += (a[i] ^ b[i]) + (c[i] ^ d[i])
    return total


def roofline(n: int, rounds: int) -> dict[str, Any]:
    """The time of reading 128-bit codes once, and that of the queries that meet them on the way, one to all."""
    rng = np.random.default_rng(1)
    gallery = Gallery.of(make_codes(rng, "uniform", n, 128))
    queries = make_codes(rng, "uniform", BATCH, 128)
    words = gallery.segments[0].reshape(-1)
    turns: dict[str, Turn] = {"read": lambda: read_all(words)}
    for n_queries in (1, 2, 4, 8, 16, 32, 64):
        turns[str(n_queries)] = partial(top_k, queries[:n_queries], gallery, K, threads=1)
    seconds = best_seconds(turns, 3 * rounds)
    return {
        "items": n,
        "read GB/s": words.nbytes / seconds["read"] / 1e9,
        "search GB/s": words.nbytes / seconds["1"] / 1e9,
        "ratio": seconds["read"] / seconds["1"],
        "comparisons a second": {name: int(name) * n / spent for name, spent in seconds.items() if name != "read"},
    }


def latency(n: int, bits: int) -> Cell:
    """How long single queries of uniform codes wait for their answer, by the clock: percentiles of many, in ms."""
    rng = np.random.default_rng(1)
    gallery, queries = Gallery.of(make_codes(rng, "uniform", n, bits)), make_codes(rng, "uniform", ASKED, bits)
    waits: Cell = {}
    for threads in sorted({1, os.cpu_count() or 1}):
        top_k(queries[0], gallery, K, threads=threads)
        clock = [time.perf_counter()]
        for q in range(ASKED):
            top_k(queries[q], gallery, K, threads=threads)
            clock.append(time.perf_counter())
        waited = np.percentile(1000 * np.diff(clock), PERCENTILES)
        waits[str(threads)] = {f"p{p}": float(ms) for p, ms in zip(PERCENTILES, waited, strict=True)}
    return {"items": n, "bits": bits, "ms by threads": waits}


def curves(largest: int, rounds: int) -> dict[str, list[Cell]]:
    """What changes with the number of codes: the times of everybody's fast turns, and how long single queries wait."""
    sizes = [10**power for power in range(4, 10) if 10**power <= largest] or [largest]
    return {
        "throughput": [
            {"items": n, "bits": bits, **milliseconds(best_seconds(Contest("uniform", n, bits).turns(), rounds))}
            for bits in BITS
            for n in sizes
        ],
        "latency": [latency(n, bits) for bits in BITS for n in sizes],
    }


def first_answer(n: int, rounds: int) -> dict[str, float]:
    """Seconds from the start of a process to its first answer, read from a file; the cache is warm. The median."""
    code = (
        "import sys, numpy; from deepbinaries.codes import Codes, top_k; "
        "codes = Codes(numpy.load(sys.argv[1]), 64); print(top_k(codes[0], codes, 10).rows)"
    )
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.npy"
        np.save(path, make_codes(np.random.default_rng(1), "uniform", n, 64).packed)
        for engine in ("numba", "numpy"):
            times = []
            for _ in range(1 + rounds):
                begin = time.perf_counter()
                environment = os.environ | {"DEEPBINARIES_SEARCH": engine}
                subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, env=environment)
                times.append(time.perf_counter() - begin)
            found[engine] = statistics.median(times[1:])  # the first one may have had to compile
    return found


def grid(sizes: list[int], rounds: int) -> dict[str, Any]:
    """All cells, the bandwidth at the largest size, and how many threads were at work."""
    wall, cpu = time.perf_counter(), time.process_time()
    cells = [measure(kind, n, bits, rounds) for n in sizes for bits in BITS for kind in KINDS]
    bandwidth = roofline(sizes[-1], rounds)
    return {
        "cells": cells,
        "bandwidth": bandwidth,
        "threads_at_work": (time.process_time() - cpu) / (time.perf_counter() - wall),
    }


def grid_with_avx2(sizes: list[int], rounds: int) -> dict[str, Any]:
    """The grid, measured by a process whose compiled loops and whose faiss know no more than AVX2."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "grid.json"
        command = [sys.executable, __file__, "--grid-only", "--rounds", str(rounds), "--output", str(output)]
        subprocess.run([*command, "--sizes", *map(str, sizes)], check=True, env=os.environ | AVX2)
        found: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return found


def ratios(cells: list[Cell], suffix: str = "") -> dict[str, float]:
    """How many times longer the peers take: the worst cell, and the median of the cells."""
    of: dict[str, list[float]] = {}
    for cell in cells:
        for asked in ("batch", "single"):
            faiss_ms = min(cell[f"faiss {asked}, {way}, ms a query"] for way in ("counting", "heap"))
            of.setdefault(f"vs_faiss_{asked}", []).append(faiss_ms / cell[f"{asked}, ms a query"])
        for peer in ("usearch", "numpy"):
            of.setdefault(f"vs_{peer}_batch", []).append(cell[f"{peer}, ms a query"] / cell["batch, ms a query"])
    worst = {f"{name}{suffix}": round(min(values), 2) for name, values in of.items()}
    return worst | {f"{name}_median{suffix}": round(statistics.median(values), 2) for name, values in of.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="10^7 codes as well; needs 2 GB and some minutes")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of codes; 10^6 unless given")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, help="where to write; benchmarks/results/kernel.json unless given")
    parser.add_argument("--grid-only", action="store_true", help="write the bare figures of this process to --output")
    chosen = parser.parse_args()
    sizes = chosen.sizes or ([1_000_000, 10_000_000] if chosen.full else [1_000_000])

    measured = grid(sizes, chosen.rounds)
    if measured["threads_at_work"] > 1.2:
        raise SystemExit(f"{measured['threads_at_work']:.1f} threads were at work, not one")
    if chosen.grid_only:
        chosen.output.write_text(json.dumps(measured), encoding="utf-8")
        return
    with_avx2 = grid_with_avx2(sizes, chosen.rounds)
    found = ratios(measured["cells"]) | ratios(with_avx2["cells"], "_avx2")
    found["of_read_bandwidth"] = round(measured["bandwidth"]["ratio"], 3)
    first = first_answer(min(sizes[-1], 1_000_000), chosen.rounds)
    path = record(
        "kernel",
        ratios=found,
        figures={
            "k": K,
            "batch": BATCH,
            "peak_memory_mb": peak_memory_mb(),
            "first_answer_seconds": first["numba"],
            "first_answer_seconds_numpy": first["numpy"],
            "all": measured,
            "avx2": with_avx2,
            "curves": curves(sizes[-1], chosen.rounds),
        },
        command=" ".join(
            ["python benchmarks/kernel.py --sizes", *map(str, sizes), f"--rounds {chosen.rounds}"],
        ),
        output=chosen.output,
    )
    for name, cells in (("all instructions", measured["cells"]), ("AVX2 only", with_avx2["cells"])):
        print(f"{name}, milliseconds a query, {K} nearest")
        for cell in cells:
            times = (f"{key.removesuffix(', ms a query')} {cell[key]:.3f}" for key in cell if "ms a query" in key)
            print(f"  {cell['kind']:9} {cell['items']:>10,} x {cell['bits']:3}: {'; '.join(times)}")
    print("\n".join(f"{name:28} {value}" for name, value in found.items()))
    print(f"first answer of a process    {first['numba']:.2f} s, by numpy {first['numpy']:.2f} s")
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()
