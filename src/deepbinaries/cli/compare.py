"""`deepbinaries compare`: methods on one dataset, as one table."""

import functools
import hashlib
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from deepbinaries import files
from deepbinaries.cli.contestants import numbers, read_contestants
from deepbinaries.cli.dataset import FromCaptions, Name, Root, Seed, SplitName, SplitSet, load_dataset
from deepbinaries.cli.output import AsJson, complain, say, write_json, write_text
from deepbinaries.cli.recipe import Read
from deepbinaries.cli.settings import parse_settings
from deepbinaries.cli.train import BackboneWeights, DatasetSet, Device, Features, IgnoreLabel, ProposerPath, Vision
from deepbinaries.errors import UsageError

if TYPE_CHECKING:
    from deepbinaries.datasets import Dataset, Parts
    from deepbinaries.experiments.comparison_table import Table
    from deepbinaries.experiments.scores import Source
    from deepbinaries.features import Prepared

GALLERIES = ("database", "clean")


class TextView(StrEnum):
    """What a sentence is to methods that take vectors."""

    FEATURES = "features"
    COUNTS = "counts"


Texts = Annotated[
    TextView | None,
    typer.Option(help="What methods on vectors see of a sentence: learnt features, or counts of words."),
]
ReadAs = Annotated[Read, typer.Option(help="The sentence that stands for an item, or all as one.")]
Words = Annotated[int, typer.Option(help="Tokens of a sentence that are read.")]
Galleries = Annotated[
    str | None, typer.Option(help="Of database, clean, with-queries; default: the first two that hold items.")
]


def compare(
    context: typer.Context,
    name: Name,
    methods: Annotated[str, typer.Option(help="Names of `deepbinaries list methods`, or my.module:Class, by commas.")],
    out: Annotated[Path, typer.Option(help="The folder of the results; what is there is not made again.")],
    bits: Annotated[str, typer.Option(help="Lengths of codes, by commas.")] = "16,32,64,128",
    seeds: Annotated[str, typer.Option(help="Seeds of the methods, by commas.")] = "0",
    galleries: Galleries = None,
    against: Annotated[
        str, typer.Option(help="The method that the others are tested against; default: the best of each column.")
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="METHOD.NAME=VALUE", help="A setting of a method (bits: its lengths), repeatable."
        ),
    ] = None,
    tuned: Annotated[
        list[str] | None,
        typer.Option("--tune", metavar="METHOD.NAME=VALUE,VALUE", help="Choose it on the validation part, repeatable."),
    ] = None,
    tune_at: Annotated[
        int | None, typer.Option(help="Choose at this length for all lengths; default: at each for itself.")
    ] = None,
    unified: Annotated[
        bool, typer.Option("--unified", help="Also judge codes of both views, where a method has them.")
    ] = False,
    ties: Annotated[str, typer.Option(help="expected, best, worst or by_row.")] = "expected",
    texts: Texts = None,
    rule: Annotated[
        str | None, typer.Option(help="A short name for what is relevant; default: by ignored labels.")
    ] = None,
    experiment: Annotated[str, typer.Option(help="The name under which results are kept.")] = "compare",
    root: Root = None,
    split: SplitName = "",
    split_set: SplitSet = None,
    seed: Seed = 0,
    labels_from_captions: FromCaptions = False,
    dataset_set: DatasetSet = None,
    ignore_label: IgnoreLabel = None,
    vision: Vision = None,
    read: ReadAs = Read.FIRST,
    words: Words = 12,
    features: Features = None,
    device: Device = "auto",
    backbone_weights: BackboneWeights = None,
    proposer_path: ProposerPath = None,
    as_json: AsJson = False,
) -> None:
    """Train methods at several lengths on the same data, and judge them on the same queries, as one table.

    Run it again after an interruption, or with more methods or lengths: it goes on.
    Example: deepbinaries compare scenes --methods cvh,scm-seq,tvdb --bits 16,32 --out comparison
    """
    from deepbinaries.evaluation import Rules
    from deepbinaries.experiments.compare import run
    from deepbinaries.experiments.comparison_table import build
    from deepbinaries.experiments.contest import Task

    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is no folder", next_step="give another name")
    contestants = read_contestants(methods, numbers(bits, "--bits"), settings, tuned)
    if against and against not in {contestant.method for contestant in contestants}:
        raise UsageError(f"--against names {against!r}, which does not take part", next_step="add it to --methods")
    rules = Rules(ties=ties)
    dataset, made = load_dataset(name, root, split, split_set, seed, dataset_set, labels_from_captions)
    parts = made.parts(dataset, ignore_labels=ignore_label or ())
    ignored = ", ".join(parts.ignored)
    task = Task(
        **inputs_of(dataset, parts, texts, vision, read, words, features, device, backbone_weights, proposer_path, out),
        dataset=dataset,
        parts=parts,
        folder=out,
        seeds=numbers(seeds, "--seeds", least=0),
        galleries=galleries_of(galleries, parts),
        unified=unified,
        rules=rules,
        tuned_at=tune_at,
        device=device,
        experiment=experiment,
        rule=(rule or (f"without {ignored}" if ignored else "all")) + ("" if ties == "expected" else f", ties {ties}"),
        command=command_of(context, name, apart=OF_RESULTS),
        tell=complain,
    )
    table = build(run(contestants, task), out, against=against)
    files.write_json(table.to_json(), out / "table.json", indent=1)
    with files.written_whole(out / "table.md") as file:
        file.write(table.to_markdown().encode())
    say(f"tables: {out / 'table.md'}, {out / 'table.json'}")
    if as_json:
        write_json(table.to_json())
    else:
        _show(table)


