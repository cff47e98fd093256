"""The tables of results/findings.md, of what `deepbinaries reproduce` and the trials of regions left.

    python results/findings.py

Cells that lie unpacked are packed before. Each finding has its own marks; what people wrote around them
stays.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from packed import pack
from peers import peers
from reproduced import (
    BEST,
    BITS,
    OURS,
    PLACES,
    PRINTED,
    TASKS,
    TVDB,
    Cells,
    Number,
    Numbers,
    by_rule,
    caption,
    cell_of,
    chance,
    chances,
    grid,
    less,
    lines_of,
    made,
    mean,
    numbers,
    over_reference,
    reference_over,
    reproduced_cells,
    share,
    text,
)
from scipy.stats import spearmanr
from tables import BITS as LENGTHS
from tables import DIRECTIONS, HERE, QUERY, added, both, short, signed
from task_tables import GALLERIES

from deepbinaries.experiments.cells import Cell, read_cells
from deepbinaries.experiments.comparison_table import Column
from deepbinaries.experiments.paper.epochs import PAPERS as OF_EPOCHS
from deepbinaries.experiments.paper.plans import read_plan
from deepbinaries.experiments.paper.tables import PAPERS as THE_PAPERS
from deepbinaries.files import written_whole

FINE_TUNED = "regions-fine-tuned.jsonl"
TUNING = (
    f"Not here yet; made by `python -m recipes.regions.fine_tuning DATA --cache CACHE --features FEATURES --yolox "
    f"yolox_nano_416.onnx --task r18 --out results/{FINE_TUNED}`, and so for r17 and iapr22."
)


def seeds(root: Path) -> Iterator[str]:
    """How far apart trainings are that differ in their seed alone."""
    rows = []
    for task in TASKS:
        path = root / task.dataset / "cells.jsonl"
        scores: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        for cell in read_cells(path) if path.exists() else ():
            if (cell["experiment"], cell["rule"], cell["bits"]) == ("main", task.rule, BITS):
                what = f"`{cell['method']}`, `{cell['settings']['update']}`, {cell['settings']['words']} words"
                scores[what, cell["gallery"], cell["direction"]].append(cell["map_all"])
        apart = {place: max(found) - min(found) for place, found in scores.items() if len(found) > 1}
        for what, gallery in dict.fromkeys((what, gallery) for what, gallery, _ in apart):
            both_ways = (f"{apart[what, gallery, direction]:.4f}".lstrip("0") for direction in DIRECTIONS)
            rows.append([task.name, what, gallery, *both_ways])
    if rows:
        yield from caption(f"The highest MAP of three seeds less the lowest; {BITS} bits, regions of `grid`.")
    yield from grid(["task", "method", "gallery", *(QUERY[direction] for direction in DIRECTIONS)], rows)


def parts(root: Path, without: Sequence[str]) -> Iterator[str]:
    """What TVDB has over itself without a part, ours and the paper's, and how that is at other lengths."""
    there, missing = numbers(root, "table2")
    rows, at_lengths = [], []
    for task, found in there.items():
        for column in PLACES:
            place = [task.name, column.gallery, QUERY[column.direction]]
            cells = [*place, chance(found, column.gallery), text(mean(found, TVDB, column))]
            for row in without:
                papers = [found.get((name, column), {}).get("paper") for name in (TVDB, row)]
                cells += [text(mean(found, row, column)), reference_over(found, row, column), less(*papers)]
            rows.append(cells)
            at_lengths.append(place + [cell for row in without for cell in _over_lengths(found, row, column)])
    if rows:
        yield from caption(f"{BITS} bits, the paper's differences too, which are of IAPR TC-12.")
    head = [part for row in without for part in (row, f"{TVDB} − {row}", "the paper's")]
    yield from grid(["task", "gallery", "query", "chance", TVDB, *head], rows)
    if rows:
        yield f"The same at {', '.join(map(str, LENGTHS))} bits: the least and the most, each with its length, and at"
        yield from caption(f"how many lengths {TVDB} is behind, and ahead, beyond the interval.")
    head = [part for row in without for part in (f"{TVDB} − {row}", "behind", "ahead")]
    yield from grid(["task", "gallery", "query", *head], at_lengths)
    yield from missing


