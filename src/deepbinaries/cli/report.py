"""`deepbinaries report`: what one's own data say about a choice."""

from pathlib import Path
from typing import Annotated

import typer

from deepbinaries.cli.compare import Galleries, ReadAs, Texts, Words, command_of, galleries_of, inputs_of
from deepbinaries.cli.contestants import numbers, read_contestants
from deepbinaries.cli.dataset import FromCaptions, Name, Root, Seed, SplitName, SplitSet, load_dataset
from deepbinaries.cli.output import AsJson, complain, say, write_json, write_text
from deepbinaries.cli.recipe import Read
from deepbinaries.cli.train import BackboneWeights, DatasetSet, Device, Features, IgnoreLabel, ProposerPath, Vision
from deepbinaries.errors import UsageError

app = typer.Typer(rich_markup_mode=None, help="Reports on one's own data.")

OF_REPORT = ("method", "settings", "bits", "seeds", "galleries", "within", "out")


@app.command("bits")
def bits_command(
    context: typer.Context,
    name: Name,
    out: Annotated[Path, typer.Option(help="The folder of the report; what is there is not made again.")],
    method: Annotated[str, typer.Option(help="A name of `deepbinaries list methods`, or my.module:Class.")] = "tvdb",
    bits: Annotated[str, typer.Option(help="Lengths of codes, by commas.")] = "16,32,64,128,256",
    seeds: Annotated[str, typer.Option(help="Seeds of the method, by commas.")] = "0",
    galleries: Galleries = None,
    within: Annotated[
        float, typer.Option(min=0, max=1, help="How much of MAP a shorter code may lose to the best.")
    ] = 0.01,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method (epochs, eta, ...), repeatable."),
    ] = None,
    texts: Texts = None,
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
    """Say how many bits a dataset wants: MAP, ties, bytes and search time of each length, and which one to take.

    Run it again after an interruption, or with more lengths: it goes on, and shows those that are there beside them.
    Example: deepbinaries report bits scenes --method cvh --out bits
    """
    from deepbinaries.experiments.bits import measure, recommendation, write
    from deepbinaries.experiments.contest import Task

    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is no folder", next_step="give another name")
    own = [f"{method}.{setting}" for setting in settings or []]
    contestants = read_contestants(method, numbers(bits, "--bits"), own, None)
    if len(contestants) > 1:
        raise UsageError("a report is on one method", next_step="see `deepbinaries compare` for several")
    dataset, made = load_dataset(name, root, split, split_set, seed, dataset_set, labels_from_captions)
    parts = made.parts(dataset, ignore_labels=ignore_label or ())
    rule = f"without {', '.join(parts.ignored)}" if parts.ignored else "all"
    task = Task(
        **inputs_of(dataset, parts, texts, vision, read, words, features, device, backbone_weights, proposer_path, out),
        dataset=dataset,
        parts=parts,
        folder=out,
        seeds=numbers(seeds, "--seeds", least=0),
        galleries=galleries_of(galleries, parts),
        device=device,
        experiment="bits",
        rule=rule,
        command=command_of(context, name, apart=OF_REPORT),
        tell=complain,
    )
    lines = measure(contestants[0], task)
    notes = [f"Method {method}, dataset {dataset.name}, relevance rule {rule}."]
    written = write(lines, out, f"Bits for {dataset.name}", notes, within=within)
    say(f"report: {', '.join(map(str, written))}")
    chosen, sentence = recommendation(lines, within=within)
    if as_json:
        write_json({"bits": chosen, "recommendation": sentence, "lines": lines})
    else:
        write_text(sentence)
