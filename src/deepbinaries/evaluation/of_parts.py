"""A report from codes and a dataset's split: labels, rules and digests are taken from there, so that they agree."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.codes import Codes
from deepbinaries.datasets import Dataset, Parts, digest
from deepbinaries.errors import UsageError
from deepbinaries.evaluation.relevance import PairedItems, in_words
from deepbinaries.evaluation.report import Report
from deepbinaries.evaluation.rules import Rules
from deepbinaries.evaluation.scoring import HEADLINE, evaluate, evaluate_values

SAME_SIDE = ("image_to_image", "text_to_text")


def evaluate_parts(
    queries: Codes | NDArray[np.floating[Any]],
    gallery: Codes | NDArray[np.floating[Any]],
    dataset: Dataset,
    parts: Parts,
    *,
    kind: str = "database",
    direction: str,
    rules: Rules = HEADLINE,
    paired: bool = False,
    **settings: Any,
) -> Report:
    """The report of codes whose rows are `parts.query` and `parts.gallery(kind)`; settings as for `evaluate`.

    Relevant is what shares a label with the query or, `paired`, the query's own picture or sentence alone. Real values,
    (n, width), are ranked as `rules.ranking` says; settings as for `evaluate_values`.

    >>> from deepbinaries.datasets import load
    >>> from deepbinaries.datasets.splits import by_fraction
    >>> scenes = load("scenes", items=60)
    >>> parts = by_fraction(scenes, 0.2).parts(scenes)
    >>> codes = Codes.from_bits(scenes.labels.matrix())
    >>> report = evaluate_parts(
    ...     codes[parts.query], codes[parts.gallery("clean")], scenes, parts, kind="clean", direction="image_to_text"
    ... )
    >>> report.rules.gallery, report.dataset["name"]
    ('clean', 'scenes')
    """
    rows = parts.gallery(kind)
    if (len(queries), len(gallery)) != (len(parts.query), len(rows)):
        raise UsageError(
            f"{len(queries):,} and {len(gallery):,} codes are given for {len(parts.query):,} queries and the "
            f"{len(rows):,} items of the gallery {kind!r}",
            next_step="encode the rows parts.query and parts.gallery(kind), in this order",
        )
    if paired:
        if kind != "with-queries" or direction in SAME_SIDE:
            raise UsageError(
                f"no picture meets its own sentence where {direction} searches the gallery {kind}",
                next_step="take the gallery with-queries, and ask image_to_text or text_to_image",
            )
        ids = dataset.ids
        relevance = "same item"
        settings["pairs"] = PairedItems.from_ids([ids[row] for row in parts.query], [ids[row] for row in rows])
    else:
        relevance = in_words(parts.ignored)
        settings["query_labels"], settings["gallery_labels"] = map(parts.labels.select, (parts.query, rows))
    rules = replace(rules, gallery=kind, relevance=relevance)
    if direction in SAME_SIDE and kind == "with-queries":
        rules = replace(rules, itself="left out")
        settings["own"] = np.searchsorted(rows, parts.query)
    judge: Callable[..., Report] = evaluate if isinstance(queries, Codes) else evaluate_values
    return judge(
        queries,
        gallery,
        rules=rules,
        direction=direction,
        dataset={"name": dataset.name, "digest": digest(dataset)},
        split=parts.split.digests(),
        **settings,
    )
