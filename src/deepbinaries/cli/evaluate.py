"""`deepbinaries evaluate`: judge any two files of codes, ours or other people's."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbinaries import files
from deepbinaries.cli.output import AsJson, free_path, say, write_json, write_text
from deepbinaries.errors import DataError, UsageError

if TYPE_CHECKING:
    from deepbinaries.evaluation import Report, Rules


def evaluate(
    queries: Annotated[
        Path, typer.Argument(help="Codes of the queries (.npy): packed with sidecar, 0/1, -1/+1 or real.")
    ],
    gallery: Annotated[Path, typer.Argument(help="Codes of the gallery, in the same form.")],
    labels: Annotated[
        list[Path] | None,
        typer.Option(help="Labels of the queries, then of the gallery (.npy, .json, .txt); once if both are the same."),
    ] = None,
    ids: Annotated[
        list[Path] | None,
        typer.Option(
            help="Ids of the queries, then of the gallery, one a line: equal ids are pairs. Instead of labels."
        ),
    ] = None,
    paired: Annotated[bool, typer.Option("--paired", help="Row i of both files is a pair. Instead of labels.")] = False,
    ignore_label: Annotated[list[str] | None, typer.Option(help="Leave a label out of relevance, repeatable.")] = None,
    variant: Annotated[str, typer.Option(help="map@all, map@K/min, map@K/all or map@K/found.")] = "map@all",
    ties: Annotated[str, typer.Option(help="expected, best, worst or by_row.")] = "expected",
    empty: Annotated[str, typer.Option(help="Queries without a relevant item: skip or zero.")] = "skip",
    ranking: Annotated[str, typer.Option(help="hamming; inner or cosine rank real values.")] = "hamming",
    gallery_kind: Annotated[str, typer.Option("--gallery", help="database, clean or with-queries.")] = "database",
    direction: Annotated[str, typer.Option(help="image_to_text, text_to_image, image_to_image, ...")] = "image_to_text",
    without_itself: Annotated[
        bool, typer.Option("--without-itself", help="Row i of the gallery is query i itself: leave it out.")
    ] = False,
    ndcg: Annotated[list[int] | None, typer.Option(help="NDCG at this rank, repeatable.")] = None,
    curves: Annotated[
        bool, typer.Option("--curves", help="Precision and recall by rank and by radius (in the JSON).")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write the whole report (.json) here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Mean average precision with its rules, extremes, chance, interval and the health of the codes.

    Example: deepbinaries evaluate pictures.npy sentences.npy --labels labels.json
    """
    from deepbinaries.evaluation import Extras, Rules

    if out is not None:
        free_path(out)
    rules = Rules.named(
        variant,
        ties=ties,
        empty=empty,
        ranking=ranking,
        gallery=gallery_kind,
        itself="left out" if without_itself else "kept",
    )
    relevance = _relevance(labels or [], ids or [], paired, ignore_label or [])
    rules = replace(rules, relevance=relevance.pop("relevance"))
    extras = Extras(ndcg_at=tuple(ndcg or ()), curves=curves)
    settings = relevance | {"without_itself": without_itself, "direction": direction, "extras": extras}
    report = _evaluate(queries, gallery, rules, settings)
    if out is not None:
        files.write_json(report.to_json(), out)
        say(f"report: {out}")
    if as_json:
        write_json(report.to_json())
    else:
        write_text(str(report))


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
