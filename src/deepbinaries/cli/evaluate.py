"""`deepbinaries evaluate`: judge any two files of codes, or a model on a dataset."""

from pathlib import Path
from typing import Annotated

import typer

from deepbinaries import files
from deepbinaries.cli.dataset import FromCaptions, Root, Seed, SplitName, SplitSet, load_dataset
from deepbinaries.cli.evaluate_codes import judge_codes
from deepbinaries.cli.evaluate_model import as_json as model_as_json
from deepbinaries.cli.evaluate_model import eyes_in_words, judge_model
from deepbinaries.cli.output import AsJson, free_file, say, write_json, write_text
from deepbinaries.cli.train import BackboneWeights, DatasetSet, Device, Features, ProposerPath
from deepbinaries.errors import UsageError, unknown_name

OF_CODES = ("labels", "ids", "ranking", "without_itself")
OF_MODELS = (
    *("root", "split", "split_set", "seed", "labels_from_captions", "dataset_set", "features"),
    *("device", "backbone_weights", "proposer_path"),
)
BOTH = ("image_to_text", "text_to_image")


def evaluate(
    context: typer.Context,
    # Text and no path, as in ModelAt.
    queries: Annotated[
        str,
        typer.Argument(
            help="Codes of the queries (.npy): packed with sidecar, 0/1, -1/+1 or real. Or a model's folder or name.",
        ),
    ],
    gallery: Annotated[
        str,
        typer.Argument(help="Codes of the gallery, in the same form. For a model: a dataset's name."),
    ],
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
    paired: Annotated[
        bool,
        typer.Option(
            "--paired", help="Row i of both files is a pair; for a model, each picture and its sentence. Not by labels."
        ),
    ] = False,
    ignore_label: Annotated[list[str] | None, typer.Option(help="Leave a label out of relevance, repeatable.")] = None,
    variant: Annotated[str, typer.Option(help="map@all, map@K/min, map@K/all or map@K/found.")] = "map@all",
    ties: Annotated[str, typer.Option(help="expected, best, worst or by_row.")] = "expected",
    empty: Annotated[str, typer.Option(help="Queries without a relevant item: skip or zero.")] = "skip",
    ranking: Annotated[str, typer.Option(help="hamming; inner or cosine rank real values.")] = "hamming",
    galleries: Annotated[
        list[str] | None,
        typer.Option(
            "--gallery",
            help="database, clean or with-queries; for a model repeatable. Default: database, or for pairs the last.",
        ),
    ] = None,
    direction: Annotated[
        str | None,
        typer.Option(help="image_to_text, text_to_image, ...; default: the first, for a model both."),
    ] = None,
    without_itself: Annotated[
        bool, typer.Option("--without-itself", help="Row i of the gallery is query i itself: leave it out.")
    ] = False,
    ndcg: Annotated[list[int] | None, typer.Option(help="NDCG at this rank, repeatable.")] = None,
    curves: Annotated[
        bool, typer.Option("--curves", help="Precision and recall by rank and by radius (in the JSON).")
    ] = False,
    root: Root = None,
    split: SplitName = "",
    split_set: SplitSet = None,
    seed: Seed = 0,
    labels_from_captions: FromCaptions = False,
    dataset_set: DatasetSet = None,
    features: Features = None,
    device: Device = "auto",
    backbone_weights: BackboneWeights = None,
    proposer_path: ProposerPath = None,
    out: Annotated[Path | None, typer.Option(help="Write the whole report (.json) here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Mean average precision with its rules, extremes, chance, interval and the health of the codes.

    Of two files of codes: deepbinaries evaluate pictures.npy sentences.npy --labels labels.json

    Of a model on the queries of a dataset: deepbinaries evaluate model scenes --gallery clean
    """
    from deepbinaries.evaluation import Extras, Rules
    from deepbinaries.evaluation.scoring import DIRECTIONS
    from deepbinaries.pretrained import names, place_of

    if queries not in names() and not Path(queries).exists():
        raise UsageError(
            f"no model and no file of codes is called {queries!r}",
            next_step="check the path; a model is a folder that `train` has written, or a name of the package, `photo`",
        )
    if out is not None:
        free_file(out)
    if direction is not None and direction not in DIRECTIONS:
        raise unknown_name("direction", direction, DIRECTIONS)
    kinds = galleries or ["database"]
    # Made for each, so that an unknown gallery is refused before any work.
    rules, *_ = [Rules.named(variant, ties=ties, empty=empty, ranking=ranking, gallery=kind) for kind in kinds]
    extras = Extras(ndcg_at=tuple(ndcg or ()), curves=curves)
    if queries in names() or Path(queries).is_dir():
        from deepbinaries.model import Model

        _refuse(context, OF_CODES, "goes with files of codes, not with a model")
        model = Model.from_pretrained(
            queries, device=device, backbone_weights=backbone_weights, proposer_path=proposer_path
        )
        reports = judge_model(
            model,
            *load_dataset(gallery, root, split, split_set, seed, dataset_set, labels_from_captions),
            ignored=ignore_label or (),
            # No other gallery holds what belongs to a query.
            galleries=galleries or ["with-queries" if paired else "database"],
            directions=[direction] if direction else BOTH,
            rules=rules,
            extras=extras,
            paired=paired,
            features=features or files.cache_folder() / "features",
        )
        content = model_as_json(place_of(queries), reports)
        seen = [eyes_in_words(content)]
    else:
        _refuse(context, OF_MODELS, f"goes with a model, and {queries} is none")
        if len(kinds) > 1:
            raise UsageError("a file of codes is one gallery", next_step="give --gallery once")
        report = judge_codes(
            Path(queries),
            Path(gallery),
            labels=labels or [],
            ids=ids or [],
            paired=paired,
            ignored=ignore_label or [],
            rules=rules,
            direction=direction or BOTH[0],
            without_itself=without_itself,
            extras=extras,
        )
        seen, reports, content = [], [report], report.to_json()
    if out is not None:
        files.write_json(content, out)
        say(f"report: {out}")
    if as_json:
        write_json(content)
    else:
        write_text("\n\n".join([*seen, *map(str, reports)]))


def _refuse(context: typer.Context, names: tuple[str, ...], why: str) -> None:
    """Refuse options that were given and have no meaning here, rather than ignore them."""
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name in names and source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"{option.opts[0]} {why}", next_step="leave it out")
