"""How long every shallow method learns, and what it takes of memory, at the size of the paper's features.

    python benchmarks/fitting.py

10,000 pairs of a picture of 4096 numbers and a text of 384, of 24 labels; 64 bits; two cores. Each method learns in a
process of its own, whose peak counts everything: Python, the libraries and the features themselves (330 MB). Methods
learn from their usual samples (SePH 5,000 pairs, CMSSH 60,000 drawn ones). Results: benchmarks/results/fitting.json and
fitting.md.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from deepbinaries.datasets import Labels
from deepbinaries.features.inputs import Images, Pairs, Texts
from deepbinaries.registry import METHODS
from recording import RESULTS, machine, record

NAMES = (
    *("cca", "plsr", "cvfl", "cvfl-lap", "cvh", "cmfh", "cmfh-scaled", "qch"),
    *("scm-seq", "scm-orth", "imh", "cmssh", "seph-km", "seph-rnd"),
)
CORES = 2
MOST_SECONDS, MOST_MEGABYTES = 180, 4000
LABELS, OTHERS = 24, 400


def make_pairs(n: int, width: int, text_width: int, rng: np.random.Generator) -> Pairs:
    """Pairs whose vectors are mixtures of what their labels are like, of ever weaker other directions, and of noise.

    Ten directions hold a third of their variance and two hundred five sixths of it, as with features of photographs.
    """
    has = rng.random((n, LABELS)) < 0.08
    has[np.arange(n), rng.integers(0, LABELS, n)] = True
    others = rng.normal(size=(n, OTHERS)) * np.arange(1, OTHERS + 1) ** -0.6
    hidden = np.concatenate([has, others], axis=1).astype(np.float32)
    views = []
    for d in (width, text_width):
        mixing = rng.standard_normal((hidden.shape[1], d), dtype=np.float32)
        noise = rng.standard_normal((n, d), dtype=np.float32)
        views.append(np.maximum(hidden @ mixing + 0.3 * noise, 0))  # features of networks end in a rectifier
    return Pairs(Images.from_vectors(views[0]), Texts.from_vectors(views[1]), Labels.from_matrix(has))


def fit_one(name: str, bits: int, sizes: tuple[int, int, int]) -> dict[str, Any]:
    """Seconds of one training in this process, and the peak of all its memory, megabytes."""
    pairs = make_pairs(*sizes, np.random.default_rng(0))
    before = _peak()
    began, worked = time.perf_counter(), time.process_time()
    METHODS.load(name).preset(name, device="cpu", bits=bits).fit(pairs)
    taken = {"seconds": time.perf_counter() - began, "processor_seconds": time.process_time() - worked}
    taken |= {"peak_megabytes": _peak(), "before_megabytes": before}
    return {figure: round(value, 3) for figure, value in taken.items()}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kilobytes on Linux


def apart(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of a training in a new process that has two cores."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(CORES))
    sizes = [str(size) for size in (options.pairs, options.width, options.text_width)]
    command = [sys.executable, __file__, "--only", name, "--bits", str(options.bits), "--sizes", *sizes]
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | threads)
    figures: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return figures


def measured_before(output: Path, sizes: dict[str, int]) -> dict[str, Any]:
    """The figures of earlier runs of the same size on the same machine, so that one method can be measured again."""
    if not output.exists():
        return {}
    content = json.loads(output.read_text(encoding="utf-8"))
    same = content["figures"]["sizes"] == sizes and content["machine"] == machine()
    return dict(content["figures"]["methods"]) if same else {}


def table(figures: dict[str, dict[str, Any]], options: argparse.Namespace) -> str:
    """The figures as Markdown."""
    lines = [
        f"# Learning from {options.pairs:,} x {options.width}",
        "",
        f"{options.bits} bits, {LABELS} labels, texts of {options.text_width} numbers, {CORES} threads; each method in",
        "a process of its own, whose peak counts Python, libraries and features too. Written by",
        "`python benchmarks/fitting.py`.",
        "",
        "| method | seconds | of all processors | peak MB |",
        "| --- | --- | --- | --- |",
        *(
            f"| `{name}` | {of['seconds']:.1f} | {of['processor_seconds']:.1f} | {of['peak_megabytes']:,.0f} |"
            for name, of in figures.items()
        ),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join(NAMES))
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--text-width", type=int, default=384)
    parser.add_argument("--output", type=Path, help="where to write; benchmarks/results/fitting.json unless given")
    parser.add_argument("--only", help=argparse.SUPPRESS)  # what the processes are started with
    parser.add_argument("--sizes", type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(fit_one(options.only, options.bits, tuple(options.sizes))))
        return
    sizes = {"pairs": options.pairs, "width": options.width, "text_width": options.text_width, "bits": options.bits}
    given = [f"--{name.replace('_', '-')} {size}" for name, size in sizes.items() if size != parser.get_default(name)]
    output = options.output or RESULTS / "fitting.json"
    figures = measured_before(output, sizes)
    for name in options.methods.split(","):
        METHODS.find(name)
        figures[name] = apart(name, options)
        print(f"{name}: {figures[name]['seconds']:.1f} s, {figures[name]['peak_megabytes']:,.0f} MB", flush=True)
    ratios = {
        "of_allowed_seconds": round(MOST_SECONDS / max(of["seconds"] for of in figures.values()), 3),
        "of_allowed_memory": round(MOST_MEGABYTES / max(of["peak_megabytes"] for of in figures.values()), 3),
    }
    path = record(
        "fitting",
        ratios=ratios,
        figures={"sizes": sizes, "threads": CORES, "methods": figures},
        command=" ".join(["python benchmarks/fitting.py", *given]),
        output=output,
    )
    output.with_suffix(".md").write_text(table(figures, options))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()
