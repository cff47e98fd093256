"""`deepbinaries dataset`: look at a dataset, export it, write its split, build one."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbinaries.cli.dataset_build import build_command
from deepbinaries.cli.output import AsJson, complain, free_path, say, write_json, write_text
from deepbinaries.cli.settings import parse_settings
from deepbinaries.errors import DataError, UsageError
from deepbinaries.files import written_whole

if TYPE_CHECKING:
    from deepbinaries.datasets import Dataset, Split

FREQUENT = 24  # labels named on the page
INDENT = " " * 14

app = typer.Typer(rich_markup_mode=None, help="Check, export, split and build datasets.")
app.command("build")(build_command)

Name = Annotated[str, typer.Argument(help="A name of `deepbinaries list datasets`, or my.module:function.")]
Root = Annotated[
    Path | None, typer.Option(help="Where the files are; default: the folder of that name in DEEPBINARIES_DATA.")
]
SplitName = Annotated[
    str, typer.Option("--split", help="A protocol, fraction:0.1, or a split file; default: the published one.")
]
SplitSet = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A setting of the split (query, train, sentence, ...), repeatable."),
]
Seed = Annotated[int, typer.Option(help="The seed of draws.")]
FromCaptions = Annotated[
    bool, typer.Option("--labels-from-captions", help="Take frequent content words of the sentences for labels.")
]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the reader, repeatable.")
]


@app.command("check")
def check_command(
    name: Name,
    root: Root = None,
    split: SplitName = "",
    split_set: SplitSet = None,
    ignore_label: Annotated[list[str] | None, typer.Option(help="Leave a label out of relevance, repeatable.")] = None,
    pictures: Annotated[int | None, typer.Option(min=0, help="How many pictures to open; default: all.")] = None,
    sheet: Annotated[Path | None, typer.Option(help="Write a contact sheet (.png) here.")] = None,
    seed: Seed = 0,
    labels_from_captions: FromCaptions = False,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Count, measure and look for what is broken, missing or leaking.

    Leaves with 1 when there is a problem. Example: deepbinaries dataset check scenes --sheet scenes.png
    """
    from deepbinaries.datasets.check import check, sample_rows

    if sheet is not None:
        free_path(sheet)
    dataset, made = load_dataset(name, root, split, split_set, seed, settings, labels_from_captions)
    # Where nothing is labelled and no split is at hand, an invented one would only raise questions.
    wanted = split or dataset.labels.names or made.protocol == "file"
    parts = made.parts(dataset, ignore_labels=ignore_label or ()) if wanted else None
    rows = None if pictures is None else sample_rows(dataset, pictures).tolist()
    findings = check(dataset, parts, pictures=rows)
    if as_json:
        write_json(findings.to_json())
    else:
        write_text(_as_text(findings.facts))
        for remark in findings.remarks:
            write_text(f"note: {remark}")
    for problem in findings.problems:
        complain(f"problem: {problem}")
    if sheet is not None:
        _write_sheet(dataset, sheet)
    if findings.problems:
        raise typer.Exit(1)


@app.command("export")
def export_command(
    name: Name,
    destination: Annotated[Path, typer.Argument(help="A folder that does not exist yet.")],
    root: Root = None,
    form: Annotated[str, typer.Option(help="folder or webdataset.")] = "folder",
    split: SplitName = "",
    split_set: SplitSet = None,
    seed: Seed = 0,
    labels_from_captions: FromCaptions = False,
    settings: Set = None,
) -> None:
    """Write any dataset, with its split, as a folder of pictures or as WebDataset shards.

    Example: deepbinaries dataset export scenes ~/scenes --set items=500
    """
    from deepbinaries.datasets.export import export

    dataset, made = load_dataset(name, root, split, split_set, seed, settings, labels_from_captions)
    export(dataset, destination, form=form, split=made)
    say(f"{len(dataset.ids):,} items in {destination}")


@app.command("split")
def split_command(
    name: Name,
    destination: Annotated[Path, typer.Argument(help="The split file (.json) to write.")],
    root: Root = None,
    split: SplitName = "",
    split_set: SplitSet = None,
    seed: Seed = 0,
    labels_from_captions: FromCaptions = False,
    settings: Set = None,
) -> None:
    """Write a split as a file of ids with their digests.

    Example: deepbinaries dataset split folder split.json --root ~/Pictures --split fraction:0.2
    """
    free_path(destination)
    _, made = load_dataset(name, root, split, split_set, seed, settings, labels_from_captions)
    made.save(destination)
    say(f"{len(made.query):,} queries, {len(made.database):,} in the database, {len(made.train):,} to learn from")