def galleries_of(text: str | None, parts: "Parts") -> tuple[str, ...]:
    """The galleries that are named by commas; None: those that hold items, of the paper's and the clean one."""
    from deepbinaries.datasets.splits import GALLERIES as KNOWN
    from deepbinaries.errors import unknown_name

    if text is None:
        return tuple(kind for kind in GALLERIES if len(parts.gallery(kind)))
    found = tuple(dict.fromkeys(map(str.strip, text.split(","))))
    for kind in found:
        if kind not in KNOWN:
            raise unknown_name("gallery", kind, KNOWN)
    return found


def inputs_of(
    dataset: "Dataset",
    parts: "Parts",
    texts: TextView | None,
    vision: list[str] | None,
    read: Read,
    words: int,
    features: Path | None,
    device: str,
    backbone_weights: str | None,
    proposer_path: Path | None,
    out: Path,
) -> dict[str, Any]:
    """What methods are given of the dataset, and what is to be said about it in results."""
    if hasattr(dataset, "features"):
        from deepbinaries.features.vectors import PreparedVectors

        if texts is not None:
            raise UsageError(f"{dataset.name} has vectors of its own", next_step="leave --texts out")
        vectors: Any = PreparedVectors(dataset, parts)  # type: ignore[arg-type]
        return {"source": lambda _: vectors, "inputs": {"texts": "vectors"}}
    from deepbinaries.features import prepare
    from deepbinaries.language import TokenSettings
    from deepbinaries.model import make_encoder
    from deepbinaries.registry import check_settings
    from deepbinaries.vision.encoder import VisionSettings

    seeing = parse_settings(vision, VisionSettings)
    check_settings(VisionSettings, seeing, of="vision")
    looked = VisionSettings(**seeing)
    view = texts or TextView.FEATURES
    encoder = make_encoder(looked, device=device, backbone_weights=backbone_weights, proposer_path=proposer_path)
    home = features or files.cache_folder() / "features"
    seen = hashlib.sha256(json.dumps(encoder.fingerprint, sort_keys=True).encode()).hexdigest()

    @functools.cache
    def prepared() -> "Prepared":  # only where something has to be learnt
        return prepare(dataset, parts, encoder, home, settings=TokenSettings(length=words), read=read.value)

    @functools.cache
    def source(held_out: bool) -> "Source":
        if view is TextView.COUNTS:
            return prepared()
        from deepbinaries.experiments.text_view import with_text_features

        return with_text_features(prepared(), out / "text-features", held_out=held_out, device=device, tell=complain)

    return {
        "source": source,
        "inputs": {"read": read.value, "words": words, "texts": view.value},
        "proposer": encoder.settings.proposer if looked.keep else "none",
        "digests": {"vision": seen},
    }


OF_RESULTS = ("methods", "out", "bits", "seeds", "galleries", "against", "settings", "tuned", "tune_at", "unified")
OF_MACHINES = ("root", "features", "device", "backbone_weights", "proposer_path", "as_json")


def command_of(context: typer.Context, name: str, *, apart: Sequence[str]) -> str:
    """The comparison with the options that were given and hold for all methods; paths are the reader's own."""
    words = ["deepbinaries", "compare", name, "--out", "comparison"]
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if source is None or source.name != "COMMANDLINE" or option.name in (*apart, *OF_MACHINES, "name"):
            continue
        value = context.params[option.name or ""]
        if isinstance(value, bool):
            words.append(option.opts[0])
            continue
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [option.opts[0], str(each)]
    return shlex.join(words)


def _show(table: "Table") -> None:
    """Print the table: one for each gallery on a terminal, lines with tabs in a pipe."""
    if not sys.stdout.isatty():
        lines = [
            "\t".join([gallery, row, *(str(table.entries.get((row, column), "")) for column in table.of(gallery))])
            for gallery in table.galleries
            for row in table.rows
        ]
        write_text("\n".join(lines))
        return
    console, cell = Console(), _cell_of(table)
    for gallery in table.galleries:
        shown = RichTable(title=f"gallery {gallery}, chance {table.chance(gallery):.3f}", box=None, pad_edge=False)
        shown.add_column("method")
        for column in table.of(gallery):
            shown.add_column(str(column), justify="right")
        for row in table.rows:
            shown.add_row(Text(row), *(cell(row, column) for column in table.of(gallery)))
        console.print(shown)
    console.print(Text(f"MAP@all. {table.legend()}"))


def _cell_of(table: "Table") -> Callable[[str, Any], Text]:
    def cell(row: str, column: Any) -> Text:
        entry = table.entries.get((row, column))
        return Text("" if entry is None else str(entry), style="bold" if entry is not None and entry.best else "")

    return cell
