"""How long exact search takes with a multi-index, beside the scan of all codes.

    python benchmarks/multi_index.py             # 10^6 codes
    python benchmarks/multi_index.py --full      # 10^7 codes as well
    python benchmarks/multi_index.py --huge      # 10^8 codes as well: 24 GB of memory, 10 GB of disk

The ten nearest of uniform and of clustered 64-bit codes, on one thread. Each index is built, saved,
opened as a memory map and searched there, query by query, in turns with the scan; every answer is
compared with the scan's. The best processor time of each query counts, and of those the median
and the worst are given. The scan is measured too with all cores at work on one query, by the clock,
and with 64 queries at once, for which it reads the codes once.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes, concatenate, top_k
from deepbinaries.codes.multi_index import Certificate, MultiIndex
from deepbinaries.codes.multi_index_files import open_index, save_index
from kernel import BATCH, KINDS, K, best_seconds, check, make_codes
from recording import peak_memory_mb, record

BITS = 64
PART = 10_000_000  # codes that are drawn at once

Cell = dict[str, Any]


def built_and_opened(kind: str, n: int, folder: Path) -> tuple[MultiIndex, Cell]:
    """An index of random codes, opened from the disk, and what it took to get there."""
    rng = np.random.default_rng(1)
    codes = concatenate([make_codes(rng, kind, min(PART, n - start), BITS) for start in range(0, n, PART)])
    times = [time.perf_counter()]
    index = MultiIndex.build(codes)
    times.append(time.perf_counter())
    save_index(index, folder)
    times.append(time.perf_counter())
    del index, codes
    times.append(time.perf_counter())
    opened = open_index(folder)
    times.append(time.perf_counter())
    return opened, {
        "build, s": times[1] - times[0],
        "save, s": times[2] - times[1],
        "open and verify, s": times[4] - times[3],
        "widths": opened.widths,
        "bytes a code": opened.nbytes / max(n, 1),
    }


def measure(kind: str, n: int, n_queries: int, rounds: int, folder: Path) -> Cell:
    """Milliseconds of index and scan for single queries, and of the scan in a batch."""
    index, facts = built_and_opened(kind, n, folder)
    queries = make_codes(np.random.default_rng(2), kind, max(n_queries, BATCH), BITS)
    batch = best_seconds({"scan": lambda: top_k(queries[:BATCH], index.gallery, K, threads=1)}, rounds)["scan"]
    certificates = [exact(index, queries[q]) for q in range(n_queries)]
    milliseconds, by_the_clock = np.full((n_queries, 2), np.inf), np.full(n_queries, np.inf)
    cores = os.cpu_count() or 1
    for _ in range(rounds):  # all queries before one comes again, when its buckets have left the cache
        for q in range(n_queries):
            query, times = queries[q], [time.process_time()]
            index.top_k(query, K, threads=1)
            times.append(time.process_time())
            top_k(query, index.gallery, K, threads=1)
            times.append(time.process_time())
            milliseconds[q] = np.minimum(milliseconds[q], 1000 * np.diff(times))
            begin = time.perf_counter()
            top_k(query, index.gallery, K, threads=cores)
            by_the_clock[q] = min(by_the_clock[q], 1000 * (time.perf_counter() - begin))
    looked_at = np.concatenate([certificate.looked_at for certificate in certificates])
    return {
        "kind": kind,
        "items": n,
        "bits": BITS,
        **facts,
        "index, ms a query": median_and_worst(milliseconds[:, 0]),
        "scan, ms a query": median_and_worst(milliseconds[:, 1]),
        f"scan on {cores} threads, ms a query": median_and_worst(by_the_clock),
        "scan in a batch, ms a query": 1000 * batch / BATCH,
        "rows looked at": median_and_worst(looked_at),
        "share answered by the scan": float(np.mean([certificate.scanned[0] for certificate in certificates])),
        "peak_memory_mb": peak_memory_mb(),
    }


def exact(index: MultiIndex, query: Codes) -> Certificate:
    """The certificate of an answer that is the scan's."""
    found, certificate = index.top_k(query, K, threads=1)
    expected = top_k(query, index.gallery, K, threads=1)
    for name in vars(expected):
        check(getattr(found, name), getattr(expected, name), "the scan")
    return certificate


def median_and_worst(values: NDArray[Any]) -> dict[str, float]:
    return {"median": float(np.median(values)), "worst": float(np.max(values))}


def ratios(cells: list[Cell]) -> dict[str, float]:
    """How many times longer the scan takes, for each number of codes; of the two kinds of codes the worse."""
    found: dict[str, float] = {}
    for cell in cells:
        ours, scan = cell["index, ms a query"], cell["scan, ms a query"]
        of_cell = {
            f"vs_scan_single_{cell['items']}": scan["median"] / ours["median"],
            f"vs_scan_worst_query_{cell['items']}": scan["worst"] / ours["worst"],
            f"vs_scan_batch_{cell['items']}": cell["scan in a batch, ms a query"] / ours["median"],
        }
        for name, ratio in of_cell.items():
            found[name] = round(min(ratio, found.get(name, ratio)), 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="10^7 codes as well; needs 4 GB and some minutes")
    parser.add_argument(
        "--huge", action="store_true", help="10^7 and 10^8 codes as well; needs 24 GB and 10 GB of disk"
    )
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of codes; 10^6 unless given")
    parser.add_argument("--queries", type=int, default=100, help="queries that are asked one by one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where indexes are saved for a while; the usual place unless given")
    parser.add_argument("--output", type=Path, help="where to write; benchmarks/results/multi_index.json unless given")
    chosen = parser.parse_args()
    sizes = chosen.sizes or [10**6, 10**7, 10**8][: 3 if chosen.huge else 2 if chosen.full else 1]

    cells = []
    with tempfile.TemporaryDirectory(dir=chosen.folder) as parent:
        for n in sizes:
            for kind in KINDS:
                folder = Path(parent) / f"{kind}-{n}"
                cells.append(measure(kind, n, chosen.queries, chosen.rounds, folder))
                shutil.rmtree(folder)
    found = ratios(cells)
    path = record(
        "multi_index",
        ratios=found,
        figures={"k": K, "queries": chosen.queries, "cells": cells},
        command=" ".join(
            [
                "python benchmarks/multi_index.py --sizes",
                *map(str, sizes),
                f"--queries {chosen.queries} --rounds {chosen.rounds}",
            ]
        ),
        output=chosen.output,
    )
    print(f"milliseconds a query, {K} nearest, median (worst)")
    for cell in cells:
        ours, scan = cell["index, ms a query"], cell["scan, ms a query"]
        print(
            f"  {cell['kind']:9} {cell['items']:>11,}: index {ours['median']:.3f} ({ours['worst']:.3f}); "
            f"scan {scan['median']:.3f} ({scan['worst']:.3f}), in a batch {cell['scan in a batch, ms a query']:.3f}"
        )
    print("\n".join(f"{name:36} {value}" for name, value in found.items()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()
