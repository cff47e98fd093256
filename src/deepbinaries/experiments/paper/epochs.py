"""Loss and MAP after every epoch of a training, and the epoch in which each was best."""

from collections.abc import Sequence
from typing import Any

from deepbinaries.experiments.charts import Line
from deepbinaries.experiments.choosing import SCORES_ALONE
from deepbinaries.experiments.comparison_table import QUERY
from deepbinaries.experiments.contest import Task
from deepbinaries.experiments.paper.figures import Panel
from deepbinaries.experiments.paper.kept import Kept
from deepbinaries.experiments.paper.kept import Line as Course
from deepbinaries.experiments.paper.made import Made, about_data
from deepbinaries.experiments.paper.plans import Plan, Row
from deepbinaries.experiments.paper.running import Piece, TaskOf, made_by, make, named
from deepbinaries.experiments.paper.sheets import Cell, Sheet
from deepbinaries.experiments.paper.tables import short
from deepbinaries.experiments.paper.trainings import anchor_of
from deepbinaries.experiments.scores import BOTH, score_parts
from deepbinaries.experiments.versions import versions

FILE = "epochs.jsonl"  # a line a training
EPOCH = {"epoch": float, "loss": float, "seconds": float} | dict.fromkeys(BOTH, float)
SHAPE = {"epochs": [EPOCH], "chance": float, "seconds": float}
PAPERS = (
    "The paper tells of COCO at 128 bits: TVDB is best at about epoch 20; N and, a little above it, S stay well below, "
    "E1 and E2 below as well. Its source has, in lines that are commented out, that E1 and E2 need about 35 and 45 "
    "epochs, and TVDB 25."
)


def pieces(plan: Plan, task_of: TaskOf) -> list[Piece]:  # noqa: ARG001
    (bits,) = plan.bits
    return [Piece(row, bits, seed) for row in plan.rows for seed in plan.seeds]


def is_there(piece: Piece, plan: Plan, task: Task) -> bool:
    return _kept(piece, plan, task) is not None


def learn(piece: Piece, plan: Plan, task: Task) -> None:
    hasher = make(piece, task)
    Kept(task.folder / FILE).add(_named(hasher, piece, plan, task), _course(hasher, task, _gallery(plan, task)))


def draw(plan: Plan, task_of: TaskOf, paper: str) -> Made:  # noqa: ARG001
    """The courses that are there, and the best epochs of each."""
    task = task_of(None)
    found = [(piece, _kept(piece, plan, task)) for piece in pieces(plan, task_of)]
    courses = [(piece.row, made_by(piece, task) | course) for piece, course in found if course is not None]
    seeds = {seed: [(row, course) for row, course in courses if course["seed"] == seed] for seed in plan.seeds}
    first = next(of for of in seeds.values() if of)  # of a seed that was not asked for, nothing may be there
    return Made(
        {"trainings": [course for _, course in courses]},
        [*about_data(task, plan), PAPERS],
        [_sheet(update, seed, of) for seed, all_ in seeds.items() for update, of in _by_update(all_).items()],
        [panel for update, of in _by_update(first).items() for panel in _panels(update, of)],
        trainings=[_training(course) for _, course in courses],
        columns=3,
        heading=f"gallery {first[0][1]['gallery']}, {first[0][1]['bits']} bits",
    )


def _kept(piece: Piece, plan: Plan, task: Task) -> Course | None:
    return Kept(task.folder / FILE, SHAPE).find(_named(make(piece, task), piece, plan, task))


def _named(hasher: Any, piece: Piece, plan: Plan, task: Task) -> dict[str, Any]:
    """What tells a training from every other one."""
    return named(hasher, piece, task) | {"gallery": _gallery(plan, task)}


def _training(course: Course) -> Course:
    """How a course was made, without what it went through."""
    return {name: fact for name, fact in course.items() if name not in ("epochs", "chance")}


def _gallery(plan: Plan, task: Task) -> str:
    wanted: str = plan.more["gallery"]
    return wanted if len(task.parts.gallery(wanted)) else "database"


def _course(hasher: Any, task: Task, gallery: str) -> dict[str, Any]:
    """What a training went through; it is watched from outside, which changes nothing in it."""
    source, epochs = task.source(False), list[dict[str, Any]]()
    chance = 0.0

    def watch(entry: dict[str, Any]) -> None:
        nonlocal chance
        reports = score_parts(
            hasher,
            source,
            galleries=(gallery,),
            extras=SCORES_ALONE,
            rules=task.rules,
            device=task.counts_on,
            tell=lambda _: None,
        )
        scores = {direction: round(reports[gallery, direction].mean, 6) for direction in BOTH}
        chance = reports[gallery, BOTH[0]].chance
        epochs.append({"epoch": entry["epoch"], "loss": entry["loss"]} | scores | {"seconds": entry["seconds"]})

    hasher.fit(source.pairs(source.readable(source.parts.train)), log=watch)
    seconds = round(sum(epoch["seconds"] for epoch in epochs), 3)
    return {
        "chance": round(chance, 6),
        "epochs": epochs,
        "seconds": seconds,
        "versions": versions(),
        "machine": task.machine,
    }


Courses = Sequence[tuple[Row, Course]]


def _by_update(courses: Courses) -> dict[str, Courses]:
    updates = dict.fromkeys(str(row.settings["update"]) for row, _ in courses)
    return {update: [one for one in courses if one[0].settings["update"] == update] for update in updates}


def _panels(update: str, courses: Courses) -> list[Panel]:
    def lines(name: str) -> list[Line]:
        by_row = [(row.line, course["epochs"]) for row, course in courses]
        return [Line(line, [e["epoch"] for e in epochs], [e[name] for e in epochs]) for line, epochs in by_row]

    chance = courses[0][1]["chance"]
    scores = [
        Panel(f"{update}, {QUERY[direction]} queries", "epoch", "MAP", lines(direction), marks=False, chance=chance)
        for direction in BOTH
    ]
    return [Panel(f"{update}, loss", "epoch", "loss", lines("loss"), marks=False), *scores]


def _sheet(update: str, seed: int, courses: Courses) -> Sheet:
    rows = []
    for row, course in courses:
        epochs, link = course["epochs"], anchor_of(_training(course))
        lowest = min(epochs, key=lambda epoch: epoch["loss"])
        texts = [f"{lowest['loss']:.4g}", str(lowest["epoch"])]
        for direction in BOTH:
            best = max(epochs, key=lambda epoch: epoch[direction])
            texts += [short(best[direction]), str(best["epoch"]), short(epochs[-1][direction])]
        texts.append(f"{course['seconds'] / len(epochs):.2f}")
        rows.append([Cell(row.line, note=row.method), *(Cell(text, link=link) for text in texts)])
    head = ["routine", "lowest loss", "epoch"]
    for direction in BOTH:
        head += [f"best MAP, {QUERY[direction]} queries", "epoch", "in the last"]
    of_all = courses[0][1]
    caption = (
        f"Update {update}, {of_all['bits']} bits, seed {seed}, gallery {of_all['gallery']}: the best of each and its "
        f"epoch of {len(of_all['epochs'])}; chance {short(of_all['chance'])}."
    )
    return Sheet(caption, [*head, "seconds an epoch"], rows)
