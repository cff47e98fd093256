"""`deepbinaries train`: from a dataset to a model in a folder."""

import hashlib
import json
import shutil
import typing
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbinaries.cli.dataset import FromCaptions, Name, Root, Seed, SplitName, SplitSet, load_dataset
from deepbinaries.cli.output import AsJson, complain, free_path, say, write_json, write_text
from deepbinaries.cli.settings import parse_settings
from deepbinaries.errors import UsageError
from deepbinaries.files import cache_folder, read_lines, written_whole
from deepbinaries.model_folder import LOG

if TYPE_CHECKING:
    from deepbinaries.features import Prepared
    from deepbinaries.vision.encoder import VisionSettings

DIRECTIONS = ("validation_image_to_text", "validation_text_to_image")

Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
BackboneWeights = Annotated[
    str | None, typer.Option(help="The backbone's weights: FILE.safetensors, or FILE.pth#sha256=DIGEST.")
]
ProposerPath = Annotated[Path | None, typer.Option(help="The file that the proposer works by, if it needs one.")]


class Read(StrEnum):
    """What is read of an item that has several sentences."""

    FIRST = "first"
    WHOLE = "whole"


def train(
    name: Name,
    out: Annotated[Path, typer.Option(help="The model's folder, which does not exist yet.")],
    root: Root = None,
    split: SplitName = "",
    split_set: SplitSet = None,
    seed: Seed = 0,
    labels_from_captions: FromCaptions = False,
    dataset_set: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A setting of the reader, repeatable.")
    ] = None,
    ignore_label: Annotated[list[str] | None, typer.Option(help="Leave a label out, repeatable.")] = None,
    method: Annotated[str, typer.Option(help="A name of `deepbinaries list methods`.")] = "tvdb",
    bits: Annotated[int, typer.Option(help="The length of a code, 1 to 1024.")] = 64,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method (epochs, eta, ...), repeatable."),
    ] = None,
    vision: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="How pictures are seen (backbone, proposer, keep, ...), repeatable."),
    ] = None,
    read: Annotated[Read, typer.Option(help="The sentence that stands for an item, or all as one.")] = Read.FIRST,
    words: Annotated[int, typer.Option(help="Tokens of a sentence that are read.")] = 12,
    features: Annotated[Path | None, typer.Option(help="Where features are kept; default: the user's cache.")] = None,
    device: Device = "auto",
    backbone_weights: BackboneWeights = None,
    proposer_path: ProposerPath = None,
    as_json: AsJson = False,
) -> None:
    """Learn from the training part of a split, and leave a model that encodes pictures and sentences.

    Run it again after an interruption: it goes on. With --set patience=N it stops by the validation part,
    which is then not learnt from. Example: deepbinaries train scenes --out model --set epochs=10
    """
    from deepbinaries.features import prepare
    from deepbinaries.language import TokenSettings
    from deepbinaries.model import Model, make_encoder

    free_path(out)
    hasher = _make_hasher(method, bits, settings, device)
    tokens, seeing = TokenSettings(length=words), _vision_settings(vision)
    dataset, made = load_dataset(name, root, split, split_set, seed, dataset_set, labels_from_captions)
    parts = made.parts(dataset, ignore_labels=ignore_label or ())
    encoder = make_encoder(seeing, device=device, backbone_weights=backbone_weights, proposer_path=proposer_path)
    home = features or cache_folder() / "features"
    prepared = prepare(dataset, parts, encoder, home, settings=tokens, read=read.value)
    trained_on = _trained_on(prepared, read)
    # What is kept of an unfinished training belongs to exactly these settings and data.
    key = _digest([method, asdict(hasher.settings), encoder.fingerprint, asdict(tokens), trained_on])
    unfinished = out.with_name(f"{out.name}.training")
    history = _learn(prepared, hasher, unfinished / key)
    model = Model(encoder, prepared.vocabulary, hasher, method=method, trained_on=trained_on)
    model.save_pretrained(out)
    _write_history(history, out / LOG)
    shutil.rmtree(unfinished)
    _report(out, model, history, as_json)


def _make_hasher(method: str, bits: int, settings: list[str] | None, device: str) -> Any:
    from deepbinaries.registry import METHODS

    hasher = METHODS.load(method)
    if not hasattr(hasher, "preset"):
        raise UsageError(f"the method {method!r} has no `preset`", next_step="see deepbinaries.hashers.tvdb for one")
    known = typing.get_type_hints(hasher.__init__)["settings"]
    return hasher.preset(method, device=device, **({"bits": bits} | parse_settings(settings, known)))


def _vision_settings(pairs: list[str] | None) -> "VisionSettings":
    from deepbinaries.registry import check_settings
    from deepbinaries.vision.encoder import VisionSettings

    chosen = parse_settings(pairs, VisionSettings)
    check_settings(VisionSettings, chosen, of="vision")
    return VisionSettings(**chosen)


def _trained_on(prepared: "Prepared", read: Read) -> dict[str, Any]:
    """What a model records of the data it was trained on: names and digests, no path."""
    from deepbinaries.datasets import digest

    parts = prepared.parts
    return {
        "dataset": prepared.dataset.name,
        "digest": digest(prepared.dataset),
        "split": {"protocol": parts.split.protocol, **parts.split.digests()},
        "ignored_labels": list(parts.ignored),
        "read": read.value,
    }


def _learn(prepared: "Prepared", hasher: Any, workplace: Path) -> list[dict[str, Any]]:
    """Fit the hasher, from its last checkpoint where there is one; what each epoch had to say."""
    import numpy as np

    parts, validation = prepared.parts, None
    rows = prepared.readable(parts.train)
    if hasher.settings.patience is not None:
        if not len(parts.validation):
            raise UsageError("patience needs a validation part, which this split lacks", next_step="leave patience out")
        rows = np.setdiff1d(rows, parts.validation)
        validation = prepared.pairs(prepared.readable(parts.validation))
    if failures := prepared.store.failures:
        id_, reason = next(iter(failures.items()))
        complain(f"{len(failures):,} pictures cannot be read and are left out (first: {id_}: {reason})")
    workplace.mkdir(parents=True, exist_ok=True)
    path = workplace / LOG
    history = {entry["epoch"]: entry for entry in map(json.loads, read_lines(path) if path.exists() else [])}

    def log(entry: dict[str, Any]) -> None:
        history[entry["epoch"]] = entry
        _write_history(history.values(), path)
        say(", ".join(f"{key} {value:.4g}" for key, value in entry.items() if isinstance(value, int | float)))
        if "warning" in entry:
            complain(f"epoch {entry['epoch']}: {entry['warning']}")

    hasher.fit(prepared.pairs(rows), validation=validation, checkpoints=workplace, log=log)
    return list(history.values())


def _write_history(history: Iterable[dict[str, Any]], path: Path) -> None:
    with written_whole(path) as file:
        file.write("".join(json.dumps(entry) + "\n" for entry in history).encode("ascii"))


def _report(out: Path, model: Any, history: list[dict[str, Any]], as_json: bool) -> None:
    """Say what came out. With validation, the networks are those of the best epoch."""
    validated = [entry for entry in history if DIRECTIONS[0] in entry]
    chosen = max(validated, key=lambda entry: sum(entry[name] for name in DIRECTIONS)) if validated else history[-1]
    facts = {"model": str(out), "method": model.method, "bits": model.bits, "epochs": len(history)}
    facts |= {name: chosen[name] for name in ("epoch", "loss", *DIRECTIONS) if name in chosen}
    if as_json:
        write_json(facts)
        return
    write_text("\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in facts.items()))


def _digest(facts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
