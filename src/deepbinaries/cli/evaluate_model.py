"""Judging a trained model on a dataset's split: what `deepbinaries evaluate` does with a model's folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepbinaries.cli.output import complain
from deepbinaries.errors import UsageError
from deepbinaries.files import read_json
from deepbinaries.model_folder import CONFIG, with_a_part

if TYPE_CHECKING:
    from deepbinaries.datasets import Dataset, Split
    from deepbinaries.evaluation import Extras, Report, Rules
    from deepbinaries.features import Prepared
    from deepbinaries.model import Model

FORMAT = "deepbinaries-model-evaluation"
VERSION = 1


def judge_model(
    model: "Model",
    dataset: "Dataset",
    split: "Split",
    *,
    ignored: Sequence[str],
    galleries: Sequence[str],
    directions: Sequence[str],
    rules: "Rules",
    extras: "Extras",
    paired: bool,
    features: Path,
) -> "list[Report]":
    """The reports of a model, a gallery after the other; `features` is where those of the pictures are kept.

    `paired`, a picture and its own sentence are relevant to each other, else items that share a label.
    """
    from deepbinaries.experiments.scores import score_parts
    from deepbinaries.features import prepare

    parts = split.parts(dataset, ignore_labels=ignored)
    if not (paired or parts.labels.names):
        raise UsageError(
            f"the items of {dataset.name} have no labels, which would say what is relevant",
            next_step="add --paired, which asks for each one's own picture or sentence, or --labels-from-captions",
        )
    _tell_of_another_split(model, dataset, split)
    read = model.trained_on.get("read", "first")
    prepared = prepare(dataset, parts, model.encoder, features, vocabulary=model.vocabulary, read=read)
    _tell_of_unknown_words(prepared)
    reports = score_parts(
        model.hasher,
        prepared,
        galleries=galleries,
        directions=directions,
        rules=rules,
        extras=extras,
        paired=paired,
        tell=complain,
    )
    return list(reports.values())


def as_json(folder: Path, reports: "Sequence[Report]") -> dict[str, Any]:
    """The reports, and which model they are about: by its digest, no path; and how it sees pictures."""
    config = read_json(folder / CONFIG)
    model = {name: config[name] for name in ("method", "bits", "trained_on", "sha256", "vision")}
    model["proposer_sha256"] = config.get("proposer_sha256", "")
    return {"format": FORMAT, "version": VERSION, "model": model, "reports": [report.to_json() for report in reports]}


def eyes_in_words(content: dict[str, Any]) -> str:
    """A line about how the model of such a report sees pictures; a proposer that works by a file has its digest."""
    model = content["model"]
    seen = ", ".join(f"{name} {value}" for name, value in with_a_part(model["vision"]).items())
    digest = model["proposer_sha256"]
    return f"pictures: {seen}" + (f", the proposer's file {digest}" if digest else "")


def _tell_of_another_split(model: "Model", dataset: "Dataset", split: "Split") -> None:
    trained_on = model.trained_on
    learnt_from = trained_on.get("split") or {}
    # By name, since another choice of labels, or a few items more, makes another dataset of the same pictures.
    if trained_on.get("dataset") == dataset.name and learnt_from.get("train") != split.digests()["train"]:
        complain(
            f"the model learnt from another split of {dataset.name}, perhaps also from some of these queries; "
            f"judge it on the split {learnt_from.get('protocol', 'it was trained with')}"
        )


def _tell_of_unknown_words(prepared: "Prepared") -> None:
    import numpy as np

    queries = prepared.parts.query
    if lost := int(np.isin(queries, prepared.without_known_words).sum()):
        complain(f"{lost:,} of {len(queries):,} queries have a sentence without a known word, whose code means nothing")
