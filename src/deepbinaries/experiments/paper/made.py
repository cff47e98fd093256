"""What a table or figure leaves in its folder: JSON, Markdown, LaTeX, HTML, and drawings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepbinaries.experiments.contest import Task
from deepbinaries.experiments.paper.figures import Panel, draw
from deepbinaries.experiments.paper.plans import Plan
from deepbinaries.experiments.paper.sheets import Sheet, html, latex, markdown
from deepbinaries.experiments.paper.trainings import told
from deepbinaries.files import write_json, written_whole

FORMAT, VERSION = "deepbinaries-paper", 1
NOT_YET = "Not here yet: "
LEFT_OUT = "A row or a length that is named there without more is left out of the tables."


@dataclass(frozen=True)
class Made:
    """A table or figure that is ready to be written."""

    content: Mapping[str, Any]  # its numbers with their making
    notes: Sequence[str]
    sheets: Sequence[Sheet]
    panels: Sequence[Panel] = ()
    trainings: Sequence[Mapping[str, Any]] = ()  # that its numbers link to
    columns: int = 2  # of panels
    heading: str = ""  # above them
    drawn: bool = False  # there is a drawing beside the panels, written already


def write(plan: Plan, made: Made, folder: Path) -> list[Path]:
    """The files of a table or figure, written."""
    path = folder / plan.name
    figure = f"{plan.name}.svg" if made.panels else f"{plan.name}.png" if made.drawn else ""  # pictures are pixels
    making = f"How each number was made stands in [{plan.name}.json]({plan.name}.json)."
    if made.panels:
        draw(made.panels, path, columns=made.columns, heading=made.heading)
    texts = {
        "md": markdown(plan.title, [*made.notes, making], made.sheets, figure),
        "tex": latex(made.notes, made.sheets),
        "html": html(plan.title, made.notes, made.sheets, figure, told(made.trainings, f"{plan.name}.json")),
    }
    for ending, text in texts.items():
        with written_whole(path.with_suffix(f".{ending}")) as file:
            file.write(text.encode())
    about = {"format": FORMAT, "version": VERSION, "name": plan.name, "title": plan.title, "reduced": plan.reduced}
    write_json(about | {"notes": made.notes} | dict(made.content), path.with_suffix(".json"))
    endings = [*texts, "json", *(["svg", "png"] if figure else [])]
    return [path.with_suffix(f".{ending}") for ending in endings]


def not_yet(missing: Sequence[str]) -> list[str]:
    """The last words of a page of which something is missing."""
    return [f"{NOT_YET}{'; '.join(missing)}."] if missing else []


def about_data(task: Task, plan: Plan) -> list[str]:
    """The first words of every page."""
    found = [f"Dataset {task.dataset.name}, relevance rule {task.rule}."]
    if plan.reduced:
        found.append("Reduced setting: smaller networks, fewer epochs, less data. These are no results of the methods.")
    return found
