"""How many bits one's own data want: what each length finds, how it ties, and what it costs."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from deepbinaries.codes import Codes, Gallery, histograms, top_k
from deepbinaries.errors import UsageError
from deepbinaries.experiments.cells import read_cells
from deepbinaries.experiments.compare import CELLS, Result, has_scores, results_there, run, trainings
from deepbinaries.experiments.comparison_table import QUERY, entry_of
from deepbinaries.experiments.contest import Contestant, Task
from deepbinaries.experiments.paper.sheets import Cell, Sheet, html, markdown
from deepbinaries.experiments.paper.tables import short
from deepbinaries.experiments.scores import BOTH, HAMMING
from deepbinaries.files import write_json_lines, written_whole

NAME = "bits"
K = 10  # answers of a search that is timed
TIMED, WARM = 50, 5  # single searches that are timed, after some that are not
WITHIN = 0.01  # of MAP, that a shorter code may lose

Line = dict[str, Any]


def searching(queries: Codes, gallery: Codes) -> dict[str, float]:
    """What it is to search a gallery of codes: mass of ties, bytes of an item, milliseconds of a search.

    The mass of ties is the probability that two items of the gallery are equally far from a query. A search is for the
    ten nearest of one query by one core; its time is the median over queries.

    >>> codes = Codes.from_bits([[0, 0], [1, 0], [0, 1]])  # of three pairs of items one is tied
    >>> cost = searching(codes[:1], codes)
    >>> round(cost["tie_mass"], 3), cost["bytes"], cost["bytes_in_memory"]
    (0.333, 1, 8)
    """
    counts, _ = histograms(queries, gallery)
    n = len(gallery)
    tied = (counts * (counts - 1)).sum(axis=1) / max(n * (n - 1), 1)
    laid_out = Gallery.of(gallery)
    milliseconds = []
    for number in range(WARM + TIMED):
        query = queries[number % len(queries)]
        began = time.perf_counter()
        top_k(query, laid_out, K, threads=1)
        milliseconds.append(1000 * (time.perf_counter() - began))
    return {
        "tie_mass": float(tied.mean()),
        "bytes": math.ceil(gallery.bits / 8),
        "bytes_in_memory": 8 * laid_out.n_words,
        "milliseconds": float(np.median(milliseconds[WARM:])),
        "items": n,
    }


def measure(contestant: Contestant, task: Task) -> list[Line]:
    """A line for each length, gallery and direction; lengths that are in the task's folder are not learnt again.

    Those that are there from the same seeds have lines too, so that asking for one more takes none away.
    """
    hasher = contestant.make(contestant.bits[0], task.seeds[0], device=task.device)
    if getattr(hasher, "ranking", HAMMING) != HAMMING:
        raise UsageError(f"{contestant.method} gives real values and no bits", next_step="choose a method that hashes")
    task = replace(task, searching=searching)
    contestant = replace(contestant, bits=tuple(sorted({*contestant.bits, *_lengths_there(contestant, task)})))
    results = run([contestant], task)
    places = [
        (bits, gallery, direction) for bits in contestant.bits for gallery in task.galleries for direction in BOTH
    ]
    return [_line(place, results, task.folder) for place in places]


def _lengths_there(contestant: Contestant, task: Task) -> Iterator[int]:
    """The lengths of which the folder has all results, from each seed, with what every query scored."""
    path = task.folder / CELLS
    cells = [cell for cell in (read_cells(path) if path.exists() else ()) if cell["method"] == contestant.method]
    for bits in dict.fromkeys(cell["bits"] for cell in cells):
        alone = replace(contestant, bits=(bits,))
        results = [results_there(alone, replace(task, seeds=(seed,))) for _, seed in trainings(alone, task)]
        if all(of and all(has_scores(one.cell, task.folder) for one in of) for of in results):
            yield bits


def recommendation(lines: Sequence[Line], *, within: float = WITHIN) -> tuple[int | None, str]:
    """The length to take, None where none can be recommended, and the sentence that says so.

    The rule: of the lengths whose intervals lie above chance in both directions, the shortest whose MAP, the mean of
    both, is no more than `within` below that of the best. Judged in the gallery `clean` where there is one.
    """
    gallery = _judged(lines)
    here = [line for line in lines if line["gallery"] == gallery]
    lengths = sorted({line["bits"] for line in here})
    poor = {line["bits"] for line in here if line["interval"][0] <= line["chance"]}
    score = {bits: _mean([line["map_all"] for line in here if line["bits"] == bits]) for bits in lengths}
    good = [bits for bits in lengths if bits not in poor]
    if not good:
        return (
            None,
            f"Take none of these: in the gallery {gallery} no length is surely better than chance in both directions.",
        )
    best = max(good, key=score.__getitem__)
    # Means have six digits; without rounding a loss of .01 could be one of .0100000001.
    bits = next(bits for bits in good if round(score[best] - score[bits], 6) <= within)
    longest = ", the longest that was measured" if bits == lengths[-1] else ""
    return bits, (
        f"Take {bits} bits{longest}: the shortest length whose MAP, the mean of both directions in the gallery "
        f"{gallery}, is no more than {short(within)} below the best, {short(score[best])} at {best} bits."
    )


def write(lines: Sequence[Line], folder: Path, title: str, notes: Sequence[str], *, within: float) -> list[Path]:
    """The report as JSON lines, Markdown and a page."""
    chosen, sentence = recommendation(lines, within=within)
    sheets = [_sheet(lines, gallery, chosen) for gallery in dict.fromkeys(line["gallery"] for line in lines)]
    told = [sentence, *notes, *EXPLAINED]
    paths = [folder / f"{NAME}.{ending}" for ending in ("jsonl", "md", "html")]
    write_json_lines([line | {"recommended": line["bits"] == chosen} for line in lines], paths[0])
    for path, text in zip(paths[1:], (markdown(title, told, sheets), html(title, told, sheets)), strict=True):
        with written_whole(path) as file:
            file.write(text.encode())
    return paths


EXPLAINED = (
    "MAP@all with its 95 % interval, expected over ties. Width of ties: what the order of equally near items alone can "
    "change of it. Mass of ties: how likely two items of the gallery are equally far from a query.",
    f"A search is for the {K} nearest items of one query, by one core, without the encoding; the median time. Bytes "
    "are those of an item's code in a file, and where it is searched: in whole words of 64 bits.",
    "The queries have chosen the length, so that its MAP flatters it a little.",
)


def _judged(lines: Sequence[Line]) -> str:
    galleries = [str(line["gallery"]) for line in lines]
    return "clean" if "clean" in galleries else galleries[0]


def _line(place: tuple[int, str, str], results: Sequence[Result], folder: Path) -> Line:
    bits, gallery, direction = place
    here = [
        one for one in results if (one.bits, one.cell["gallery"], one.cell["direction"]) == (bits, gallery, direction)
    ]
    entry, cells = entry_of(here, folder), [one.cell for one in here]
    searches = [cell["search"] for cell in cells]
    line: Line = {"bits": bits, "gallery": gallery, "direction": direction, "method": here[0].method}
    line |= {"map_all": round(entry.mean, 6), "interval": [round(end, 6) for end in entry.interval]}
    line |= {"chance": entry.chance, "tie_width": _mean([cell["optimistic"] - cell["pessimistic"] for cell in cells])}
    line |= {name: _mean([search[name] for search in searches]) for name in ("tie_mass", "milliseconds")}
    line |= {name: searches[0][name] for name in ("bytes", "bytes_in_memory", "items")}
    return line | {"seeds": [cell["seed"] for cell in cells], "command": cells[0]["command"]}


def _sheet(lines: Sequence[Line], gallery: str, chosen: int | None) -> Sheet:
    number: Mapping[tuple[int, str], Line] = {
        (line["bits"], line["direction"]): line for line in lines if line["gallery"] == gallery
    }
    rows = []
    for bits in dict.fromkeys(bits for bits, _ in number):
        both = [number[bits, direction] for direction in BOTH]
        texts = [f"{short(line['map_all'])} [{', '.join(map(short, line['interval']))}]" for line in both]
        texts += [short(_mean([line[name] for line in both])) for name in ("tie_width", "tie_mass")]
        texts += [str(both[0]["bytes"]), str(both[0]["bytes_in_memory"])]
        texts += [f"{_mean([line['milliseconds'] for line in both]):.3f}"]
        rows.append([Cell(text, strong=bits == chosen) for text in (str(bits), *texts)])
    about = number[next(iter(number))]
    head = ["bits", *(f"MAP, {QUERY[direction]} queries" for direction in BOTH), "width of ties", "mass of ties"]
    head += ["bytes", "bytes in memory", "ms a search"]
    return Sheet(f"Gallery {gallery}: {about['items']:,} items, chance {short(about['chance'])}.", head, rows)


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 6)