def _over_lengths(found: Numbers, row: str, column: Column) -> list[str]:
    """Between what TVDB less a row lies at all lengths, and at how many it is behind and ahead."""
    of_length = {bits: found.get((row, column._replace(bits=bits)), {}) for bits in LENGTHS}
    overs = {bits: number["over_reference"] for bits, number in of_length.items() if "over_reference" in number}
    if not overs:
        return [""] * 3
    by_worth = [(-over["mean"], bits) for bits, over in overs.items()]
    ends = " to ".join(f"{signed(value)} at {bits}" for value, bits in (min(by_worth), max(by_worth)))
    intervals = [over["interval"] for over in overs.values()]
    return [ends, share(low > 0 for low, _ in intervals), share(high < 0 for _, high in intervals)]


def regions(root: Path) -> Iterator[str]:
    """The paper's regions, by whose proposals, then the forms of regions on frozen and on learning backbones."""
    yield from parts(root, ["TVDB-I1"])
    yield from _proposers(root)
    frozen: Cells = defaultdict(dict)
    for dataset in dict.fromkeys(task.dataset for task in TASKS):
        for line in lines_of(root / dataset / "regions.jsonl"):
            gallery, _, direction = line["place"].partition("/")
            frozen[line["form"], gallery, QUERY[direction]][line["rule"]] = added(line)
    yield from caption(f"Forms of regions less the whole picture, frozen backbone: {BITS} bits, means of three seeds.")
    yield from by_rule(["form, proposals", "gallery", "query"], frozen)
    tuned: Cells = defaultdict(dict)
    lines = lines_of(root / FINE_TUNED)
    if lines:
        tuned["chance", "", ""] = {line["rule"]: short(line["chance"]) for line in lines}
    for line in lines:
        over = "" if line["over_whole"] is None else added(line)
        row = line["form"], str(line["seed"]), QUERY[line["direction"]]
        tuned[row][line["rule"]] = f"{short(line['map_all'])} {over}".strip()
    yield f"A backbone that learns along: MAP, and how much that is over the whole picture; {BITS} bits, validation"
    yield from caption("items ask, gallery `clean`.")
    yield from by_rule(["form, proposals", "seed", "query"], tuned) if tuned else (TUNING, "")


def _proposers(root: Path) -> Iterator[str]:
    """The same method with the regions that these tables read, and with those of the other pages."""
    there, _ = numbers(root, "table1")
    rows = []
    for task, found in there.items():
        here = [found[TVDB, column] for column in PLACES if column.gallery == "clean" and (TVDB, column) in found]
        path = root / task.dataset / "cells.jsonl"
        settings = [training["settings"] for number in here for training in number["trainings"]]
        others = [
            cell
            for cell in (read_cells(path) if path.exists() else ())
            if (cell["method"], cell["rule"], cell["bits"], cell["gallery"]) == ("tvdb-lstm", task.rule, BITS, "clean")
            and (cell["experiment"], cell["proposer"]) == ("main", "grid")
            and any(cell["settings"].items() <= own.items() for own in settings)
        ]
        if others:
            rows.append([task.name, both(here), both(others, spread=True)])
    if rows:
        yield "The same method by whose regions it reads: TVDB, picture query / sentence query, 64 bits, `clean`."
        yield from caption("Of three seeds the mean, and the largest distance from it.")
    yield from grid(["task", "`rpn`, one seed: these tables", "`grid`, three seeds: [README.md](README.md)"], rows)


def routines(root: Path) -> Iterator[str]:
    """The best epoch of each routine under each update, and its last one."""
    there, missing = made(root, "figure5")
    head = [part for direction in DIRECTIONS for part in (f"best, {QUERY[direction]}", "epoch", "last")]
    for task, content in there.items():
        rows, trainings = [], content["trainings"]
        for training in trainings:
            cells, epochs = [training["settings"]["update"], training["row"].rpartition(", ")[0]], training["epochs"]
            for direction in DIRECTIONS:
                best = max(epochs, key=lambda epoch: epoch[direction])
                cells += [short(best[direction]), str(best["epoch"]), short(epochs[-1][direction])]
            rows.append(cells)
        bits, gallery, level = (trainings[0][name] for name in ("bits", "gallery", "chance"))
        about = f"{task.title}: MAP of the best epoch and of the last one"
        yield from caption(f"{about}; {bits} bits, gallery `{gallery}`, chance {short(level)}.")
        yield from grid(["update", "routine", *head], rows)
    yield from caption(OF_EPOCHS) if there else ()
    yield from missing