def _write_sheet(dataset: "Dataset", path: Path) -> None:
    from deepbinaries.datasets.check import sample_rows
    from deepbinaries.datasets.contact_sheet import contact_sheet

    if hasattr(dataset, "features"):
        raise UsageError(f"{dataset.name} has no pictures to show", next_step="leave --sheet out")
    with written_whole(path) as file:
        contact_sheet(dataset, sample_rows(dataset, 30).tolist()).save(file, format="PNG")
    say(f"contact sheet: {path}")


def load_dataset(
    name: str,
    root: Path | None,
    split: str,
    split_settings: list[str] | None,
    seed: int,
    settings: list[str] | None,
    labels_from_captions: bool,
) -> "tuple[Dataset, Split]":
    """The dataset and the split that the options of a command name."""
    from deepbinaries.datasets import find_root, load
    from deepbinaries.datasets.mined_labels import with_mined_labels
    from deepbinaries.datasets.protocols import PROTOCOLS, make_split
    from deepbinaries.registry import DATASETS

    chosen = parse_settings(settings, DATASETS.load(name))
    if "root" in chosen:
        raise UsageError("root is no setting of a reader", next_step="give it as --root")
    dataset = load(name, root, **chosen)
    if not dataset.ids:
        reasons = getattr(getattr(dataset, "skips", None), "counts", {})
        left_out = "; ".join(f"{count:,} left out: {reason}" for reason, count in reasons.items())
        raise DataError(
            f"{dataset.name} holds no items" + (f" ({left_out})" if left_out else ""), next_step="give another folder"
        )
    if labels_from_captions:
        dataset = with_mined_labels(dataset)
    of_split = parse_settings(split_settings, make_split, PROTOCOLS.get(split))
    for option in {"seed", "root", "name", "dataset"} & of_split.keys():
        raise UsageError(f"{option} is no setting of a split", next_step="leave it out, or give it as an option")
    return dataset, make_split(split, dataset, seed=seed, root=find_root(name, root), **of_split)


def _as_text(facts: dict[str, Any]) -> str:
    """The findings as a short page; `--json` has all of them."""
    dataset, labels = facts["dataset"], facts["labels"]
    lines = [f"{dataset['name']}: {dataset['items']:,} items, digest {dataset['digest'][:12]}"]
    for side, shape in facts.get("features", {}).items():
        lines.append(f"  features    {side}: {' x '.join(f'{n:,}' for n in shape)}")
    sentences = facts.get("sentences", {"count": 0})
    if sentences["count"]:
        words = sentences["words"]
        lines.append(
            f"  sentences   {sentences['count']:,}, {sentences['an_item']} an item, "
            f"{words['mean']} words on average, the longest {words['longest']}"
        )
    frequent = [f"{name} {count:,}" for name, count in labels["frequency"].items()]
    more = f", and {len(frequent) - FREQUENT} more" if len(frequent) > FREQUENT else ""
    lines.append(f"  labels      {labels['count']:,}, {labels['an_item']} an item")
    if frequent:
        lines += textwrap.wrap(
            ", ".join(frequent[:FREQUENT]) + more, 100, initial_indent=INDENT, subsequent_indent=INDENT
        )
    if pictures := facts.get("pictures"):
        size = " x ".join(map(str, pictures.get("median_size", [])))
        lines.append(
            f"  pictures    {pictures['opened']:,} opened, {len(pictures['broken']):,} broken, median size {size}"
        )
    if "split" not in facts:
        return "\n".join(lines)
    split = facts["split"]
    sizes = ", ".join(f"{part} {size:,}" for part, size in split["sizes"].items())
    lines.append(f"  split       {split['protocol']}: {sizes}")
    if split["note"]:
        lines.append(INDENT + split["note"])
    if split["ignored_labels"]:
        dropped = ", ".join(f"{part} {count:,}" for part, count in split["dropped_without_label"].items())
        lines.append(f"  ignored     {', '.join(split['ignored_labels'])}; dropped for want of a label: {dropped}")
    for kind, gallery in split["galleries"].items():
        chance = f", chance {gallery['chance']:.3f}" if gallery.get("chance") is not None else ""
        lines.append(f"  gallery     {kind}: {gallery['items']:,} items{chance}")
    return "\n".join(lines)
