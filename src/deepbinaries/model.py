"""A trained model in one folder: how pictures are looked at, which words are known, and one fitted hasher.

Everything that searches knows only `encode_images` and `encode_texts`. The backbone's weights are not in the folder of
a trained model: its `config.json` names them by their digest, and any others are refused. An exported model holds all
its networks as ONNX files and is opened without torch.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, Self, cast, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.codes import Codes
from deepbinaries.datasets import digest
from deepbinaries.datasets.base import PictureFile
from deepbinaries.errors import DataError, PictureError, UsageError
from deepbinaries.features import Prepared
from deepbinaries.features.gathering import gathered
from deepbinaries.features.in_order import in_order
from deepbinaries.features.inputs import Images, Texts
from deepbinaries.files import write_json, write_json_lines
from deepbinaries.hashers.adopted import AdoptedPair
from deepbinaries.hashers.base import Hasher
from deepbinaries.hashers.onnx_towers import OnnxTowers
from deepbinaries.language import Reading, Vocabulary
from deepbinaries.language.tokenizer import Tokenizer, is_tokenizer
from deepbinaries.language.tokens import each_sentence
from deepbinaries.model_folder import (
    BACKBONE,
    CONFIG,
    LOG,
    TUNING,
    VOCABULARY,
    damaged,
    read_folder,
    with_bits,
    write_folder,
)
from deepbinaries.pretrained import place_of
from deepbinaries.progress import track
from deepbinaries.registry import METHODS
from deepbinaries.vision.backbones import FAMILIES
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings
from deepbinaries.vision.reading import as_seen, read_picture

BATCH = 32  # pictures that are encoded together
TEXT_BATCH = 1024
WITHOUT_TORCH = {"towers": OnnxTowers, "adopted": AdoptedPair}  # whatever the method was

Picture = str | Path | bytes | Image.Image  # a path, a file's content, or a picture that is open already
Values = NDArray[np.float32]


class Model:
    """Pictures and sentences in, codes out."""

    def __init__(
        self,
        encoder: RegionEncoder,
        vocabulary: Vocabulary | Tokenizer,
        hasher: Hasher,
        *,
        method: str,
        trained_on: Mapping[str, Any] | None = None,  # dataset and split by name and digest
        exported: Mapping[str, Any] | None = None,  # of a model that holds its own networks: where they come from
    ):
        if vocabulary.settings.length is None:
            raise UsageError(
                "the vocabulary sets no length, so a sentence's code would depend on its neighbours",
                next_step="build it with TokenSettings(length=12), or a larger number",
            )
        self.encoder = encoder
        self.vocabulary = cast("Vocabulary", vocabulary)  # a tokenizer answers to the same calls
        self.hasher = hasher
        self.method = method
        self.trained_on = dict(trained_on or {})
        self.exported = dict(exported or {})

    @property
    def bits(self) -> int:
        return self.hasher.bits

    def __repr__(self) -> str:
        return f"Model({self.method}, {self.bits} bits, {len(self.vocabulary.words):,} words)"

    @overload
    def encode_images(
        self, pictures: Picture | Iterable[Picture], *, values: Literal[False] = False, progress: bool = False
    ) -> Codes: ...

    @overload
    def encode_images(
        self, pictures: Picture | Iterable[Picture], *, values: Literal[True], progress: bool = False
    ) -> Values: ...

    def encode_images(
        self, pictures: Picture | Iterable[Picture], *, values: bool = False, progress: bool = False
    ) -> Codes | Values:
        """The codes of one picture or of many, in their order; with `values` the reals whose signs they are.

        A picture that cannot be read is an error that names it. A file of a large JPEG is decoded to fewer pixels than
        it has; a Pillow picture is taken as it is, so that some bits may differ from those of its file.
        """
        if not isinstance(pictures, Picture | Iterable):
            raise _no_picture(pictures)
        several = [pictures] if isinstance(pictures, Picture) else list(pictures)
        # While one batch is encoded, threads decode the next.
        with closing(in_order(self.read, several, workers=os.cpu_count() or 1, ahead=2 * BATCH)) as read:
            shown = track(read, "encoding pictures", total=len(several), mode="" if progress else "quiet")
            parts = [self.hasher.encode(Images(self.encoder.encode(some))) for some in gathered(shown, BATCH)]
        found = self._together(parts)
        return found if values else Codes.from_values(found)

    @overload
    def encode_texts(
        self, sentences: str | Iterable[str], *, values: Literal[False] = False, progress: bool = False
    ) -> Codes: ...

    @overload
    def encode_texts(
        self, sentences: str | Iterable[str], *, values: Literal[True], progress: bool = False
    ) -> Values: ...

    def encode_texts(
        self, sentences: str | Iterable[str], *, values: bool = False, progress: bool = False
    ) -> Codes | Values:
        """The codes of one sentence or of many; with `values` the reals whose signs they are.

        Sentences without a known word all get the same code, which means nothing: ask `reading` first.
        """
        several = [sentences] if isinstance(sentences, str) else list(each_sentence(sentences))
        starts = range(0, len(several), TEXT_BATCH)
        shown = track(starts, "encoding sentences", mode="" if progress else "quiet")
        batches = (self.vocabulary.encode(several[start : start + TEXT_BATCH]) for start in shown)
        found = self._together([self.hasher.encode(Texts(tokens, len(self.vocabulary))) for tokens in batches])
        return found if values else Codes.from_values(found)

    def reading(self, sentence: str) -> Reading:
        """Which words of a sentence are known, which are not, and which are cut off."""
        return self.vocabulary.reading(sentence)

    def read(self, picture: Picture) -> Image.Image:
        """A picture as this model wants it: upright, in RGB, and not larger than it helps."""
        if isinstance(picture, bytes):
            return read_picture(picture, at_least=self.encoder.at_least)
        if isinstance(picture, str | Path):
            return read_picture(PictureFile(Path(picture)).read(), name=str(picture), at_least=self.encoder.at_least)
        if isinstance(picture, Image.Image):
            try:
                return as_seen(picture)
            except PictureError:
                raise
            except Exception as error:  # Pillow decodes late, and answers damaged files with almost any kind
                raise PictureError(f"a picture is damaged ({error})", next_step="copy it again") from error
        raise _no_picture(picture)

    def _together(self, parts: Sequence[Values]) -> Values:
        """The values of all batches, every one of them a number."""
        values = np.concatenate([np.empty((0, self.bits), dtype=np.float32), *parts])
        if len(bad := np.flatnonzero(~np.isfinite(values).all(axis=1))):
            raise DataError(
                f"the values of item {bad[0]} are not finite: the model's networks have diverged or are damaged",
                next_step="copy the model again, or train it with a lower learning rate",
            )
        return values

    def save_pretrained(
        self,
        folder: str | Path,
        *,
        history: Iterable[Mapping[str, Any]] | None = None,
        tuning: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the model as a folder, whole or not at all; only a model that is there already is replaced.

        `history` is what each epoch of its training had to say, `tuning` how its settings were chosen: both are then
        kept beside it, the former without its seconds, so that the same training writes the same files.
        """
        settings = self.encoder.settings
        if settings.backbone.startswith("onnx:"):
            settings = replace(settings, backbone=self.encoder.fingerprint["backbone"])  # the file, not its folder
        facts: dict[str, Any] = {
            "method": self.method,
            "bits": self.bits,
            "words": len(self.vocabulary.words),
            "vision": asdict(settings),
            "weights": asdict(self.encoder.card),
            "proposer_sha256": self.encoder.fingerprint["proposer_digest"],
            "tokens": asdict(self.vocabulary.settings),
            "trained_on": self.trained_on,
        }
        if self.exported:
            facts["exported"] = self.exported

        def write_files(new: Path) -> None:
            self._write_files(new)
            if history is not None:
                timeless = ({name: said for name, said in epoch.items() if name != "seconds"} for epoch in history)
                write_json_lines(timeless, new / LOG)
            if tuning is not None:
                write_json(tuning, new / TUNING, indent=1)

        write_folder(Path(folder), facts, write_files)

    def _write_files(self, folder: Path) -> None:
        self.hasher.save(folder)
        self.vocabulary.save(folder / VOCABULARY)
        if self.exported:
            backbone: Any = self.encoder.backbone
            backbone.save(folder / BACKBONE)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path,
        *,
        bits: int | None = None,
        device: str = "auto",
        backbone_weights: str | Path | None = None,
        proposer_path: str | Path | None = None,
        trust_code: bool = False,
    ) -> Self:
        """The model in a folder, or of a name that comes with the package; every file is proven by its digest.

        `bits` chooses among the lengths of a code that a model was trained for: 64 gives the first 64 of its bits.
        `backbone_weights` and `proposer_path` are files that the model was trained with and does not hold. A folder
        that names code of its own (`my.module:Name`) is opened only with `trust_code`.
        """
        folder = place_of(folder)
        config = with_bits(read_folder(folder), bits)
        try:
            method, stated = str(config["method"]), dict(config["weights"])
            settings, trained_on = VisionSettings(**config["vision"]), dict(config["trained_on"])
            exported = dict(config.get("exported", {}))
            if not isinstance(settings.backbone, str) or not isinstance(settings.proposer, str):
                raise TypeError("a name is no text")
        except (KeyError, TypeError, ValueError, UsageError) as error:
            raise damaged(folder / CONFIG, f"it describes no model: {error}") from error
        if not stated.get("preprocessing"):
            raise damaged(folder / CONFIG, "it does not say how the pixels are prepared")
        if not trust_code:
            _refuse_foreign_code(folder, method, settings)
        # First of all, since it says which extra is missing.
        method_class: Any = WITHOUT_TORCH.get(str(exported.get("hasher"))) or METHODS.load(method)
        if settings.backbone.startswith("onnx:") and backbone_weights is not None:
            settings, backbone_weights = replace(settings, backbone=f"onnx:{backbone_weights}"), None
        elif exported and settings.backbone == f"onnx:{BACKBONE}" and BACKBONE in config["files"]:
            settings = replace(settings, backbone=f"onnx:{folder / BACKBONE}")
        encoder = make_encoder(settings, device=device, backbone_weights=backbone_weights, proposer_path=proposer_path)
        _same_eyes(encoder, stated, str(config.get("proposer_sha256", "")))
        hasher = method_class.load(folder, device=device)
        if bits is not None and isinstance(hasher, OnnxTowers):
            hasher = hasher.first(bits)
        if hasher.bits != config["bits"]:
            raise damaged(folder / CONFIG, f"it speaks of {config['bits']} bits, the hasher has {hasher.bits}")
        words = folder / VOCABULARY
        vocabulary = Tokenizer.load(words) if is_tokenizer(words) else Vocabulary.load(words)
        return cls(encoder, vocabulary, hasher, method=method, trained_on=trained_on, exported=exported)