def collapse(root: Path) -> Iterator[str]:
    """How far the printed update is from chance, and how many codes it has, beside an update that does not collapse."""
    there, missing = numbers(root, "table1")
    rows = []
    for task, found in there.items():
        cells = reproduced_cells(root, task)
        for column in PLACES:
            row = [task.name, column.gallery, QUERY[column.direction], chance(found, column.gallery)]
            for bits in LENGTHS:
                number = found.get((PRINTED, column._replace(bits=bits)), {})
                row.append(less(number.get("map_all"), number.get("chance")))
            rows.append([*row, *_health(found, PRINTED, column, cells), *_health(found, TVDB, column, cells)])
    lengths = [f"MAP − chance, {bits} bits" for bits in LENGTHS]
    of_codes = [f"{what}, {row}" for row in (PRINTED, TVDB) for what in ("codes searched", "effective rank")]
    yield from grid(["task", "gallery", "query", "chance", *lengths, *of_codes], rows)
    yield from caption(f"Codes and rank are of {BITS} bits: picture queries search sentences, and sentences pictures.")
    yield from missing


def _health(found: Numbers, row: str, column: Column, cells: Sequence[Cell]) -> tuple[str, str]:
    """How many codes the gallery's items have, and how many bits count; both "" where no cell tells it."""
    cell = cell_of(found, row, column, cells)
    if cell is None:
        return "", ""
    health = cell["health"]["gallery"]
    return f"{health['distinct_codes']:,} of {health['items']:,}", f"{health['effective_rank']:.1f}"


def fixes(root: Path) -> Iterator[str]:
    """What each step adds to the one before, and how far it is from the best form."""
    there, missing = numbers(root, "fixes")
    head = [part for gallery in GALLERIES for part in (gallery, "over the row before", f"over {BEST}")]
    for task, found in there.items():
        rows, steps = [], [row.name for row in read_plan("fixes", task.dataset).rows]
        for before, step in zip(["", *steps], steps, strict=False):
            for direction in DIRECTIONS:
                cells = [step, QUERY[direction]]
                for place in (Column(gallery, BITS, direction) for gallery in GALLERIES):
                    value, last = mean(found, step, place), mean(found, before, place)
                    cells += [text(value), less(value, last), over_reference(found, step, place)]
                rows.append(cells)
        yield from caption(f"{task.title}: {BITS} bits, {chances(found)}. No interval is kept of a step over another.")
        yield from grid(["step", "query", *head], rows)
    yield from missing


def paper(root: Path) -> Iterator[str]:
    """The paper's numbers of IAPR TC-12 beside ours, and how alike the orders of methods are."""
    iapr22 = next(task for task in TASKS if task.dataset == "iapr22")
    found = numbers(root, "table1")[0].get(iapr22)
    if found is None:
        yield from caption(iapr22.missing("table1"))
        return
    lengths = [f"{bits} bits" for bits in LENGTHS]
    yield f"The paper / ours / ours less the paper's; gallery `{THE_PAPERS}`, chance {chance(found, THE_PAPERS)}."
    yield ""
    rows = [
        [name, QUERY[way], *(_beside(found.get((name, Column(THE_PAPERS, bits, way)), {})) for bits in LENGTHS)]
        for name in dict.fromkeys(row for row, _ in found)
        for way in DIRECTIONS
    ]
    yield from grid(["method", "query", *lengths], rows)
    yield "Over the methods that both have, with one row of ours for TVDB: the mean absolute difference, and"
    yield from caption("Spearman's correlation of the two orders.")
    rows = [
        [ours, QUERY[way], *(_alike(found, ours, Column(THE_PAPERS, bits, way)) for bits in LENGTHS)]
        for ours in (TVDB, BEST)
        for way in DIRECTIONS
    ]
    yield from grid(["TVDB is", "query", *lengths], rows)


def _beside(number: Number) -> str:
    papers = number.get("paper")
    return "" if papers is None else f"{short(papers)} / {short(number['map_all'])} / {less(number['map_all'], papers)}"


