"""`deepbinaries train`: from a dataset to a model in a folder."""

import contextlib
import hashlib
import json
import re
import shutil
from collections import defaultdict
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbinaries.cli.dataset import FromCaptions, Name, Root, Seed, SplitName, SplitSet, load_dataset
from deepbinaries.cli.learning import (
    History,
    all_pairs,
    apart,
    check_labels,
    check_validation,
    has_patience,
    learn,
    learnt_from,
)
from deepbinaries.cli.output import AsJson, complain, free_path, write_json, write_text
from deepbinaries.cli.recipe import Read, read_recipe
from deepbinaries.cli.scalars import writer_class
from deepbinaries.cli.together import in_turn, is_together, leads
from deepbinaries.cli.tuning import in_words, tune
from deepbinaries.errors import UsageError
from deepbinaries.files import cache_folder, check_place

if TYPE_CHECKING:
    from deepbinaries.features import Prepared

SHOWN = 10  # kinds of failures that are told
DIRECTIONS = ("validation_image_to_text", "validation_text_to_image")

Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
BackboneWeights = Annotated[
    str | None, typer.Option(help="The backbone's weights: FILE.safetensors, or FILE.pth#sha256=DIGEST.")
]
DatasetSet = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A setting of the reader, repeatable.")
]
IgnoreLabel = Annotated[list[str] | None, typer.Option(help="Leave a label out, repeatable.")]
Features = Annotated[Path | None, typer.Option(help="Where features are kept; default: the user's cache.")]
Vision = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="How pictures are seen (backbone, proposer, keep, ...), repeatable."),
]
ProposerPath = Annotated[Path | None, typer.Option(help="The file that the proposer works by, if it needs one.")]


