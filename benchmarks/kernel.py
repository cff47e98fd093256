"""How long exact search takes: our kernel beside faiss, usearch and blocked numpy, and beside reading the bytes.

    python benchmarks/kernel.py
    python benchmarks/kernel.py --full      # 10^7 codes as well

The ten nearest codes of 64 queries at once and of single queries, with uniform and with clustered
codes of 64 and 128 bits; ties are counted. One thread each. Everybody takes turns, several rounds
of them, and the best processor time of each counts, so that a busy machine disturbs little. The
grid is run again in a process whose instructions are limited to AVX2.
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


def measure(kind: str, n: int, bits: int, rounds: int) -> Cell:
    """Seconds a query of everybody, for one kind, number and length of codes."""
    faiss: Any = import_module("faiss")
    usearch: Any = import_module("usearch.index")
    rng = np.random.default_rng(1)
    codes, queries = make_codes(rng, kind, n, bits), make_codes(rng, kind, BATCH, bits)
    gallery = Gallery.of(codes)
    index = faiss.IndexBinaryFlat(bits)
    index.add(codes.packed)
    faiss.omp_set_num_threads(1)

    def faiss_search(packed: NDArray[np.uint8], use_heap: bool) -> NDArray[np.int32]:
        index.use_heap = use_heap
        found: NDArray[np.int32] = index.search(packed, K)[0]
        return found

    singles = [queries[q] for q in range(SINGLES)]
    fast: dict[str, Turn] = {
        "batch": lambda: top_k(queries, gallery, K, threads=1),
        "faiss batch, counting": lambda: faiss_search(queries.packed, False),
        "faiss batch, heap": lambda: faiss_search(queries.packed, True),
        "single": lambda: [top_k(query, gallery, K, threads=1) for query in singles],
        "faiss single, counting": lambda: [faiss_search(query.packed, False) for query in singles],
        "faiss single, heap": lambda: [faiss_search(query.packed, True) for query in singles],
    }
    sample = queries.packed[:SAMPLE]
    words = queries.columns().T[:SAMPLE]
    slow: dict[str, Turn] = {
        "usearch": lambda: usearch.search(codes.packed, sample, K, usearch.MetricKind.Hamming, exact=True, threads=1),
        "numpy": lambda: blocked_numpy(words, gallery.segments[0]),
    }
    check(top_k(queries, gallery, K, threads=1).distances, faiss_search(queries.packed, True), "faiss")
    ours = top_k(queries[:SAMPLE], gallery, K, threads=1).rows
    check(ours, np.array(blocked_numpy(words, gallery.segments[0])), "numpy")
    seconds = best_seconds(fast, rounds) | best_seconds(slow, 1)
    n_asked = {name: BATCH if "batch" in name else SINGLES if "single" in name else SAMPLE for name in seconds}
    return {"kind": kind, "items": n, "bits": bits} | {
        f"{name}, ms a query": 1000 * spent / n_asked[name] for name, spent in seconds.items()
    }


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


def of_read_bandwidth(n: int, rounds: int) -> dict[str, float]:
    """The time of reading 128-bit codes once, and that of one query over them."""
    rng = np.random.default_rng(1)
    gallery = Gallery.of(make_codes(rng, "uniform", n, 128))
    query = make_codes(rng, "uniform", 1, 128)
    words = gallery.segments[0].reshape(-1)
    turns = {"read": lambda: read_all(words), "search": lambda: top_k(query, gallery, K, threads=1)}
    seconds = best_seconds(turns, 5 * rounds)
    return {
        "items": n,
        "read GB/s": words.nbytes / seconds["read"] / 1e9,
        "search GB/s": words.nbytes / seconds["search"] / 1e9,
        "ratio": seconds["read"] / seconds["search"],
    }


def grid(sizes: list[int], rounds: int) -> dict[str, Any]:
    """All cells, the bandwidth at the largest size, and how many threads were at work."""
    wall, cpu = time.perf_counter(), time.process_time()
    cells = [measure(kind, n, bits, rounds) for n in sizes for bits in BITS for kind in KINDS]
    bandwidth = of_read_bandwidth(sizes[-1], rounds)
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
    path = record(
        "kernel",
        ratios=found,
        figures={"k": K, "batch": BATCH, "peak_memory_mb": peak_memory_mb(), "all": measured, "avx2": with_avx2},
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
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()
