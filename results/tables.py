"""The tables of results/README.md, from the cells: `python results/tables.py` writes them between their marks."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from packed import cells_of, packed_cells

from deepbinaries.experiments.cells import Cell
from deepbinaries.experiments.paper.plans import read_plan
from deepbinaries.experiments.paper.printed import printed
from deepbinaries.files import read_lines, written_whole
from deepbinaries.hashers.image_networks import IMAGE_NETWORKS
from deepbinaries.hashers.tvdb import TVDBSettings
from deepbinaries.vision.backbones.efficientnet_lite0 import WIDTH

HERE = Path(__file__).parent
START, END = "<!-- tables: start -->", "<!-- tables: end -->"
DIRECTIONS = ("image_to_text", "text_to_image")
QUERY = {"image_to_text": "picture", "text_to_image": "sentence"}
BITS = (16, 32, 64, 128)
TITLES = {
    ("coco18", "r18"): "coco18, a shared label (r18)",
    ("coco18", "r17"): "coco18, a shared label other than `person` (r17)",
    ("iapr22", "all"): "iapr22",
}
AS_PRINTED = {"iapr22": "iapr_tc12"}  # the paper's name of a task, where it is one of the paper's
WHOLE = "the whole picture"
USUAL_DROPOUT, USUAL_UNITS = 0.2, 1024  # of what comes in, and of the hidden layer, in the default form
REPRODUCED = {("coco18", "r18"): "coco18", ("iapr22", "all"): "iapr22"}  # whose table 1 has all methods at all lengths
COMPARED = TITLES | {("scenes", "all"): "scenes, 3,000 drawn pictures"}


def tables() -> Iterator[str]:
    """The lines of all tables."""
    for (dataset, rule), title in TITLES.items():
        cells = [cell for cell in cells_of(HERE / dataset) if cell["rule"] == rule]
        yield from of_main(title, [cell for cell in cells if cell["experiment"] == "main"])
    yield from of_regions()
    yield from of_choices()
    for (dataset, rule), title in COMPARED.items():
        cells = [cell for cell in cells_of(HERE / dataset) if cell["rule"] == rule]
        yield from of_comparison(title, [cell for cell in cells if cell["experiment"] == "compare"], dataset)
        elsewhere = ""
        if (dataset, rule) in REPRODUCED:
            path = f"reproduce/{REPRODUCED[dataset, rule]}/table1.md"
            elsewhere = f"; CM-NN, DNH-C and CorrAE at every length, from other trainings:\n[{path}]({path})"
        yield from (f"Blank lengths: learnt at 64 bits alone{elsewhere}.", "")


def of_main(title: str, cells: list[Cell]) -> Iterator[str]:
    """One row a method and gallery, one column a length: picture query / sentence query."""
    chance = {cell["gallery"]: short(cell["chance"]) for cell in cells}
    yield f"### {title}"
    yield ""
    yield f"MAP@all, picture query / sentence query; chance {chance['database']} (`clean` {chance['clean']})."
    yield ""
    yield f"| method | reads | gallery | {' | '.join(f'{bits} bits' for bits in BITS)} | 64 bits, three seeds |"
    yield "| --- " * (len(BITS) + 4) + "|"
    rows: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        rows[name(cell), f"{cell['settings']['words']} words", cell["gallery"]].append(cell)
    for row, found in rows.items():
        lengths = [both([cell for cell in found if cell["bits"] == bits and cell["seed"] == 0]) for bits in BITS]
        at_64 = [cell for cell in found if cell["bits"] == 64]
        seeds = both(at_64, spread=True) if len({cell["seed"] for cell in at_64}) > 1 else ""
        yield f"| {' | '.join((*row, *lengths, seeds))} |"
    yield ""


def of_regions() -> Iterator[str]:
    """What regions add to the whole picture on `clean`: one row a form and direction, one column a task."""
    found = {
        (rule, line["form"], line["place"]): line
        for dataset, rule in TITLES
        for line in map(json.loads, read_lines(HERE / dataset / "regions.jsonl"))
        if line["rule"] == rule
    }
    yield "### What regions add to the whole picture"
    yield ""
    yield "MAP@all of a form of regions less that of the whole picture: 64 bits, `clean`, the mean of three seeds,"
    yield "query by query, with the 95 % interval over queries. An interval without 0 is set in bold."
    yield ""
    yield f"| form, proposals | query | {' | '.join(rule if rule != 'all' else 'iapr22' for _, rule in TITLES)} |"
    yield "| --- " * (len(TITLES) + 2) + "|"
    for form in dict.fromkeys(form for _, form, _ in found):
        for direction in DIRECTIONS:
            columns = [added(found[rule, form, f"clean/{direction}"]) for _, rule in TITLES]
            yield f"| {form} | {QUERY[direction]} | {' | '.join(columns)} |"
    yield ""


def of_choices() -> Iterator[str]:
    """The trials that the default update and the default image side were chosen from, the default first."""
    rows: dict[str, dict[str, dict[str, list[Cell]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for dataset in dict.fromkeys(dataset for dataset, _ in TITLES):
        for cell in packed_cells(HERE / dataset / "choices.jsonl"):
            kind = "update" if of_update(cell) else "image side, proposals"
            rows[kind][tried(cell)][cell["rule"]].append(cell)
    yield "### How the update and the image side were chosen"
    yield ""
    yield "MAP@all at 64 bits, one seed: validation items ask the gallery `clean`; their words are known, no more."
    yield ""
    default = next(iter(rows["update"].values()))
    read = rows["image side, proposals"]
    beside = {name_of: by_rule for name_of, by_rule in read.items() if name_of.startswith(WHOLE)}
    rows["image side, proposals"] = {WHOLE: default} | beside | read
    for kind, of_kind in rows.items():
        yield f"| {kind} | million weights | {' | '.join(rule if rule != 'all' else 'iapr22' for _, rule in TITLES)} |"
        yield "| --- " * (len(TITLES) + 2) + "|"
        for name_of, by_rule in of_kind.items():
            weights = weights_of(next(cell for cells in by_rule.values() for cell in cells))
            yield f"| {name_of} | {weights / 1e6:.2f} | {' | '.join(both(by_rule[rule]) for _, rule in TITLES)} |"
        yield ""


def weights_of(cell: Cell) -> int:
    """How many weights the image side of a trial had, for what is seen by the default backbone."""
    known = {own.name for own in fields(TVDBSettings)}
    given = {name: value for name, value in cell["settings"].items() if name in known}
    settings = TVDBSettings(**given | {"bits": cell["bits"]})
    return sum(weight.numel() for weight in IMAGE_NETWORKS[settings.image](WIDTH, settings).parameters())


def of_update(cell: Cell) -> bool:
    """Whether a trial asked for the update; the others asked how pictures are to be read."""
    settings = cell["settings"]
    usual = settings["input_dropout"] <= USUAL_DROPOUT and settings["fc"] == USUAL_UNITS
    return bool(settings["image"] == "whole" and usual)


def tried(cell: Cell) -> str:
    """What was other in a trial."""
    settings = cell["settings"]
    if of_update(cell):
        return f"`{settings['update']}`" + (f", eta {settings['eta']:g}" if settings["update"] == "spectral" else "")
    parts = [WHOLE] if settings["image"] == "whole" else [f"`{settings['image']}`", cell["proposer"]]
    parts += ["256 units"] if settings["hidden"] == 256 else []
    parts += [f"{settings['fc']:,} hidden units"] if settings["fc"] != USUAL_UNITS else []
    parts += ["half of the regions silent"] if settings["region_dropout"] else []
    parts += [f"input dropout {settings['input_dropout']:g}"] if settings["input_dropout"] > USUAL_DROPOUT else []
    return ", ".join(parts)


def of_comparison(title: str, cells: list[Cell], dataset: str) -> Iterator[str]:
    """All methods on the same features: `clean` at every length, `database` and the paper's value at 64 bits."""
    papers = ("the paper, 64",) if dataset in AS_PRINTED else ()
    columns = (*(str(bits) for bits in BITS), "database, 64", *papers, "seconds")
    yield f"### Every method on {title}"
    yield ""
    yield f"| method | {' | '.join(columns)} |"
    yield "| --- " * (len(columns) + 1) + "|"
    rows: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell["codes"] == "separate":
            rows[cell["method"]].append(cell)
    for method, found in sorted(rows.items(), key=lambda row: -mean_at_64(row[1])):
        clean, database = ([cell for cell in found if cell["gallery"] == kind] for kind in ("clean", "database"))
        own = [printed_for(dataset, method, 64, direction) for direction in DIRECTIONS]
        last = [" / ".join(short(value) for value in own if value is not None)] if papers else []
        seconds = next((f"{cell['seconds']:.0f}" for cell in found if cell["bits"] == 64), f"{found[0]['seconds']:.0f}")
        lengths = [at(clean, bits) for bits in BITS]
        yield f"| {' | '.join([f'`{method}`', *lengths, at(database, 64), *last, seconds])} |"
    yield ""


