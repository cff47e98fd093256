"""A trained model without torch: its networks as ONNX files, proven to give the same codes before anything is kept."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbinaries.datasets import load
from deepbinaries.errors import Error, UsageError
from deepbinaries.hashers.base import Hasher
from deepbinaries.hashers.onnx_towers import OnnxTowers
from deepbinaries.language import Vocabulary
from deepbinaries.model import Model, Picture
from deepbinaries.model_folder import BACKBONE, check_free
from deepbinaries.onnx_tracing import check_precision
from deepbinaries.registry import METHODS
from deepbinaries.vision.backbones import Backbone
from deepbinaries.vision.backbones.onnx_encoder import OnnxEncoder, Preparation, write_encoder
from deepbinaries.vision.encoder import RegionEncoder

# The least share of equal bits, on pictures and on sentences. Full precision still rounds otherwise than torch does,
# and values near zero then change their sign.
BOUNDS = {"fp32": 0.998, "fp16": 0.99, "int8": 0.98}
DRAWN = 32  # pictures, where none are given
SENTENCES = 256


def export(
    model: Model,
    folder: str | Path,
    *,
    pictures: Sequence[Picture] = (),
    precision: str = "fp32",
    proposer_path: str | Path | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Write a model that needs no torch, and give back how far it agrees with the one it was made of.

    Both encode the `pictures`, or drawn ones where there are none, and sentences of known words; the answer says which.
    Less agreement than `BOUNDS` asks for is an error unless `force`; nothing is written then.
    """
    check_precision(precision)
    check_free(Path(folder))
    if model.exported:
        raise UsageError(
            "this model is exported already and needs no torch", next_step="use it as it is, or export the trained one"
        )
    with TemporaryDirectory() as place:
        made = without_torch(model, Path(place), precision=precision, proposer_path=proposer_path)
        agreement = measure(model, made, pictures or drawn_pictures())
        agreement["pictures"]["drawn"] = not pictures
        lowest = min(side["equal_bits"] for side in agreement.values())
        if lowest < BOUNDS[precision] and not force:
            raise Error(
                f"in {precision} only {lowest:.2%} of the bits are those of torch, not {BOUNDS[precision]:.1%}",
                next_step="check it on your own pictures, export in a higher precision, or force it",
            )
        made.exported = {
            "hasher": "towers" if isinstance(made.hasher, OnnxTowers) else model.method,
            "precision": precision,
            "backbone": asdict(model.encoder.card),
            "agreement": agreement,
            "bound": BOUNDS[precision],
        }
        made.save_pretrained(folder)
    return agreement


def without_torch(
    model: Model, place: Path, *, precision: str = "fp32", proposer_path: str | Path | None = None
) -> Model:
    """The same model on ONNX files; that of its backbone is written to `place`."""
    settings = model.encoder.settings
    if settings.proposer == "faster-rcnn":
        raise UsageError(
            "the proposer faster-rcnn needs torch itself", next_step="train with the proposer grid or yolox"
        )
    _write_backbone(model.encoder.backbone, place / BACKBONE, mode=settings.mode, precision=precision)
    settings = replace(settings, backbone=f"onnx:{place / BACKBONE}")
    encoder = RegionEncoder(settings, proposer_path=proposer_path)
    hasher = _without_torch(model, precision)
    return Model(encoder, model.vocabulary, hasher, method=model.method, trained_on=model.trained_on)


def measure(model: Model, other: Model, pictures: Sequence[Picture]) -> dict[str, dict[str, Any]]:
    """How far two models agree on pictures, and on sentences of known words."""
    sentences = drawn_sentences(model.vocabulary)
    return {
        "pictures": agreement(model.encode_images(pictures, values=True), other.encode_images(pictures, values=True)),
        "sentences": agreement(model.encode_texts(sentences, values=True), other.encode_texts(sentences, values=True)),
    }


def agreement(values: NDArray[np.floating], others: NDArray[np.floating]) -> dict[str, Any]:
    """The share of equal bits, and how far the values behind them differ.

    >>> agreement(np.array([[1.0, -2.0]]), np.array([[1.5, 0.0]]))
    {'items': 1, 'equal_bits': 0.5, 'largest_difference': 2.0, 'mean_size': 1.5}
    """
    return {
        "items": len(values),
        "equal_bits": float(((values >= 0) == (others >= 0)).mean()),
        "largest_difference": float(np.abs(values - others).max()),
        "mean_size": float(np.abs(values).mean()),
    }


def drawn_pictures() -> list[bytes]:
    """Generated pictures for whoever names no own ones; the same every time."""
    scenes = load("scenes", items=DRAWN)
    return [scenes.picture(row) for row in range(DRAWN)]


def drawn_sentences(vocabulary: Vocabulary) -> list[str]:
    """Sentences of known words, one to as many as are read; the same for the same vocabulary."""
    rng = np.random.default_rng(0)
    longest = vocabulary.settings.length or 1
    return [" ".join(rng.choice(vocabulary.words, rng.integers(1, longest + 1))) for _ in range(SENTENCES)]


def _without_torch(model: Model, precision: str) -> Hasher:
    """The hasher as it is where it never needed torch, else its networks."""
    entry = METHODS.entries.get(model.method)
    if entry is not None and not entry.extra:
        return model.hasher
    from deepbinaries.hashers.deep import DeepHasher
    from deepbinaries.hashers.tower_tracing import trace_towers

    if not isinstance(model.hasher, DeepHasher):
        raise UsageError(
            f"the method {model.method} has no two networks to export", next_step="use it where it was trained"
        )
    return trace_towers(
        model.hasher,
        regions=model.encoder.settings.keep + 1,
        length=model.vocabulary.settings.length or 1,
        n_words=len(model.vocabulary),
        precision=precision,
    )


def _write_backbone(backbone: Backbone, path: Path, *, mode: str, precision: str) -> None:
    """The backbone as an ONNX file of maps, or of vectors where it has none."""
    if isinstance(backbone, OnnxEncoder):  # as its owner made it
        backbone.save(path)
        return
    if not hasattr(backbone, "to_onnx"):
        raise UsageError(
            f"the backbone {backbone.name} is no torch network", next_step="export it yourself as onnx:PATH"
        )
    with_maps = bool(backbone.stride)
    # Dynamic quantisation makes convolutions slower and wrong; half precision costs them nothing.
    content = backbone.to_onnx(
        maps=with_maps, side=backbone.crop_side, precision="fp32" if precision == "fp32" else "fp16"
    )
    card = backbone.card
    write_encoder(content, Preparation(backbone.crop_side, "NHWC", None, None, card.licence, card.sha256), path)
    if with_maps and mode == "crop":
        _check_vectors(backbone, OnnxEncoder(path))


def _check_vectors(backbone: Backbone, exported: OnnxEncoder) -> None:
    """Refuse a backbone whose vectors are something else than the means of its maps, which are all that is exported."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (1, backbone.crop_side, backbone.crop_side, 3), dtype=np.uint8)
    wanted, found = backbone.vectors(pixels), exported.vectors(pixels)
    if not np.allclose(wanted, found, atol=1e-2 * float(np.abs(wanted).max())):
        raise UsageError(
            f"the vectors of {backbone.name} are no means of its maps", next_step="train with --vision mode=roi"
        )