def _alike(found: Numbers, ours: str, column: Column) -> str:
    here = {row: number for (row, at), number in found.items() if at == column and number["paper"] is not None}
    both = [(number["map_all"], number["paper"]) for row, number in here.items() if row == ours or row not in OURS]
    if ours not in here or len(both) < 3:
        return ""
    apart = fmean(abs(mine - papers) for mine, papers in both)
    return f"{short(apart)}, {spearmanr(both).statistic:+.2f} ({len(both)} methods)"


def sweep(root: Path, names: Sequence[str]) -> Iterator[str]:
    """Between which values MAP moves along a setting, and where it is highest."""
    for name in names:
        there, missing = numbers(root, name)
        rows = []
        for task, found in there.items():
            for line in dict.fromkeys(row.rpartition(", ")[0] for row, _ in found):
                for direction in DIRECTIONS:
                    row = [task.name, line, QUERY[direction]]
                    for gallery in GALLERIES:
                        row += _range(found, line, Column(gallery, BITS, direction))
                    rows.append(row)
        columns = [f"{gallery}, {what}" for gallery in GALLERIES for what in ("values", "lowest", "highest", "range")]
        if there:
            levels = ", ".join(f"{task.name} {chance(found, 'clean')}" for task, found in there.items())
            yield from caption(f"MAP along {name}, each end with its value; {BITS} bits, chance (`clean`): {levels}.")
        yield from grid(["task", "row", "query", *columns], rows)
        yield from missing


def _range(found: Numbers, line: str, column: Column) -> list[str]:
    """How many values are there, the lowest and the highest MAP, each with where it is, and what lies between."""
    rows = [row for row, at in found if at == column and row.rpartition(", ")[0] == line]
    if not rows:
        return [""] * 4
    at = sorted((found[row, column]["map_all"], row.rpartition("=")[2]) for row in rows)
    (low, _), (high, _) = at[0], at[-1]
    return [str(len(at)), *(f"{short(score)} at {value}" for score, value in (at[0], at[-1])), short(high - low)]


def time(root: Path) -> Iterator[str]:
    """How long an update takes at the size of a training set."""
    there, missing = made(root, "time")
    rows = []
    for task, content in there.items():
        largest = max(line["items"] for line in content["times"])
        for line in (line for line in content["times"] if line["items"] == largest):
            alike = [one for one in content["times"] if all(one[it] == line[it] for it in ("update", "machine"))]
            batches = (f"{of(other['seconds']['batch'] for other in alike):.2g}" for of in (min, max))
            seconds = (f"{line['seconds'][name]:.2g}" for name in ("first", "again", "start"))
            where = f"{line['machine']['processor']}, {line['machine']['cores']} cores, {line['machine']['device']}"
            sizes = [f"{largest:,}", f"{line['label_sets']:,}"]
            rows.append([task.name, line["update"], *sizes, " to ".join(dict.fromkeys(batches)), *seconds, where])
    if rows:
        yield from caption("Of a batch, which is as large whatever the set, the least and the most of all sizes.")
    head = [
        "task",
        "update",
        "training items",
        "label sets",
        "a batch, s",
        "the whole set, s",
        "again, s",
        "by labels alone, s",
        "machine",
    ]
    yield from grid(head, rows)
    yield from missing


FINDINGS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    "seeds": seeds,
    "peers": peers,
    "regions": regions,
    "mean": partial(parts, without=["TVDB-I2"]),
    "words": partial(parts, without=["TVDB-T1", "TVDB-T2"]),
    "routines": routines,
    "collapse": collapse,
    "fixes": fixes,
    "paper": paper,
    "time": time,
    "sweep": partial(sweep, names=["eta", "k"]),
}


def page(root: Path = HERE) -> str:
    """findings.md with the tables of what is there now."""
    whole = (root / "findings.md").read_text(encoding="utf-8")
    for name, lines in FINDINGS.items():
        start, end = f"<!-- {name}: start -->", f"<!-- {name}: end -->"
        before, rest = whole.split(start)
        _, after = rest.split(end)
        content = "\n".join(lines(root))
        whole = f"{before}{start}\n\n{content}\n{end}{after}"
    return whole


if __name__ == "__main__":
    pack(HERE)
    content = page().encode()
    with written_whole(HERE / "findings.md") as file:
        file.write(content)
