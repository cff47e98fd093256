"""The short table of the README: what the default method reaches, beside chance and the best of the others."""

from collections.abc import Iterator
from pathlib import Path

from packed import cells_of
from tables import COMPARED, DIRECTIONS, HERE, both, printed_for, short

from deepbinaries.experiments.cells import Cell

README = HERE.parent / "README.md"
START, END = "<!-- results: start -->", "<!-- results: end -->"
BITS, OURS = 64, "tvdb"


def lines() -> Iterator[str]:
    """The lines of the table, in Markdown."""
    columns = (
        *(f"{BITS} bits: picture query / sentence query", "chance", f"`{OURS}`", "best other"),
        *(f"training items, `{OURS}`", "training items, best other", "the paper"),
    )
    yield f"| {' | '.join(columns)} |"
    yield "| --- " * len(columns) + "|"
    for (dataset, rule), title in COMPARED.items():
        cells = [cell for cell in compared(dataset, rule) if cell["bits"] == BITS]
        clean, whole = ([cell for cell in cells if cell["gallery"] == kind] for kind in ("clean", "database"))
        scores = of_method(clean, OURS), of_best_other(clean), of_method(whole, OURS), of_best_other(whole)
        yield f"| {' | '.join([title, short(clean[0]['chance']), *scores, paper_of(dataset)])} |"


def compared(dataset: str, rule: str) -> list[Cell]:
    """The cells of a comparison in which pictures and sentences have a code each."""
    cells = cells_of(HERE / dataset)
    wanted = ("compare", rule, "separate")
    return [cell for cell in cells if (cell["experiment"], cell["rule"], cell.get("codes")) == wanted]


def best_other(cells: list[Cell]) -> str:
    """The method, ours apart, whose mean of both directions is highest."""
    names: set[str] = {cell["method"] for cell in cells if not cell["method"].startswith(OURS)}

    def mean(name: str) -> float:
        scores: list[float] = [cell["map_all"] for cell in cells if cell["method"] == name]
        return sum(scores) / len(scores)

    return max(sorted(names), key=mean)


def of_best_other(cells: list[Cell]) -> str:
    """The best other by its name; whose it is may be another one in another gallery."""
    name = best_other(cells)
    return f"`{name}` {of_method(cells, name)}"


def of_method(cells: list[Cell], method: str) -> str:
    return both([cell for cell in cells if cell["method"] == method])


def paper_of(dataset: str) -> str:
    """What the paper prints for TVDB."""
    found = [printed_for(dataset, OURS, BITS, direction) for direction in DIRECTIONS]
    return " / ".join(short(value) for value in found if value is not None)


def readme(path: Path = README) -> str:
    """The README with the table of the cells as they are now."""
    before, rest = path.read_text(encoding="utf-8").split(START)
    _, after = rest.split(END)
    table = "\n".join(lines())
    return f"{before}{START}\n{table}\n{END}{after}"
