"""The folder of a model: written whole or not at all, read only when every file has the digest it was written with."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.files import read_json, write_json, written_whole

FORMAT = "deepbinaries-model"
VERSION = 1
CONFIG, VOCABULARY, CARD, LOG = "config.json", "vocabulary.json", "MODEL_CARD.md", "training.jsonl"
LOG_DIGEST = "log_sha256"  # beside the model's digest; folders of earlier releases have none
TUNING = "tuning.json"
DESCRIPTION = "README.md"  # of a model that comes with the package: what was measured of it, and what it is bad at
BACKBONE = "backbone.onnx"  # of an exported model
EXPORTED = {BACKBONE, f"{BACKBONE}.json", "image.onnx", "text.onnx"}
NETWORKS = {VOCABULARY, "hasher.json", "hasher.safetensors"} | EXPORTED  # what no other folder holds
OURS = {CONFIG, CARD, LOG, TUNING, DESCRIPTION} | NETWORKS


def write_folder(folder: Path, facts: Mapping[str, Any], write_files: Callable[[Path], None]) -> None:
    """Make a model's folder of some facts and files; only a model that is there already is replaced."""
    check_free(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent) as part:
            new = Path(part) / "new"
            new.mkdir()
            write_files(new)
            with written_whole(new / CARD) as file:
                file.write(model_card(facts).encode())
            digests = {path.name: _file_digest(path) for path in sorted(new.iterdir())}
            # How it was learnt is no part of a model: opened and saved again, without a log, it is the same one.
            of_log = {LOG_DIGEST: digests.pop(LOG)} if LOG in digests else {}
            config = {"format": FORMAT, "version": VERSION, **facts, "files": digests}
            write_json(config | {"sha256": config_digest(config)} | of_log, new / CONFIG, indent=1)
            _put_in_place(new, folder, old=Path(f"{part}.old"))
    except OSError as error:
        raise Error(
            f"{folder} cannot be written ({error.strerror})", next_step="check its permissions and the free space"
        ) from error


def _put_in_place(new: Path, folder: Path, *, old: Path) -> None:
    """Give a folder its name. The one that had it is at `old` meanwhile, and is put back if that fails."""
    try:
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except BaseException:
        if old.exists() and not folder.exists():
            try:
                old.rename(folder)
            except OSError as error:
                raise Error(
                    f"{folder} cannot be written; the model it held is {old} now", next_step="rename it"
                ) from error
        raise
    shutil.rmtree(old, ignore_errors=True)


def check_free(folder: Path) -> None:
    """Refuse a place where something else than a model is."""
    if not folder.exists():
        return
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else {folder.name}
    if names and not (CONFIG in names and names <= OURS):
        raise UsageError(
            f"{folder} holds something else than a model ({min(names - OURS, default=min(names))})",
            next_step="give the name of a folder that does not exist",
        )


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model, or what is left of one."""
    return any((folder / name).is_file() for name in {CONFIG} | NETWORKS)


def read_folder(folder: Path) -> dict[str, Any]:
    """The facts about a model, its files proven."""
    path = folder / CONFIG
    if not path.is_file() and is_model(folder):
        raise damaged(path, "it is not there")
    if not path.is_file():
        raise DataError(f"{folder} holds no model", next_step="give a folder that `deepbinaries train` has written")
    config = read_json(path)
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise damaged(path, "it describes no model")
    if config.get("version") != VERSION:
        raise DataError(
            f"{folder} is a model of version {config.get('version')!r}",
            next_step=f"this release reads version {VERSION}: update deepbinaries, or train again",
        )
    of_log = {LOG: config.pop(LOG_DIGEST)} if LOG_DIGEST in config else {}
    if config.pop("sha256", None) != config_digest(config):
        raise damaged(path, "its digest is another one")
    listed = config.get("files")
    if not isinstance(listed, dict) or VOCABULARY not in listed:
        raise damaged(path, "it does not list the model's files")
    for name, sha256 in (listed | of_log).items():
        if Path(name).name != name or not (folder / name).is_file():
            raise damaged(folder / name, "it is not there")
        if _file_digest(folder / name) != sha256:
            raise damaged(folder / name, "its digest is another one")
    return config


def with_bits(config: Mapping[str, Any], bits: int | None) -> dict[str, Any]:
    """The facts about a model whose codes are cut to their first bits; None leaves them whole.

    Only lengths that it was trained for are given: the first bits of other codes mean little by themselves.

    >>> with_bits({"bits": 128, "exported": {"nested": [32, 64]}}, 64)
    {'bits': 64, 'exported': {'nested': [32]}}
    """
    whole, exported = config.get("bits"), config.get("exported") or {}
    if bits is None or bits == whole:
        return dict(config)
    nested = exported.get("nested") if isinstance(exported, dict) else None
    shorter = [length for length in nested if type(length) is int] if isinstance(nested, list) else []
    if bits not in shorter:
        lengths = " or ".join(map(str, [*sorted(shorter), whole]))
        raise UsageError(f"this model has no codes of {bits} bits", next_step=f"it has {lengths}")
    return {**config, "bits": bits, "exported": {**exported, "nested": [n for n in shorter if n < bits]}}


def with_a_part(vision: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of vision that decide something: crops are of the side that the backbone takes.

    >>> with_a_part({"mode": "crop", "keep": 20, "side": 448})
    {'mode': 'crop', 'keep': 20}
    """
    return {name: value for name, value in vision.items() if not (name == "side" and vision["mode"] == "crop")}


