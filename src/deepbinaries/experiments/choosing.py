"""Settings chosen on the validation part: every combination is tried once, and what it earned is kept."""

import json
from dataclasses import replace
from typing import Any

import numpy as np

from deepbinaries.datasets import Parts
from deepbinaries.errors import DataError
from deepbinaries.evaluation import Extras
from deepbinaries.experiments.contest import Contestant, Settings, Task, learn
from deepbinaries.experiments.scores import BOTH, score_parts
from deepbinaries.files import read_lines, write_json_lines

TRIED = "tuning.jsonl"
NAMED = ("method", "settings", "bits", "seed", "digests")  # what makes a trial this one
SCORES_ALONE = Extras(cutoffs=(), precision_at=())


def choose(contestant: Contestant, task: Task, bits: int) -> dict[str, Any]:
    """The best combination of the grid, of equals the first, and all that was tried with scores and seconds.

    Each is learnt from the training part without the validation part, whose items then ask the clean gallery in both
    directions; the mean of both decides. Where nothing is clean, they ask what was learnt from. Queries are not looked
    at. What was tried before, in `tuning.jsonl`, is not tried again.
    """
    source = task.source(True)
    parts, gallery = asked_by_validation(source.parts)
    seed, path = task.seeds[0], task.folder / TRIED
    tried: list[dict[str, Any]] = []
    for combination in contestant.grid:
        name = f"{contestant.method}, {bits} bits, {in_words(combination)}"
        hasher = contestant.make(bits, seed, device=task.device, chosen=combination)
        named = {"method": contestant.method, "settings": task.kept_settings(hasher), "bits": bits, "seed": seed}
        named["digests"] = task.all_digests | ({} if task.rules.ties == "expected" else {"ties": task.rules.ties})
        lines = _read(task)
        row = next((line for line in lines if all(line[name] == named[name] for name in NAMED)), None)
        if row is None:
            taken = learn(hasher, source, held_out=True, tell=lambda text: task.tell(f"{name}: {text}"))  # noqa: B023
            reports = score_parts(
                hasher,
                source,
                parts=parts,
                galleries=("database",),
                extras=SCORES_ALONE,
                rules=task.rules,
                tell=lambda _: None,  # it was told for the whole split
            )
            scores = {direction: round(reports["database", direction].mean, 5) for direction in BOTH}
            row = named | scores | {"mean": round(sum(scores.values()) / len(scores), 5), "seconds": taken["seconds"]}
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json_lines([*lines, row], path)
        task.tell(f"{name}: {row['mean']:.4f} on validation")
        tried.append({"settings": dict(combination)} | {name: row[name] for name in (*BOTH, "mean", "seconds")})
    best = max(tried, key=lambda row: float(row["mean"]))
    task.tell(f"{contestant.method}, {bits} bits: {in_words(best['settings'])} is chosen")
    return {"chosen": best["settings"], "bits": bits, "seed": seed, "gallery": gallery, "tried": tried}


def asked_by_validation(parts: Parts) -> tuple[Parts, str]:
    """The parts of a split in which the validation items ask, and what they ask, in a word or two."""
    gallery, name = parts.gallery("clean"), "clean"
    if not len(gallery):
        gallery, name = np.setdiff1d(parts.train, parts.validation), "learnt from"
    nothing = np.array([], dtype=np.int64)
    return replace(parts, query=parts.validation, database=gallery, train=nothing, validation=nothing), name


def in_words(settings: Settings) -> str:
    """Settings as they are written on a command line.

    >>> in_words({"eta": 0.3, "update": "gram"})
    'eta=0.3 update=gram'
    """
    return " ".join(f"{name}={value}" for name, value in settings.items())


def _read(task: Task) -> list[dict[str, Any]]:
    path, wanted = task.folder / TRIED, {*NAMED, *BOTH, "mean", "seconds"}
    if not path.exists():
        return []
    lines = []
    for number, text in enumerate(read_lines(path), start=1):
        try:
            line = json.loads(text)
            whole = isinstance(line, dict) and line.keys() == wanted
        except (ValueError, RecursionError):
            whole = False
        if not whole:
            raise DataError(f"{path}, line {number}, is no trial", next_step="remove the line, or the file")
        lines.append(line)
    return lines
