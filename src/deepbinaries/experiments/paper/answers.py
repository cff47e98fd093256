"""The pictures that sentences find by several methods, side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes, top_k
from deepbinaries.datasets import Parts
from deepbinaries.errors import UsageError
from deepbinaries.experiments import contest
from deepbinaries.experiments.contest import Task
from deepbinaries.experiments.paper.figures import new_figure, save
from deepbinaries.experiments.paper.kept import Kept
from deepbinaries.experiments.paper.made import Made, about_data
from deepbinaries.experiments.paper.plans import Plan
from deepbinaries.experiments.paper.running import Piece, TaskOf, made_by, make, named
from deepbinaries.experiments.paper.sheets import Cell, Sheet
from deepbinaries.experiments.paper.trainings import anchor_of
from deepbinaries.experiments.versions import versions
from deepbinaries.vision import read_picture
from deepbinaries.vision.stretching import stretched

FILE = "answers.jsonl"
SHOWN = "scenes"  # photographs of datasets belong to others, and do not go into a figure
RIGHT, WRONG = "#009e73", "#d55e00"  # frames: a label is shared, or none
SIDE = 144  # pixels of a picture, which is about an inch wide: enough to see it, in a file of half a megabyte

HIT = {"id": str, "shared": (str, ...)}
SHAPE = {"answers": [{"id": str, "sentence": str, "found": [HIT]}]}

FRAMES = (
    "Frames: green where a picture shares a label with the sentence's own picture, orange where it shares none; the "
    "shared labels stand below it."
)
CHOICE = (
    "The sentences are those to which the fewest pictures of the gallery are relevant, yet as many as are shown; no "
    "two have the same labels. Labels alone decide, before anything is learnt."
)

Line = Mapping[str, Any]


def pieces(plan: Plan, task_of: TaskOf) -> list[Piece]:
    dataset = task_of(None).dataset.name
    if dataset != SHOWN:
        raise UsageError(
            f"{plan.name} shows pictures, which {dataset} may not let you publish",
            next_step=f"draw it of --dataset {SHOWN}, and search your own data with `deepbinaries search`",
        )
    (bits,), (seed, *_) = plan.bits, plan.seeds
    return [Piece(row, bits, seed) for row in plan.rows]


def is_there(piece: Piece, plan: Plan, task: Task) -> bool:
    return _kept(piece, plan, task) is not None


def learn(piece: Piece, plan: Plan, task: Task) -> None:
    hasher = make(piece, task)
    Kept(task.folder / FILE).add(_named(hasher, piece, plan, task), _answers(hasher, task, plan.more))


def draw(plan: Plan, task_of: TaskOf, paper: str) -> Made:  # noqa: ARG001
    """The nearest pictures of some queries' sentences, by each row; the figure is written into the folder."""
    task = task_of(None)
    found = [(piece, _kept(piece, plan, task)) for piece in pieces(plan, task_of)]
    lines = [made_by(piece, task) | line for piece, line in found if line is not None]
    _draw(lines, task, task.folder / plan.name)
    notes, told = [*about_data(task, plan), CHOICE, FRAMES], list(map(_training, lines))
    return Made({"answers": lines}, notes, [_sheet(lines)], trainings=told, drawn=True)


def rare_queries(parts: Parts, *, sentences: int, pictures: int) -> NDArray[np.int64]:
    """The rows of the queries with the fewest relevant pictures in the gallery `clean`, no two of the same labels.

    So many pictures are relevant to each, or, where there are no such queries, nearly so many.
    """
    asked, searched = (parts.labels.select(of).matrix().astype(int) for of in (parts.query, parts.gallery("clean")))
    relevant = (asked @ searched.T > 0).sum(axis=1)
    by_rarity = np.lexsort((relevant, np.maximum(pictures - relevant, 0)))
    of_labels: dict[frozenset[str], int] = {}
    for row in parts.query[by_rarity].tolist():
        of_labels.setdefault(frozenset(parts.labels.of(row)), row)
    return np.array([*of_labels.values()][:sentences])


