"""The page of all results: tables and charts drawn from the JSON files alone, so that anybody can draw them again.

python benchmarks/page.py       # benchmarks/results/README.md and its charts
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deepbinaries.experiments.charts import Line, line_chart
from recording import RESULTS

ROOF_BITS = 128  # of the codes that the roofline is measured with

STYLE = """<style>
.chart text { fill: #6a6760; font: 13px system-ui, sans-serif; }
.chart .axis, .chart .tick { stroke: #6a6760; fill: none; }
.chart .grid { stroke: #8886; fill: none; }
.chart .line { fill: none; stroke-width: 2.25; stroke-linejoin: round; }
.chart .line-0 { stroke: #2a6fbf; }
.chart .line-1 { stroke: #c05a1a; }
.chart .line-2 { stroke: #2a6fbf; stroke-dasharray: 7 4; }
.chart .line-3 { stroke: #c05a1a; stroke-dasharray: 7 4; }
@media (prefers-color-scheme: dark) { .chart text { fill: #a5a198; } }
</style>"""

OF_BARE_NETWORKS = """\
`of_bare_networks` is the training step of `tvdb-lstm` beside its own networks that learn fixed targets, with its update
`spectral`; an update at the end of a name takes its place. `of_bare_networks_tvdb` is the same of `tvdb`, the default:
its networks take half the time, so that learning codes weighs more. `of_bare_backbone` is the way from files to
features beside the network that sees ready pixels; wanted is .5."""
WANTED_OF_A_STEP = 0.7

Cell = Mapping[str, Any]


def page(results: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The files of the page by name, from what was recorded by name; the README shows the others."""
    charts = kernel_charts(results["kernel"]["figures"]) if "kernel" in results else {}
    parts = [
        "# What was measured",
        "Drawn by `python benchmarks/page.py` from the JSON files of this folder; `make bench` measures and draws\n"
        "again. `vs_` says how many times longer a peer takes in the same run: above 1 we are faster. `of_` is a\n"
        "share of what could be had at best; `of_allowed_` how many times over the worst case fits into what is\n"
        "allowed: below 1 it does not. Times of two runs cannot be compared.",
        *(section(result, charts) for _, result in sorted(results.items())),
    ]
    return {"README.md": "\n\n".join(parts) + "\n", **charts}


def section(result: Mapping[str, Any], charts: Mapping[str, str]) -> str:
    """One benchmark: where and how it ran, its ratios, and what else there is to show of it."""
    machine = result["machine"]
    where = f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}"
    with_these = f"numpy {machine['numpy']}, instruction sets {', '.join(machine['instruction_sets'])}"
    lines = [
        f"## {result['name']}",
        f"`{result['command']}`  \n{where}, {with_these}",
        table(("ratio", "value"), [(f"`{name}`", value) for name, value in result["ratios"].items()]),
    ]
    if result["name"] == "kernel":
        lines += [f"{caption(chart)}\n\n![{name.removesuffix('.svg')}]({name})" for name, chart in charts.items()]
        lines += [waiting_times(result["figures"]), *bandwidth_and_start(result["figures"])]
    if result["name"] == "multi_index":
        lines.append(indexes(result["figures"]))
    if result["name"] == "search":
        lines += [searches(result["figures"]), upkeep(result["figures"])]
    if result["name"] == "crashes":
        lines[2:] = [kills(result["figures"])]
    if result["name"] == "scale_encoding":
        lines.append(workers(result["figures"]))
    if result["name"] == "scale_index":
        lines.append(engines(result["figures"]))
    if result["name"] == "training":
        lines += [OF_BARE_NETWORKS + steps(result["ratios"]), whole_training(result["figures"])]
    if result["name"].startswith("training_again"):
        lines.append("The networks of `training` once more, on another machine of the same kind.")
    if result["name"] == "training_memory":
        lines.append(memory(result["figures"]))
    if result["name"] == "whole_set":
        lines.append(whole_sets(result["figures"]))
    if result["name"] == "encoding":
        lines += [rates(result["figures"]), sentences(result["figures"])]
    return "\n\n".join(lines)


def steps(ratios: Mapping[str, float]) -> str:
    """What is wanted of a training step, and which do not reach it."""
    of_steps = {name: share for name, share in ratios.items() if name.startswith("of_bare_networks")}
    below = [f"`{name}` ({share})" for name, share in of_steps.items() if share < WANTED_OF_A_STEP]
    missed = f"; not reached by {' and '.join(below)}" if below else ""
    return f"\nWanted of a step is {WANTED_OF_A_STEP}{missed}."


def whole_training(figures: Mapping[str, Any]) -> str:
    seconds = figures.get("paper_size_seconds")
    if seconds is None:
        return "A whole training was not measured."
    return (
        f"A training of the paper's COCO size, 50,000 pairs of 21 x 4,100 numbers in 25 epochs, took {seconds:.1f} s\n"
        "from start to end. Allowed are 60 s, the goal is 30 s."
    )


def kernel_charts(figures: Mapping[str, Any]) -> dict[str, str]:
    """Throughput and waiting times against the number of codes, and the roofline, as SVG files."""
    throughput, latency = figures["curves"]["throughput"], figures["curves"]["latency"]
    charts = {}
    for bits in sorted({cell["bits"] for cell in throughput}):
        charts[f"throughput-{bits}.svg"] = throughput_chart([cell for cell in throughput if cell["bits"] == bits], bits)
        charts[f"latency-{bits}.svg"] = latency_chart([cell for cell in latency if cell["bits"] == bits], bits)
    return charts | {"roofline.svg": roofline_chart(figures["all"]["bandwidth"])}


def throughput_chart(cells: Sequence[Cell], bits: int) -> str:
    who = {
        "batch": "64 queries at once",
        "faiss batch": "faiss, 64 at once",
        "single": "one query",
        "faiss single": "faiss, one query",
    }
    return drawn(
        [Line(name, sizes(cells), comparisons(cells, key)) for key, name in who.items()],
        title=f"Comparisons of {bits}-bit codes on one thread",
        x_label="codes",
        y_label="10⁹ comparisons a second",
        logarithmic="x",
    )


def latency_chart(cells: Sequence[Cell], bits: int) -> str:
    waits = [cell["ms by threads"]["1"] for cell in cells]
    return drawn(
        [Line(name, sizes(cells), [wait[name] for wait in waits]) for name in waits[0]],
        title=f"How long one query over {bits}-bit codes waits, on one thread",
        x_label="codes",
        y_label="milliseconds",
        logarithmic="xy",
    )


def roofline_chart(roof: Cell) -> str:
    asked = sorted(map(int, roof["comparisons a second"]))
    reading = [n * roof["read GB/s"] * 8 / ROOF_BITS for n in asked]
    searching = [roof["comparisons a second"][str(n)] / 1e9 for n in asked]
    return drawn(
        [Line("measured", asked, searching), Line("what reading alone allows", asked, reading)],
        title=f"{ROOF_BITS}-bit codes that are read once for some queries",
        x_label="queries that share a reading",
        y_label="10⁹ comparisons a second",
        logarithmic="xy",
    )


def drawn(lines: Sequence[Line], *, title: str, x_label: str, y_label: str, logarithmic: str) -> str:
    """A chart as a file of its own, with its colours."""
    chart = line_chart(lines, title=title, x_label=x_label, y_label=y_label, logarithmic=logarithmic)
    opening, rest = chart.split(">", 1)
    return f'{opening} xmlns="http://www.w3.org/2000/svg">\n{STYLE}{rest}\n'


def caption(chart: str) -> str:
    """The title of a chart, which its description begins with."""
    return chart.split('aria-label="', 1)[1].split(":", 1)[0] + ":"


def sizes(cells: Sequence[Cell]) -> list[float]:
    return [cell["items"] for cell in cells]


def comparisons(cells: Sequence[Cell], who: str) -> list[float]:
    """Comparisons a second in thousands of millions; of several ways to search the fastest counts."""
    times = [min(cell[key] for key in cell if key.startswith(f"{who},")) for cell in cells]
    return [cell["items"] / ms / 1e6 for cell, ms in zip(cells, times, strict=True)]


def waiting_times(figures: Mapping[str, Any]) -> str:
    rows = [
        (f"{cell['items']:,}", cell["bits"], threads, *(f"{ms:.3f}" for ms in waits.values()))
        for cell in figures["curves"]["latency"]
        for threads, waits in cell["ms by threads"].items()
    ]
    names = list(figures["curves"]["latency"][0]["ms by threads"]["1"])
    return table(("codes", "bits", "threads", *(f"{name}, ms" for name in names)), rows)


def bandwidth_and_start(figures: Mapping[str, Any]) -> list[str]:
    roof = figures["all"]["bandwidth"]
    return [
        f"Reading {roof['items']:,} codes of {ROOF_BITS} bits: {roof['read GB/s']:.1f} GB/s; searching them for one "
        f"query: {roof['search GB/s']:.1f} GB/s, {roof['ratio']:.0%} of it, in the same run.",
        f"From the start of a process to its first answer: {figures['first_answer_seconds']:.2f} s, and "
        f"{figures['first_answer_seconds_numpy']:.2f} s by numpy.",
    ]


def indexes(figures: Mapping[str, Any]) -> str:
    """What each index takes to make and to hold, and how long its queries wait beside those of the scan."""
    made, rows = ("build, s", "save, s", "open and verify, s"), []
    for cell in figures["cells"]:
        on_all_cores = next(cell[key] for key in cell if key.startswith("scan on "))
        steps = [f"{cell[step]:.2f}" for step in made]
        waits = [
            f"{wait['median']:.2f} ({wait['worst']:.2f})"
            for wait in (cell["index, ms a query"], cell["scan, ms a query"], on_all_cores)
        ]
        rows.append((f"{cell['items']:,}", cell["kind"], *steps, f"{cell['peak_memory_mb'] / 1000:.1f}", *waits))
    head = ("codes", "kind", *made, "peak memory, GB", "index, ms", "scan, ms", "scan on all cores, ms")
    return table(head, rows) + "\n\nMilliseconds are those of the median query, and in brackets of the worst."


def searches(figures: Mapping[str, Any]) -> str:
    """How long a query waits for everybody, one by one and in a batch; a dash where somebody was not asked."""
    who = ("index", "grown index", "kernel", "faiss")
    rows = []
    for cell in figures["cells"]:
        ms = {key.removesuffix(", ms a query"): value for key, value in cell.items() if key.endswith(", ms a query")}
        of_both = [
            " / ".join(
                f"{min(ms[key] for key in ms if key.startswith(f'{one} {way}')):.3f}" for way in ("single", "batch")
            )
            for one in who
        ]
        others = [f"{ms[one]:.1f}" if one in ms else "-" for one in ("usearch", "pgvector")]
        rows.append((f"{cell['items']:,}", cell["bits"], cell["kind"], *of_both, *others))
    head = ("codes", "bits", "kind", *who, "usearch", "pgvector")
    return table(head, rows) + (
        f"\n\nMilliseconds a query, {figures['k']} nearest: one by one / {figures['batch']} at once. The index has\n"
        f"one segment, a grown one those that {figures['calls of a grown index']} calls left. The kernel is ours "
        "without ids, files and certificate."
    )


def upkeep(figures: Mapping[str, Any]) -> str:
    """What an index takes to fill, to keep and to open."""
    cells = figures["cells"]
    by_calls = next(key for key in cells[0] if key.startswith("items added a second by"))
    whole = ("items added a second", by_calls, "memory of adding, bytes an item", "bytes an item")
    times = ("open, ms", "first answer, ms", "second answer, ms")
    rows = [
        (
            f"{cell['items']:,}",
            cell["bits"],
            cell["kind"],
            *(f"{cell[key]:,.0f}" for key in whole),
            *(f"{cell[key]:,.1f}" for key in times),
        )
        for cell in cells
    ]
    return table(("codes", "bits", "kind", *whole, *times), rows) + (
        "\n\nBy the clock. Opening and answers are those of a new process, whose first answer waits until every byte\n"
        "is proven."
    )


def workers(figures: Mapping[str, Any]) -> str:
    """Photographs a second by a plain loop and by workers of Ray."""
    names = ("pictures a second", "seconds to start", "seconds in all")
    rows = [(way, f"{of['pictures']:,}", *(f"{of[name]:.1f}" for name in names)) for way, of in figures["ways"].items()]
    return table(("who", "pictures", *names), rows) + (
        f"\n\nThe rate is that of the seconds beyond the start. {figures['equal codes']} codes are equal in all ways."
    )


def engines(figures: Mapping[str, Any]) -> str:
    """What a copy to each engine took, and how long queries wait there."""
    names = ("single, median ms", "single, worst ms", "100 at once, ms a query")
    rows = []
    for engine, of in figures["engines"].items():
        copied = (f"{of['copy, s']:,.1f}", f"{of['codes a second']:,.0f}") if "copy, s" in of else ("-", "-")
        alike = f"{of['equal distances'] or 0:,} of {of['queries']:,}" if "queries" in of else "-"
        rows.append((engine, *copied, f"{of['bytes a code']:,.0f}", alike, *(f"{of[name]:.2f}" for name in names)))
    head = ("engine", "copy, s", "codes a second", "bytes a code", "queries with equal distances", *names)
    return table(head, rows) + (
        f"\n\n{figures['items']:,} codes of {figures['bits']} bits, copied from the folder; the {figures['k']} nearest "
        "of each query. By the clock."
    )


def kills(figures: Mapping[str, Mapping[str, int]]) -> str:
    """After how many kills nothing was lost."""
    names = ("kills", "acknowledged", "lost", "wrong answers")
    return table(("killed while", *names), [(name, *(of[one] for one in names)) for name, of in figures.items()])


def memory(figures: Mapping[str, Any]) -> str:
    """What a training holds, and of what size it is."""
    regions, width = figures["shape_of_a_picture"]
    return (
        f"{figures['pairs']:,} pictures of {regions} regions of {width:,} numbers, {figures['features_gb']} GB in "
        f"sparse files: {figures['peak_memory_gb']} GB of memory at the peak, pages of the files included; "
        f"{figures['allowed_gb']} GB are allowed. Small networks learn from all of them, the paper's from a few."
    )


def whole_sets(figures: Mapping[str, Any]) -> str:
    """Seconds of an update of the codes of a whole training set, and of the same between all pairs of items."""
    times = {"first": "first, s", "again": "again, s", "start": "by labels alone, s"}
    rows = []
    for update, seconds in figures["seconds"].items():
        between_pairs = f"{seconds['all pairs']['seconds']:.2g}" if "all pairs" in seconds else "-"
        rows.append((f"`{update}`", *(f"{seconds[name]:.2g}" for name in times), between_pairs))
    return table(("update", *times.values(), "first, between all pairs, s"), rows) + (
        f"\n\n{figures['items']:,} items with {figures['label_sets']:,} label sets, {figures['bits']} bits, on "
        f"{figures['device']}; the least of {figures['repeats']} repeats. Between all pairs no eigenvectors were "
        "tried, which `spectral` and `relaxed` would want."
    )


INDEXED = "`deepbinaries index`, small copies, dates and catalogue included"


def rates(figures: Mapping[str, Any]) -> str:
    """Photographs a second, from a file's bytes to a code or a vector."""
    who = {
        "ours": f"ours, proposals by `{figures['proposer']}` included, which these codes do not need",
        "ours without proposals": "ours without proposals",
        "clip int8": "shapes of CLIP ViT-B/32, int8",
        "clip fp32": "shapes of CLIP ViT-B/32, fp32",
    }
    head = ("photographs a second", *(f"{w} x {h} pixels" for w, h in (cell["size"] for cell in figures["pictures"])))
    found = [cell["photographs a second"] for cell in figures["pictures"]]
    rows = [(name, *(f"{of[key]:.1f}" for of in found)) for key, name in who.items()]
    indexed = figures["indexed a second, everything included"].values()
    return table(head, [*rows, (INDEXED, *(f"{rate:.1f}" for rate in indexed))])


def sentences(figures: Mapping[str, Any]) -> str:
    """How long a sentence takes, by itself and in a search."""
    vector, query = figures["sentence to vector, ms"], figures["query"]
    return (
        f"A sentence becomes a code in {vector['ours']:.2f} ms; CLIP's shapes take {vector['clip int8']:.1f} ms in "
        f"int8 and {vector['clip fp32']:.1f} ms in fp32. From a sentence to its hits among {query['items']:,} "
        f"photographs: {query['median, ms']:.1f} ms, and {query['slowest, ms']:.1f} ms for the slowest of "
        f"{query['sentences']}."
    )


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """
    >>> print(table(("a", "b"), [(1, 2)]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def read(folder: Path) -> dict[str, Any]:
    found = {}
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        found[content["name"]] = content
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where the JSON files are and the page will be")
    folder = parser.parse_args().folder
    for name, content in page(read(folder)).items():
        (folder / name).write_text(content, encoding="utf-8")
        print(f"written to {name}")


if __name__ == "__main__":
    main()
