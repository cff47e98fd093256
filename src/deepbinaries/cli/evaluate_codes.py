"""Judging two files of codes, ours or other people's: what `deepbinaries evaluate` does with them."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepbinaries import files
from deepbinaries.errors import DataError, UsageError

if TYPE_CHECKING:
    from deepbinaries.evaluation import Extras, Report, Rules


def judge_codes(
    queries: Path,
    gallery: Path,
    *,
    labels: list[Path],
    ids: list[Path],
    paired: bool,
    ignored: list[str],
    rules: "Rules",
    direction: str,
    without_itself: bool,
    extras: "Extras",
) -> "Report":
    """The report of two files of codes, or of real values."""
    relevance = _relevance(labels, ids, paired, ignored)
    rules = replace(rules, relevance=relevance.pop("relevance"), itself="left out" if without_itself else "kept")
    settings = relevance | {"without_itself": without_itself, "direction": direction, "extras": extras}
    return _evaluate(queries, gallery, rules, settings)


def _evaluate(queries: Path, gallery: Path, rules: "Rules", settings: dict[str, Any]) -> "Report":
    from deepbinaries.codes import load
    from deepbinaries.codes.files import read_array
    from deepbinaries.evaluation import evaluate, evaluate_values
    from deepbinaries.evaluation.of_parts import SAME_SIDE

    if rules.ranking == "hamming":
        codes = load(queries), load(gallery)
        if settings["direction"] in SAME_SIDE and codes[0] == codes[1] and not settings["without_itself"]:
            raise UsageError(
                f"{queries} and {gallery} hold the same codes, so every query finds itself first",
                next_step="add --without-itself",
            )
        return evaluate(*codes, rules=rules, **_by_rows(settings, *map(len, codes)))
    values = read_array(queries), read_array(gallery)
    return evaluate_values(*values, rules=rules, **_by_rows(settings, *map(len, values)))


def _by_rows(settings: dict[str, Any], n_queries: int, n_gallery: int) -> dict[str, Any]:
    """The settings with what only the numbers of rows can say: which rows are pairs, which are the query itself."""
    import numpy as np

    from deepbinaries.evaluation import PairedItems

    if settings.pop("paired", False):
        if n_queries != n_gallery:
            raise UsageError(
                f"{n_queries:,} queries and {n_gallery:,} gallery rows are no pairs", next_step="say which with --ids"
            )
        rows = [str(row) for row in range(n_queries)]
        settings["pairs"] = PairedItems.from_ids(rows, rows)
    if settings.pop("without_itself"):
        settings["own"] = np.arange(n_queries)
    return settings


def _relevance(labels: list[Path], ids: list[Path], paired: bool, ignored: list[str]) -> dict[str, Any]:
    """What `evaluation.evaluate` needs to know what is relevant, and its name."""
    from deepbinaries.datasets.label_files import read_labels
    from deepbinaries.evaluation import PairedItems
    from deepbinaries.evaluation.relevance import in_words

    if bool(labels) + bool(ids) + paired != 1:
        raise UsageError("it is not clear what is relevant", next_step="give --labels, --ids or --paired, one of them")
    if paired:
        return {"relevance": "same item", "paired": True}
    if len(labels or ids) > 2:
        raise UsageError("more than two files of labels or ids", next_step="give the queries' and the gallery's")
    if ids:
        return {"relevance": "same item", "pairs": PairedItems.from_ids(_ids(ids[0]), _ids(ids[-1]))}
    of_queries, of_gallery = read_labels(labels[0], labels[-1])
    return {
        "relevance": in_words(ignored),
        "query_labels": of_queries.without(ignored),
        "gallery_labels": of_gallery.without(ignored),
    }


def _ids(path: Path) -> list[str]:
    ids = [line.strip() for line in files.read_lines(path)]
    if "" in ids:
        raise DataError(f"{path}, line {ids.index('') + 1}, holds no id", next_step="give one id a line")
    return ids
