"""The pictures that sentences find by several methods, side by side."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes, top_k
from deepbinaries.datasets import Parts
from deepbinaries.errors import UsageError
from deepbinaries.evaluation import Extras
from deepbinaries.experiments import contest
from deepbinaries.experiments.contest import Task
from deepbinaries.experiments.paper.figures import new_figure, save
from deepbinaries.experiments.paper.kept import Kept
from deepbinaries.experiments.paper.made import Made, about_data
from deepbinaries.experiments.paper.plans import Plan
from deepbinaries.experiments.paper.running import Piece, TaskOf, made_by, make, named
from deepbinaries.experiments.paper.sheets import Cell, Sheet
from deepbinaries.experiments.paper.tables import short
from deepbinaries.experiments.paper.trainings import anchor_of
from deepbinaries.experiments.scores import Source, score_parts
from deepbinaries.experiments.versions import versions
from deepbinaries.vision import read_picture
from deepbinaries.vision.stretching import stretched

FILE = "answers.jsonl"
SHOWN = "scenes"  # photographs of datasets belong to others, and do not go into a figure
RIGHT, WRONG = "#009e73", "#d55e00"  # frames: a label is shared, or none
SIDE = 96  # pixels of a picture: enough to see it, in files of half a megabyte
GALLERY, DIRECTION = "clean", "text_to_image"
FIRST, RARE = "the first queries of the split", "the queries with the fewest relevant pictures"

HIT = {"id": str, "shared": (str, ...)}
ANSWER = {"id": str, "sentence": str, "chosen": str, "found": [HIT]}
SHAPE = {"answers": [ANSWER], "precision": float, "chance": float, "queries": float, "searched": float}

FRAMES = (
    "Frames: green where a picture shares a label with the sentence's own picture, orange where it shares none; the "
    "shared labels stand below it."
)
CHOICE = (
    "Two choices of sentences stand side by side: on the left the first queries of the split; on the right those to "
    "which the fewest pictures of the gallery are relevant, yet as many as are shown, no two with the same labels. "
    "Labels alone decide on the latter, but the rule was made after the first queries had been seen, to all of which "
    "each of the three methods had found relevant pictures alone. So neither choice says how good a method is; the "
    "mean over all queries does."
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
    return Made({"answers": lines}, notes, [_precision(lines), *_sheets(lines)], trainings=told, drawn=True)


def asking(parts: Parts, *, sentences: int, pictures: int) -> dict[str, NDArray[np.int64]]:
    """The rows of the queries that are shown, by how they were chosen."""
    return {
        FIRST: parts.query[:sentences],
        RARE: rare_queries(parts, sentences=sentences, pictures=pictures),
    }


def rare_queries(parts: Parts, *, sentences: int, pictures: int) -> NDArray[np.int64]:
    """The rows of the queries with the fewest relevant pictures in the gallery `clean`, no two of the same labels.

    So many pictures are relevant to each, or, where there are no such queries, nearly so many.
    """
    relevant = _n_relevant(parts)
    by_rarity = np.lexsort((relevant, np.maximum(pictures - relevant, 0)))
    of_labels: dict[frozenset[str], int] = {}
    for row in parts.query[by_rarity].tolist():
        of_labels.setdefault(frozenset(parts.labels.of(row)), row)
    return np.array([*of_labels.values()][:sentences])


def _n_relevant(parts: Parts) -> NDArray[np.int64]:
    """How many pictures of the gallery are relevant to each query."""
    asked, searched = (parts.labels.select(of).matrix().astype(int) for of in (parts.query, parts.gallery(GALLERY)))
    relevant: NDArray[np.int64] = (asked @ searched.T > 0).sum(axis=1)
    return relevant


def _kept(piece: Piece, plan: Plan, task: Task) -> dict[str, Any] | None:
    return Kept(task.folder / FILE, SHAPE).find(_named(make(piece, task), piece, plan, task))


def _training(line: Line) -> Line:
    """How answers were made, without what was found."""
    return {name: fact for name, fact in line.items() if name not in SHAPE}


def _named(hasher: Any, piece: Piece, plan: Plan, task: Task) -> dict[str, Any]:
    """What tells answers from all others."""
    asked = [task.dataset.ids[row] for rows in asking(task.parts, **plan.more).values() for row in rows]
    return named(hasher, piece, task) | {"asked": asked, "pictures": plan.more["pictures"]}


def _answers(hasher: Any, task: Task, more: Mapping[str, Any]) -> dict[str, Any]:
    source, k = task.source(False), more["pictures"]
    taken = contest.learn(hasher, source, held_out=False, tell=task.tell)
    extras = Extras(cutoffs=(), precision_at=(k,))
    reports = score_parts(hasher, source, galleries=(GALLERY,), directions=(DIRECTION,), extras=extras, tell=task.tell)
    report, searched = reports[GALLERY, DIRECTION], len(source.parts.gallery(GALLERY))
    return {
        "answers": list(_found(hasher, source, more)),
        "precision": round(report.metrics[f"precision@{k}"], 6),
        "chance": round(float(_n_relevant(source.parts).mean()) / searched, 6),
        "queries": report.used,
        "searched": searched,
        "seconds": taken["seconds"],
        "versions": versions(),
        "machine": task.machine,
    }


def _found(hasher: Any, source: Source, more: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The pictures nearest to each of the sentences that are shown."""
    parts, dataset = source.parts, source.dataset
    gallery = source.readable(parts.gallery(GALLERY))
    pictures = Codes.from_values(hasher.encode(source.images(gallery)))
    for chosen, rows in asking(parts, **more).items():
        queries = source.readable(rows)
        answer = top_k(Codes.from_values(hasher.encode(source.texts(queries))), pictures, k=more["pictures"])
        for query, nearest, distances in zip(queries.tolist(), answer.rows, answer.distances, strict=True):
            wanted = {*parts.labels.of(query)}
            hits = [
                {"id": dataset.ids[row], "distance": distance, "shared": sorted(wanted & {*parts.labels.of(row)})}
                for row, distance in zip(gallery[nearest].tolist(), distances.tolist(), strict=True)
            ]
            sentence = parts.split.sentence(dataset, query)
            yield {"id": dataset.ids[query], "sentence": sentence, "chosen": chosen, "found": hits}