def _kept(piece: Piece, plan: Plan, task: Task) -> dict[str, Any] | None:
    return Kept(task.folder / FILE, SHAPE).find(_named(make(piece, task), piece, plan, task))


def _training(line: Line) -> Line:
    """How answers were made, without these themselves."""
    return {name: fact for name, fact in line.items() if name != "answers"}


def _named(hasher: Any, piece: Piece, plan: Plan, task: Task) -> dict[str, Any]:
    """What tells answers from all others."""
    asked = [task.dataset.ids[row] for row in rare_queries(task.parts, **plan.more)]
    return named(hasher, piece, task) | {"asked": asked, "pictures": plan.more["pictures"]}


def _answers(hasher: Any, task: Task, more: Mapping[str, Any]) -> dict[str, Any]:
    source = task.source(False)
    taken = contest.learn(hasher, source, held_out=False, tell=task.tell)
    parts, dataset = source.parts, source.dataset
    gallery, queries = source.readable(parts.gallery("clean")), source.readable(rare_queries(parts, **more))
    sentences, pictures = (
        Codes.from_values(hasher.encode(of)) for of in (source.texts(queries), source.images(gallery))
    )
    answer = top_k(sentences, pictures, k=more["pictures"])
    found = []
    for query, rows, distances in zip(queries.tolist(), answer.rows, answer.distances, strict=True):
        wanted = {*parts.labels.of(query)}
        hits = [
            {"id": dataset.ids[row], "distance": distance, "shared": sorted(wanted & {*parts.labels.of(row)})}
            for row, distance in zip(gallery[rows].tolist(), distances.tolist(), strict=True)
        ]
        found.append({"id": dataset.ids[query], "sentence": parts.split.sentence(dataset, query), "found": hits})
    return {"answers": found, "seconds": taken["seconds"], "versions": versions(), "machine": task.machine}


def _draw(lines: Sequence[Line], task: Task, path: Path) -> None:
    """A block a sentence, in it a row a method, with a frame around each picture."""
    row_of = {id_: row for row, id_ in enumerate(task.dataset.ids)}
    n_queries, n_found = len(lines[0]["answers"]), len(lines[0]["answers"][0]["found"])
    figure = new_figure(1.25 * n_found, 1.3 * n_queries * len(lines) + 0.35 * n_queries)
    blocks = figure.subfigures(n_queries, 1, squeeze=False)[:, 0]
    for number, block in enumerate(blocks):
        block.suptitle(f"“{lines[0]['answers'][number]['sentence']}”", fontsize=8)
        axes = block.subplots(len(lines), n_found, squeeze=False)
        for line, row in zip(lines, axes, strict=True):
            row[0].set_ylabel(line["row"], fontsize=8)
            for hit, axis in zip(line["answers"][number]["found"], row, strict=True):
                axis.imshow(stretched(read_picture(task.dataset.picture(row_of[hit["id"]])), SIDE))
                axis.set(xticks=[], yticks=[])
                axis.set_xlabel(", ".join(hit["shared"]) or "none shared", fontsize=6)
                for spine in axis.spines.values():
                    spine.set(color=RIGHT if hit["shared"] else WRONG, linewidth=2.5)
    save(figure, path)


def _sheet(lines: Sequence[Line]) -> Sheet:
    rows = []
    for line in lines:
        shared = [sum(bool(hit["shared"]) for hit in answer["found"]) for answer in line["answers"]]
        link = anchor_of(_training(line))
        rows.append([Cell(line["row"]), *(Cell(str(count), link=link) for count in shared)])
    sentences = [answer["sentence"] for answer in lines[0]["answers"]]
    told = "; ".join(f"sentence {number}: “{text}”" for number, text in enumerate(sentences, start=1))
    n_found = len(lines[0]["answers"][0]["found"])
    caption = f"Of the {n_found} nearest pictures, those that share a label; {told}."
    return Sheet(caption, ["method", *(f"sentence {number}" for number in range(1, len(sentences) + 1))], rows)