def model_card(facts: Mapping[str, Any]) -> str:
    """What a person should know about a model, in Markdown."""
    vision, weights = facts["vision"], facts["weights"]
    settings = ", ".join(f"{name} {value}" for name, value in with_a_part(vision).items())
    where = "in this folder" if "exported" in facts else "not in this folder"
    known = "head" not in facts.get("exported", {})  # words of a vocabulary; adopted encoders take pieces of any word
    unknown = "a sentence without a known word has a code that means nothing" if known else "no word is unknown to it"
    return f"""# A deepbinaries model

Photographs and sentences to codes of {facts["bits"]} bits: the nearer two codes, the more their content has in common.

- method: {facts["method"]}
{_data_card(facts["trained_on"])}- pictures: {settings}
- backbone weights: {weights["source"]}, licence {weights["licence"]}, SHA-256 {weights["sha256"]}; {where}
- sentences: {f"{facts['words']:,} known words; " * known}the first {facts["tokens"]["length"]} tokens are read
{_export_card(facts["exported"]) if "exported" in facts else ""}
Codes of one model cannot be compared with those of another. The model knows what its training data showed, in their
language and with their leanings; {unknown}. Do not use it to decide
about people.

    from deepbinaries.model import Model
    model = Model.from_pretrained("this folder")
    model.encode_texts("a dog on a beach"), model.encode_images("dog.jpg")
"""


def _data_card(trained_on: Mapping[str, Any]) -> str:
    if not trained_on:
        return ""
    name, digest = (str(trained_on.get(fact, "not stated")) for fact in ("dataset", "digest"))
    return f"- trained on: {name} (digest {digest[:12]})\n"


def _export_card(exported: Mapping[str, Any]) -> str:
    if "agreement" not in exported:
        return (
            f"- adopted: the encoders {exported['image']} and {exported['text']}, under their makers' licences\n"
            f"- head: {exported['head']}, {exported['pictures']:,} of them\n"
        )
    agreement, original = exported["agreement"], exported["backbone"]
    lines = [
        f"exported: networks as ONNX files in {exported['precision']}, backbone made of {original['source']}, "
        f"licence {original['licence']}, SHA-256 {original['sha256']}",
        *(
            f"agreement with torch on {agreement[side]['items']:,} {side}: {agreement[side]['equal_bits']:.4%} of the "
            f"bits, values differ by at most {agreement[side]['largest_difference']:.3g} "
            f"(their mean size is {agreement[side]['mean_size']:.3g})"
            for side in ("pictures", "sentences")
        ),
    ]
    return "".join(f"- {line}\n" for line in lines)


def config_digest(config: Mapping[str, Any]) -> str:
    """SHA-256 over everything that config.json says, but for the digest itself."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode("ascii")).hexdigest()


def damaged(path: Path, why: str) -> DataError:
    """The error for a file of a model that is not as it was written."""
    return DataError(f"{path} cannot be trusted: {why}", next_step="copy the model again, or train it again")


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