def train(
    name: Name,
    out: Annotated[Path, typer.Option(help="The model's folder, which does not exist yet.")],
    root: Root = None,
    split: SplitName = "",
    split_set: SplitSet = None,
    seed: Seed = 0,
    labels_from_captions: FromCaptions = False,
    dataset_set: DatasetSet = None,
    ignore_label: IgnoreLabel = None,
    method: Annotated[str | None, typer.Option(help="A name of `deepbinaries list methods`; default: tvdb.")] = None,
    bits: Annotated[int | None, typer.Option(help="The length of a code, 1 to 1024; default: 64.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method (epochs, eta, ...), repeatable."),
    ] = None,
    tuned: Annotated[
        list[str] | None,
        typer.Option("--tune", metavar="NAME=VALUE,VALUE", help="Choose a setting on the validation part, repeatable."),
    ] = None,
    vision: Vision = None,
    read: Annotated[
        Read | None, typer.Option(help="The sentence that stands for an item, or all as one; default: first.")
    ] = None,
    words: Annotated[int | None, typer.Option(help="Tokens of a sentence that are read; default: 12.")] = None,
    settings_file: Annotated[
        Path | None,
        typer.Option("--settings", help="A TOML file with tables method, vision, text; other options win over it."),
    ] = None,
    features: Features = None,
    tensorboard: Annotated[Path | None, typer.Option(help="Write each epoch's figures here, for TensorBoard.")] = None,
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
    from deepbinaries.model import Model, make_encoder, source_of

    check_place(free_path(out))  # and the next lines: refused now, since it would fail after hours
    if tensorboard is not None:
        writer_class()
        check_place(tensorboard / "events")
    recipe = read_recipe(settings_file, method, bits, settings, tuned, vision, read, words)
    if recipe.grid and is_together():
        raise UsageError("--tune works in one process", next_step="choose settings without torchrun, then train")
    speaks = leads()  # and each process has its own GPU from here on
    # Made once for nothing, so that nonsense is refused before anything is read.
    hashers = [recipe.make(device, combination) for combination in recipe.grid or [{}]]
    for line in recipe.left_out if speaks else ():
        complain(line)
    patient = any(map(has_patience, hashers))
    tokens = TokenSettings(length=recipe.words)
    dataset, made = load_dataset(name, root, split, split_set, seed, dataset_set, labels_from_captions)
    parts = made.parts(dataset, ignore_labels=ignore_label or ())
    if not len(parts.train):
        raise UsageError("this split has no training part to learn from", next_step="give another split")
    if recipe.grid or patient:
        check_validation(parts.validation, wanted_by="--tune" if recipe.grid else "patience")
    check_labels(hashers[0], parts, held_out=bool(recipe.grid) or patient)
    if usual := getattr(hashers[0].settings, "batch", None):  # a method without epochs has none
        n_pairs = len(learnt_from(parts, held_out=patient))
        recipe = recipe.fitted_to(n_pairs, usual)
        if speaks and (batch := recipe.settings.get("batch", usual)) < usual:
            complain(f"batch={batch}: with {usual} an epoch of {n_pairs:,} pairs has few steps")
    encoder = make_encoder(recipe.vision, device=device, backbone_weights=backbone_weights, proposer_path=proposer_path)
    home = features or cache_folder() / "features"
    with in_turn():
        prepared = prepare(dataset, parts, encoder, home, settings=tokens, read=recipe.read.value)
    if speaks:
        _tell_unreadable(prepared)
    trained_on = source_of(prepared, read=recipe.read.value)
    unfinished = out.with_name(f"{out.name}.training")
    workplaces: list[Path] = []

    def workplace(hasher: Any, held_out: bool) -> Path:
        # What is kept of an unfinished training belongs to exactly these settings and data.
        facts = [recipe.method, asdict(hasher.settings), encoder.fingerprint, asdict(tokens), trained_on, held_out]
        workplaces.append(unfinished / _digest([*facts, sorted(prepared.store.failures)]))
        return workplaces[-1]

    tuning = None
    if recipe.grid:
        tuning = tune(
            recipe.grid,
            partial(recipe.make, device),
            prepared,
            partial(workplace, held_out=True),
            tensorboard=tensorboard,
        )
    hasher = recipe.make(device, tuning["chosen"] if tuning else {})
    held_out = has_patience(hasher)
    pairs, validation = apart(prepared, wanted_by="patience") if held_out else (all_pairs(prepared), None)
    curves = tensorboard if speaks else None
    history = learn(hasher, pairs, validation, workplace(hasher, held_out), tensorboard=curves)
    if not speaks:
        return
    model = Model(encoder, prepared.vocabulary, hasher, method=recipe.method, trained_on=trained_on)
    model.save_pretrained(out, history=history, tuning=tuning)
    _remove(unfinished, workplaces)
    _report(out, model, history, tuning, as_json)


def _remove(unfinished: Path, workplaces: list[Path]) -> None:
    """Remove what was kept of this training, and nothing else that may lie beside it."""
    for workplace in set(workplaces):
        shutil.rmtree(workplace)
    with contextlib.suppress(OSError):  # another training goes on in there, or it holds a file of the user's
        unfinished.rmdir()


def _tell_unreadable(prepared: "Prepared") -> None:
    """How many there are, and a line for each kind: what an extra mends must not hide behind other failures."""
    failures = prepared.store.failures
    if not failures:
        return
    by_kind: dict[str, list[str]] = defaultdict(list)
    for id_, reason in failures.items():
        by_kind[_kind(reason, id_)].append(f"{id_}: {reason}")
    kinds = sorted(by_kind.values(), key=len, reverse=True)
    complain(f"pictures that cannot be read and are left out: {len(failures):,}")
    for found in kinds[:SHOWN]:
        complain(f"{len(found):,} like {found[0]}")
    if others := sum(map(len, kinds[SHOWN:])):
        complain(f"{others:,} of other kinds")
    complain(f"once they are mended, remove {prepared.store.folder}")


def _kind(reason: str, name: str) -> str:
    """What a failure shares with others: its reason without the picture's name, and without numbers.

    >>> _kind("my 2 dogs.jpg is damaged (37 bytes not processed)", "my 2 dogs.jpg")
    ' is damaged (# bytes not processed)'
    """
    return re.sub(r"\w*\d[\w,]*", "#", reason.replace(name, ""))


def _report(out: Path, model: Any, history: History, tuning: dict[str, Any] | None, as_json: bool) -> None:
    """Say what came out. With validation, the networks are those of the best epoch."""
    validated = [entry for entry in history if DIRECTIONS[0] in entry]
    chosen = max(validated, key=lambda entry: sum(entry[name] for name in DIRECTIONS)) if validated else history[-1]
    facts = {"model": str(out), "method": model.method, "bits": model.bits, "epochs": len(history)}
    facts |= {name: chosen[name] for name in ("epoch", "loss", *DIRECTIONS) if name in chosen}
    if as_json:
        write_json(facts | ({"tuning": tuning} if tuning else {}))
        return
    if tuning:
        facts["tuned"] = in_words(tuning["chosen"])
    write_text("\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in facts.items()))


def _digest(facts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