def at(cells: list[Cell], bits: int) -> str:
    """Both directions at a length; PLSR and CVFL have as many values as a picture has features, whatever it is."""
    own = {cell["bits"] for cell in cells}
    return both([cell for cell in cells if cell["bits"] == bits or not own & set(BITS)])


def mean_at_64(cells: list[Cell]) -> float:
    clean = [cell for cell in cells if cell["gallery"] == "clean"]
    scores: list[float] = [cell["map_all"] for cell in clean if cell["bits"] == 64] or [c["map_all"] for c in clean]
    return sum(scores) / len(scores)


def printed_for(dataset: str, method: str, bits: int, direction: str) -> float | None:
    """What the paper prints for a method of ours, where it has the task."""
    row = next((row.paper for row in read_plan("table1", dataset).rows if row.method == method), "")
    return printed("table1", AS_PRINTED.get(dataset, ""), row, bits, direction)


def added(line: dict[str, Any]) -> str:
    """A difference with its interval.

    >>> added({"over_whole": 0.0066, "interval": [0.0016, 0.0118]})
    '**+.007** [+.002, +.012]'
    """
    low, high = line["interval"]
    mean, low_text, high_text = (signed(value) for value in (line["over_whole"], low, high))
    return f"{f'**{mean}**' if low > 0 or high < 0 else mean} [{low_text}, {high_text}]"