def make_encoder(settings: VisionSettings, *, device: str = "auto", **files: Any) -> RegionEncoder:
    """The encoder of pictures on a device; `auto` is a GPU when torch sees one. `files` as for `RegionEncoder`."""
    if device == "auto" and settings.backbone.startswith("onnx:"):
        device = "cpu"  # onnxruntime needs another package for a GPU
    elif device == "auto":
        from deepbinaries.hashers.training import choose_device

        device = str(choose_device())
    return RegionEncoder(settings, device=device, **files)


def source_of(prepared: Prepared, *, read: str) -> dict[str, Any]:
    """What a model records of the data it learnt from: names and digests, no path; `read` as for `prepare`."""
    parts = prepared.parts
    return {
        "dataset": prepared.dataset.name,
        "digest": digest(prepared.dataset),
        "split": {"protocol": parts.split.protocol, **parts.split.digests()},
        "ignored_labels": list(parts.ignored),
        "read": read,
    }


def _no_picture(given: object) -> UsageError:
    return UsageError(f"{type(given).__name__} is no picture", next_step="give a path, bytes or a PIL picture")


def _refuse_foreign_code(folder: Path, method: str, settings: VisionSettings) -> None:
    backbone = "" if settings.backbone.partition(":")[0] in FAMILIES else settings.backbone
    for name in (method, backbone, settings.proposer):
        if ":" in name:
            raise UsageError(
                f"the model in {folder} asks for {name}, which is code that does not come with deepbinaries",
                next_step="load it with trust_code=True if you know that code",
            )


def _same_eyes(encoder: RegionEncoder, stated: Mapping[str, Any], proposer_sha256: str) -> None:
    """Refuse to look at pictures otherwise than in training: their codes would mean nothing."""
    if encoder.card.sha256 != stated.get("sha256"):
        raise DataError(
            f"the backbone's weights have the SHA-256 {encoder.card.sha256[:12]}..., the model was trained with "
            f"{str(stated.get('sha256'))[:12]}... ({stated.get('source')})",
            next_step="give the file of those as the backbone's weights",
        )
    if encoder.card.preprocessing != stated["preprocessing"]:
        raise DataError(
            f"the backbone prepares pixels by {encoder.card.preprocessing!r}, in training it was "
            f"{stated['preprocessing']!r}",
            next_step="use the release of deepbinaries that the model was trained with, or train again",
        )
    if encoder.fingerprint["proposer_digest"] != proposer_sha256:
        raise DataError(
            f"the proposer's file has another digest than in training ({proposer_sha256[:12]}...)",
            next_step="give the file that the model was trained with",
        )
