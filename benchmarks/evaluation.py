"""How long a mean average precision takes: buckets against the argsort loop of public code.

    python benchmarks/evaluation.py

One thread. Our side runs over all queries, once by the compiled kernel and once by numpy alone, and includes counting,
the expected value and both tie extremes. The loop is timed on a sample of the queries, between parts of our runs, and
scaled up.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is imported
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["VECLIB_MAXIMUM_THREADS"] = "1"

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes
from deepbinaries.datasets.labels import Labels
from deepbinaries.evaluation import SharedLabels, average_precision, evaluate, of_codes
from recording import peak_memory_mb, record

ROUNDS = 10  # our run is cut into so many parts, with a piece of the loop's sample after each
MOST_MEMORY_MB = 2000
ORDERS = ("worst", "expected", "best")
ENGINES = ("numba", "numpy")

Floats = NDArray[np.float64]


def make_items(rng: np.random.Generator, n: int, bits: int, n_labels: int) -> tuple[Codes, Labels]:
    """Items with about three labels each, a few labels being frequent, and codes that know something of them."""
    frequency = 1 / np.arange(1, n_labels + 1)
    has = rng.random((n, n_labels)) < np.minimum(3 * frequency / frequency.sum(), 0.5)
    directions = np.random.default_rng(0).standard_normal((n_labels, bits))
    values = has @ directions + rng.standard_normal((n, bits))
    return Codes.from_values(values), Labels.from_matrix(has.astype(np.uint8))


def argsort_loop(
    signs: NDArray[np.float32],
    labels: NDArray[np.float32],
    gallery_signs: NDArray[np.float32],
    gallery_labels: NDArray[np.float32],
) -> Floats:
    """Average precision as public code computes it: a matrix product, a sort of the whole gallery, a count of hits."""
    bits = signs.shape[1]
    scores = np.full(len(signs), np.nan)
    for q in range(len(signs)):
        relevant = gallery_labels @ labels[q] > 0
        n_relevant = np.count_nonzero(relevant)
        if n_relevant == 0:
            continue
        distance = 0.5 * (bits - gallery_signs @ signs[q])
        order = np.argsort(distance)
        ranks = np.flatnonzero(relevant[order]) + 1
        scores[q] = np.mean(np.arange(1, n_relevant + 1) / ranks)
    return scores


def ours(queries: Codes, gallery: Codes, relevance: SharedLabels, engine: str) -> dict[str, Floats]:
    """Expected, best and worst average precision from buckets, counted by one of our engines."""
    os.environ["DEEPBINARIES_SEARCH"] = engine
    parts = list(of_codes(queries, gallery, relevance))
    return {ties: np.concatenate([average_precision(part, ties=ties) for part in parts]) for ties in ORDERS}


@dataclass(frozen=True)
class Timed:
    """What both sides found on the same queries, and the seconds each of them took."""

    our_scores: dict[str, Floats]  # of all queries
    our_seconds: dict[str, float]  # by engine
    sample: NDArray[np.int64]
    loop_scores: Floats  # of the sample
    loop_seconds: float
    threads: float  # processor seconds a second


def take_turns(queries: Codes, query_labels: Labels, gallery: Codes, gallery_labels: Labels, n_sampled: int) -> Timed:
    """Both sides timed in turns, so that a busy moment of the machine meets both."""
    sample = np.unique(np.linspace(0, len(queries) - 1, n_sampled).astype(np.int64))
    relevance = SharedLabels.of(query_labels, gallery_labels)
    signs, labels = gallery.to_signs(), gallery_labels.matrix().astype(np.float32)
    our_scores, our_seconds, loop_scores, loop_seconds = [], dict.fromkeys(ENGINES, 0.0), [], 0.0
    ours(queries[:2], gallery, SharedLabels(relevance.queries[:, :2], relevance.gallery), "numba")  # compiled once
    wall, cpu = time.perf_counter(), time.process_time()
    for part in np.array_split(np.arange(len(queries)), ROUNDS):
        of_part = SharedLabels(relevance.queries[:, part], relevance.gallery)
        for engine in ENGINES:
            begin = time.perf_counter()
            scores = ours(queries[part], gallery, of_part, engine)
            our_seconds[engine] += time.perf_counter() - begin
        our_scores.append(scores)

        sampled = np.intersect1d(part, sample)
        asking, asked = queries[sampled].to_signs(), query_labels.select(sampled).matrix().astype(np.float32)
        begin = time.perf_counter()
        loop_scores.append(argsort_loop(asking, asked, signs, labels))
        loop_seconds += time.perf_counter() - begin
    return Timed(
        our_scores={ties: np.concatenate([scores[ties] for scores in our_scores]) for ties in ORDERS},
        our_seconds=our_seconds,
        sample=sample,
        loop_scores=np.concatenate(loop_scores),
        loop_seconds=loop_seconds,
        threads=(time.process_time() - cpu) / (time.perf_counter() - wall),
    )


def check(timed: Timed) -> None:
    """Stop when more than one thread was at work, or when the two sides contradict each other."""
    if timed.threads > 1.2:
        raise SystemExit(f"{timed.threads:.1f} threads were at work, not one: set OMP_NUM_THREADS=1 and run again")
    worst, best = timed.our_scores["worst"][timed.sample], timed.our_scores["best"][timed.sample]
    inside = (worst - 1e-6 <= timed.loop_scores) & (timed.loop_scores <= best + 1e-6)
    if not (inside | np.isnan(timed.loop_scores)).all():
        raise SystemExit("the loop's scores lie outside the tie extremes: one of the two sides is wrong")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--items", type=int, default=85_000)
    parser.add_argument("--bits", type=int, default=128)
    parser.add_argument("--labels", type=int, default=80)
    parser.add_argument("--sample", type=int, default=200, help="queries that the argsort loop is timed on")
    parser.add_argument("--output", type=Path, help="where to write; benchmarks/results/evaluation.json unless given")
    chosen = parser.parse_args()

    rng = np.random.default_rng(1)
    gallery, gallery_labels = make_items(rng, chosen.items, chosen.bits, chosen.labels)
    queries, query_labels = make_items(rng, chosen.queries, chosen.bits, chosen.labels)
    timed = take_turns(queries, query_labels, gallery, gallery_labels, chosen.sample)
    check(timed)
    del os.environ["DEEPBINARIES_SEARCH"]
    begin = time.perf_counter()
    report = evaluate(queries, gallery, query_labels=query_labels, gallery_labels=gallery_labels)
    report_seconds = time.perf_counter() - begin
    peak = peak_memory_mb()
    if peak > MOST_MEMORY_MB:
        raise SystemExit(f"{peak:.0f} MB were held, more than {MOST_MEMORY_MB}")

    loop_seconds = timed.loop_seconds / len(timed.sample) * chosen.queries
    ratios = {engine: loop_seconds / timed.our_seconds[engine] for engine in ENGINES}
    sizes = {name: getattr(chosen, name) for name in ("queries", "items", "bits", "labels", "sample")}
    path = record(
        "evaluation",
        ratios={"vs_argsort_loop": round(ratios["numba"], 2), "vs_argsort_loop_numpy": round(ratios["numpy"], 2)},
        figures=sizes
        | {
            "threads_at_work": timed.threads,
            "ours_seconds": timed.our_seconds["numba"],
            "ours_seconds_numpy": timed.our_seconds["numpy"],
            "loop_seconds_on_the_sample": timed.loop_seconds,
            "loop_seconds_scaled_to_all_queries": loop_seconds,
            "whole_report_seconds": report_seconds,
            "peak_memory_mb": peak,
            "map_worst": report.pessimistic,
            "map_expected": report.mean,
            "map_best": report.optimistic,
            "map_chance": report.chance,
        },
        command=" ".join(["python benchmarks/evaluation.py", *(f"--{name} {size}" for name, size in sizes.items())]),
        output=chosen.output,
    )
    print(
        f"{chosen.queries:,} queries x {chosen.items:,} items, {chosen.bits} bits, one thread\n"
        f"  ours, all queries   {timed.our_seconds['numba']:8.2f} s, by numpy {timed.our_seconds['numpy']:.2f} s\n"
        f"  argsort loop        {loop_seconds:8.2f} s, scaled from {len(timed.sample)} queries: "
        f"{ratios['numba']:.1f} x ours, {ratios['numpy']:.1f} x numpy's\n"
        f"  our whole report    {report_seconds:8.2f} s, with extremes, cutoffs, interval and health\n"
        f"  peak memory         {peak:8.0f} MB\n"
        f"written to {path.name}"
    )


if __name__ == "__main__":
    main()