def signed(value: float) -> str:
    """Three digits with a sign.

    >>> signed(-0.0136)
    '-.014'
    """
    return f"{value:+.3f}".replace("0.", ".", 1)


def name(cell: Cell) -> str:
    """The method, and its update where that is not the preset's."""
    return f"`{cell['method']}`" + (", `printed`" if cell["settings"]["update"] == "printed" else "")


def both(cells: Sequence[Mapping[str, Any]], *, spread: bool = False) -> str:
    """The means of both directions, with the largest distance from them where asked for."""
    parts = []
    for direction in DIRECTIONS:
        scores = [cell["map_all"] for cell in cells if cell["direction"] == direction]
        if not scores:
            return ""
        mean = sum(scores) / len(scores)
        parts.append(short(mean) + (f" ± {short(max(abs(score - mean) for score in scores))}" if spread else ""))
    return " / ".join(parts)


def short(value: float) -> str:
    """Three digits, without the zero before them.

    >>> short(0.61234)
    '.612'
    """
    return f"{value:.3f}".lstrip("0")


def page() -> str:
    """README.md with the tables of the cells as they are now."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    lines = "\n".join(tables())
    return f"{before}{START}\n\n{lines}\n{END}{after}"


if __name__ == "__main__":
    content = page().encode()
    with written_whole(HERE / "README.md") as file:
        file.write(content)
