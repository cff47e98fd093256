"""What a task shows of itself on the page: every method at every length, in both galleries and directions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape

from headline import compared
from html_tables import Score, Table, dots, folded, paragraph
from packed import cells_of
from tables import AS_PRINTED, BITS, DIRECTIONS, HERE, QUERY, mean_at_64, printed_for, short

from deepbinaries.experiments.cells import Cell
from deepbinaries.experiments.compare import UNIFIED
from deepbinaries.experiments.paper.printed import misprints
from deepbinaries.registry import METHODS

GALLERIES = ("clean", "database")
BOTH_VIEWS = "Codes of both views, not to be compared with the others"

Beside = Callable[[str, int, str], float | None]  # what somebody else prints for a method, length and direction


def task(dataset: str, rule: str) -> str:
    """A dataset under a rule: every method at every length, in both galleries and directions."""
    cells = compared(dataset, rule)
    by_gallery = {kind: [cell for cell in cells if cell["gallery"] == kind] for kind in GALLERIES}
    clean, database = by_gallery.values()
    by_score = by_method(clean)
    order = sorted(by_score, key=lambda method: -mean_at_64(by_score[method]))
    (asking, searched), (_, with_training) = sizes(clean), sizes(database)
    about = (
        f"{asking:,} queries. {searched:,} items are searched, or {with_training:,} with the training items among "
        f"them. Chance is {short(clean[0]['chance'])}."
    )
    paper, notes = (
        partial(printed_for, dataset),
        misprints("table1", AS_PRINTED[dataset]) if dataset in AS_PRINTED else [],
    )
    with_paper = [*tables_of(database, order, paper, "paper"), *map(paragraph, notes)]
    best = next(cell for cell in clean if (cell["method"], cell["bits"]) == (order[0], 64))
    return "\n".join(
        [
            paragraph(about),
            chart(clean, order),
            *tables_of(clean, order),
            folded("Gallery <em>database</em>: with the training items, as in the paper", "\n".join(with_paper)),
            *_unified(dataset, rule),
            folded("How to repeat it", repeat(best)),
        ]
    )


def chart(cells: Sequence[Cell], order: Sequence[str]) -> str:
    """All methods at 64 bits, a line each."""
    of = by_method(cells)
    rows = {name: [scores(of[name], direction)[BITS.index(64)] for direction in DIRECTIONS] for name in order}
    in_words = ", ".join(f"{name} {' and '.join(short(s.mean) for s in row if s)}" for name, row in rows.items())
    title = f"MAP of every method at 64 bits, gallery {cells[0]['gallery']}: {in_words}"
    drawn = dots(title, rows, [f"{QUERY[direction]} query" for direction in DIRECTIONS], chance=cells[0]["chance"])
    caption = f"MAP at 64 bits with 95 % intervals, gallery <em>{cells[0]['gallery']}</em>"
    return f"<figure>{drawn}<figcaption>{caption}</figcaption></figure>"


def sizes(cells: Sequence[Cell]) -> tuple[int, int]:
    """How many queries ask, and how many items are searched; methods of real values do not count them."""
    counted: Mapping[str, Mapping[str, int]] = next(cell["health"] for cell in cells if cell["health"])
    return counted["queries"]["items"], counted["gallery"]["items"]


def by_method(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells of each method, in the order of their first ones."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell["method"], []).append(cell)
    return found


def tables_of(
    cells: Sequence[Cell], order: Sequence[str] = (), beside: Beside = lambda *_: None, whose: str = ""
) -> Iterator[str]:
    """A table a direction; without an order, methods come in that of their cells."""
    of, columns = by_method(cells), [f"{bits} bits" for bits in BITS]
    for direction in DIRECTIONS:
        rows = {told(name): scores(of[name], direction, beside) for name in order or of}
        caption = f"{QUERY[direction].capitalize()} queries, gallery {cells[0]['gallery']}"
        yield Table(caption, columns, rows, whose).to_html()


def scores(cells: Sequence[Cell], direction: str, beside: Beside = lambda *_: None) -> list[Score | None]:
    """A method's score at each length; one with as many real values as there are features has one for all of them."""
    here, method = {cell["bits"]: cell for cell in cells if cell["direction"] == direction}, cells[0]["method"]
    of_all = next(iter(here.values())) if len(here) == 1 and has_real_values(method) else None
    at = {bits: of_all or here.get(bits) for bits in BITS}
    return [
        Score(cell["map_all"], cell.get("interval"), beside(method, bits, direction)) if cell else None
        for bits, cell in at.items()
    ]


def has_real_values(method: str) -> bool:
    return METHODS.entries[method].summary.endswith("real values")


def told(method: str) -> str:
    """A method's name, and whether it has real values in place of bits."""
    return f"{method}, real values" if has_real_values(method) else method


def _unified(dataset: str, rule: str) -> Iterator[str]:
    """Rows whose gallery items have one code of both views, apart from those they must not be compared with."""
    cells = [c for c in cells_of(HERE / dataset) if (c["rule"], c.get("codes")) == (rule, UNIFIED)]
    if cells:
        found = (table for kind in GALLERIES for table in tables_of([c for c in cells if c["gallery"] == kind]))
        about = paragraph("Gallery items have one code of picture and sentence together, which finds far more.")
        yield folded(BOTH_VIEWS, "\n".join([about, *found]))


def repeat(cell: Cell) -> str:
    """What makes a cell again, and what it was made of."""
    facts = {"command": cell["command"], "seed": cell["seed"], "relevance rule": cell["rule"]}
    facts |= {f"{name} (SHA-256)": digest for name, digest in _digests(cell).items()}
    listed = "\n".join(
        f"<dt>{escape(name)}</dt><dd><code>{escape(str(fact))}</code></dd>" for name, fact in facts.items()
    )
    return f"{paragraph('Of the best row at 64 bits; each line of the cells has its own.')}\n<dl>{listed}</dl>"


def _digests(cell: Cell) -> dict[str, str]:
    of = cell["digests"]
    return {"dataset": of["dataset"]["digest"], **{f"split, {part}": digest for part, digest in of["split"].items()}}