def _draw(lines: Sequence[Line], task: Task, path: Path) -> None:
    """A column a choice of sentences, a block a sentence, in it a row a method, with a frame around each picture."""
    row_of = {id_: row for row, id_ in enumerate(task.dataset.ids)}
    choices = list(_by_choice(lines[0]).values())
    n_blocks, n_found = max(map(len, choices)), len(lines[0]["answers"][0]["found"])
    figure = new_figure(0.82 * n_found * len(choices), (0.9 * len(lines) + 0.3) * n_blocks)
    blocks = figure.subfigures(n_blocks, len(choices), squeeze=False)
    for numbers, column in zip(choices, blocks.T, strict=True):
        for number, block in zip(numbers, column, strict=False):
            block.suptitle(f"{number + 1}: “{lines[0]['answers'][number]['sentence']}”", fontsize=7)
            for line, axes in zip(lines, block.subplots(len(lines), n_found, squeeze=False), strict=True):
                axes[0].set_ylabel(line["row"], fontsize=6)
                for hit, axis in zip(line["answers"][number]["found"], axes, strict=True):
                    _show(task.dataset.picture(row_of[hit["id"]]), hit["shared"], axis)
    save(figure, path)


def _show(picture: bytes, shared: Sequence[str], axis: Any) -> None:
    """A picture that was found, with what it shares with the sentence's own."""
    axis.imshow(stretched(read_picture(picture), SIDE))
    axis.set(xticks=[], yticks=[])
    axis.set_xlabel(", ".join(shared) or "none shared", fontsize=5)
    for spine in axis.spines.values():
        spine.set(color=RIGHT if shared else WRONG, linewidth=2.5)


def _by_choice(line: Line) -> dict[str, list[int]]:
    """The places of the answers, by how their sentences were chosen."""
    places = defaultdict[str, list[int]](list)
    for place, answer in enumerate(line["answers"]):
        places[answer["chosen"]].append(place)
    return places


def _precision(lines: Sequence[Line]) -> Sheet:
    """What all queries find, beside which the sentences that are shown are examples."""
    line, best = lines[0], max(line["precision"] for line in lines)
    n_found = len(line["answers"][0]["found"])
    caption = (
        f"All {line['queries']:,} queries: the share of relevant pictures among the {n_found} nearest, the mean over "
        f"queries and over every order of ties; {line['bits']} bits, gallery {GALLERY} of {line['searched']:,} "
        f"pictures, chance {short(line['chance'])}."
    )
    rows = [
        [
            Cell(line["row"]),
            Cell(short(line["precision"]), line["precision"] == best, link=anchor_of(_training(line))),
        ]
        for line in lines
    ]
    return Sheet(caption, ["method", f"precision@{n_found}"], rows)


def _sheets(lines: Sequence[Line]) -> Iterator[Sheet]:
    """How many pictures share a label, of each choice of sentences."""
    n_found = len(lines[0]["answers"][0]["found"])
    for chosen, places in _by_choice(lines[0]).items():
        rows = []
        for line in lines:
            shared = [sum(bool(hit["shared"]) for hit in line["answers"][place]["found"]) for place in places]
            link = anchor_of(_training(line))
            rows.append([Cell(line["row"]), *(Cell(str(count), link=link) for count in shared)])
        told = "; ".join(f"sentence {place + 1}: “{lines[0]['answers'][place]['sentence']}”" for place in places)
        caption = f"Of the {n_found} nearest pictures, those that share a label with {chosen}; {told}."
        yield Sheet(caption, ["method", *(f"sentence {place + 1}" for place in places)], rows)
