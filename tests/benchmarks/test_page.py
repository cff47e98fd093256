"""The page of results says what the JSON files say, and nothing else."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RESULTS = BENCHMARKS / "results"
MACHINE = {"cpu": "abacus", "cores": 2, "system": "Linux", "python": "3", "numpy": "2", "instruction_sets": ["avx2"]}


def page(folder):
    """The files that are drawn in a folder of JSON files, by name."""
    command = [sys.executable, str(BENCHMARKS / "page.py"), "--folder", str(folder)]
    subprocess.run(command, check=True)
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.suffix != ".json"}


def measured(items, bits, batch_ms):
    others = {f"{who}, ms a query": 1.0 for who in ("faiss batch, heap", "single", "faiss single, heap")}
    return {"items": items, "bits": bits, "batch, ms a query": batch_ms, **others}


@pytest.fixture
def small(tmp_path):
    """A kernel.json whose figures are made up: twice the throughput at ten times the codes."""
    waits = {"1": {"p50": 0.1, "p99": 10.0}}
    figures = {
        "first_answer_seconds": 1.25,
        "first_answer_seconds_numpy": 0.25,
        "all": {
            "bandwidth": {
                "items": 1000,
                "read GB/s": 16.0,
                "search GB/s": 8.0,
                "ratio": 0.5,
                "comparisons a second": {"1": 1e9, "2": 1e10},
            }
        },
        "curves": {
            "throughput": [measured(10**4, 64, 0.01), measured(10**5, 64, 0.05)],
            "latency": [{"items": n, "bits": 64, "ms by threads": waits} for n in (10**4, 10**5)],
        },
    }
    content = {
        "name": "kernel",
        "ratios": {"vs_somebody": 3.5},
        "figures": figures,
        "command": "run",
        "machine": MACHINE,
    }
    (tmp_path / "kernel.json").write_text(json.dumps(content))
    return page(tmp_path)


def test_the_page_in_the_repository_is_what_its_json_files_give(tmp_path):
    for path in RESULTS.glob("*.json"):
        shutil.copy(path, tmp_path)
    stored = [RESULTS / "README.md", *RESULTS.glob("*.svg")]
    assert page(tmp_path) == {path.name: path.read_text(encoding="utf-8") for path in stored}


def test_a_throughput_is_the_number_of_codes_by_the_time_of_a_query(small):
    assert "64 queries at once from 1.00 to 2.00" in small["throughput-64.svg"]


def test_waiting_times_are_drawn_by_percentile(small):
    assert "p50 from 0.10 to 0.10, p99 from 10.00 to 10.00" in small["latency-64.svg"]
    assert "| 10,000 | 64 | 1 | 0.100 | 10.000 |" in small["README.md"]


def test_reading_alone_allows_a_comparison_for_each_sixteen_bytes_and_query(small):
    assert "measured from 1.00 to 10.00, what reading alone allows from 1.00 to 2.00" in small["roofline.svg"]


def test_ratios_bandwidth_and_first_answer_stand_on_the_page(small):
    text = small["README.md"]
    assert "| `vs_somebody` | 3.5 |" in text
    assert "16.0 GB/s; searching them for one query: 8.0 GB/s, 50% of it" in text
    assert "1.25 s, and 0.25 s by numpy" in text


def test_ratios_of_networks_name_their_presets(tmp_path):
    ratios = {"of_bare_networks": 0.8, "of_bare_networks_tvdb": 0.7, "of_bare_networks_gram": 0.69}
    content = {"name": "training", "ratios": ratios, "figures": {}, "command": "run", "machine": MACHINE}
    (tmp_path / "training.json").write_text(json.dumps(content))
    text = page(tmp_path)["README.md"]
    assert "`of_bare_networks` is the training step of `tvdb-lstm`" in text
    assert "`of_bare_networks_tvdb` is the same of `tvdb`, the default" in text
    assert "Wanted of a step is 0.7; not reached by `of_bare_networks_gram` (0.69).\n" in text


def test_the_memory_of_a_training_is_said_with_its_size(tmp_path):
    size = {"pairs": 85_000, "shape_of_a_picture": [21, 4100], "features_gb": 14.64}
    figures = size | {"peak_memory_gb": 16.5, "allowed_gb": 24}
    content = {"name": "training_memory", "ratios": {}, "figures": figures, "command": "run", "machine": MACHINE}
    (tmp_path / "training_memory.json").write_text(json.dumps(content))
    text = page(tmp_path)["README.md"]
    assert "85,000 pictures of 21 regions of 4,100 numbers" in text
    assert "14.64 GB in sparse files: 16.5 GB of memory" in text


def test_an_index_is_shown_with_what_it_takes_and_how_long_its_queries_wait(tmp_path):
    waits = {
        "index, ms a query": {"median": 0.1, "worst": 0.2},
        "scan, ms a query": {"median": 1.0, "worst": 2.0},
        "scan on 2 threads, ms a query": {"median": 0.5, "worst": 0.6},
    }
    times = {"build, s": 1.0, "save, s": 2.0, "open and verify, s": 3.0, "peak_memory_mb": 500.0}
    cell = {"kind": "uniform", "items": 1000, **times, **waits}
    content = {"name": "multi_index", "ratios": {}, "command": "run", "machine": MACHINE, "figures": {"cells": [cell]}}
    (tmp_path / "multi_index.json").write_text(json.dumps(content))
    row = "| 1,000 | uniform | 1.00 | 2.00 | 3.00 | 0.5 | 0.10 (0.20) | 1.00 (2.00) | 0.50 (0.60) |"
    assert row in page(tmp_path)["README.md"].splitlines()


def test_a_search_is_shown_beside_its_peers_and_with_its_upkeep(tmp_path):
    waits = {
        f"{who} {way}, ms a query": ms
        for way, ms in (("single", 0.5), ("batch", 0.25))
        for who in ("index", "grown index", "kernel")
    }
    waits |= {f"faiss {way}, counting, ms a query": 2.0 for way in ("single", "batch")}
    waits |= {f"faiss {way}, heap, ms a query": 1.0 for way in ("single", "batch")}
    upkeep = {
        "items added a second": 1000.0,
        "items added a second by 5 calls": 800.0,
        "memory of adding, bytes an item": 100.0,
        "bytes an item": 40.0,
        "open, ms": 1.0,
        "first answer, ms": 20.0,
        "second answer, ms": 0.5,
    }
    cell = {"kind": "uniform", "items": 1000, "bits": 64, **waits, "usearch, ms a query": 9.0, **upkeep}
    figures = {"k": 10, "batch": 64, "calls of a grown index": 5, "cells": [cell]}
    content = {"name": "search", "ratios": {}, "command": "run", "machine": MACHINE, "figures": figures}
    (tmp_path / "search.json").write_text(json.dumps(content))
    lines = page(tmp_path)["README.md"].splitlines()
    both = "0.500 / 0.250"
    assert f"| 1,000 | 64 | uniform | {both} | {both} | {both} | 1.000 / 1.000 | 9.0 | - |" in lines
    assert "| 1,000 | 64 | uniform | 1,000 | 800 | 100 | 40 | 1.0 | 20.0 | 0.5 |" in lines


def test_photographs_a_second_and_the_time_of_a_sentence_are_shown(tmp_path):
    rates = {"ours": 80.0, "ours without proposals": 88.0, "clip int8": 40.0, "clip fp32": 16.0}
    figures = {
        "proposer": "rpn",
        "pictures": [{"size": size, "photographs a second": rates} for size in ([320, 240], [4000, 3000])],
        "indexed a second, everything included": {"320 x 240": 60.0, "4000 x 3000": 9.0},
        "sentence to vector, ms": {"ours": 0.5, "clip int8": 20.0, "clip fp32": 40.0},
        "query": {"items": 1000, "median, ms": 2.0, "slowest, ms": 3.0, "sentences": 10},
    }
    content = {"name": "encoding", "ratios": {}, "command": "run", "machine": MACHINE, "figures": figures}
    (tmp_path / "encoding.json").write_text(json.dumps(content))
    text = page(tmp_path)["README.md"]
    assert "| photographs a second | 320 x 240 pixels | 4000 x 3000 pixels |" in text
    assert "| shapes of CLIP ViT-B/32, int8 | 40.0 | 40.0 |" in text
    assert "catalogue included | 60.0 | 9.0 |" in text
    assert "2.0 ms, and 3.0 ms for the slowest of 10" in text


def test_every_chart_is_shown(small):
    charts = [name for name in small if name.endswith(".svg")]
    assert len(charts) == 3
    assert all(f"({name})" in small["README.md"] for name in charts)
