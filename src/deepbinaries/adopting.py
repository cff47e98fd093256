"""A pair of encoders that a user owns, such as CLIP's, becomes a model: a head is fitted on their vectors."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from string import ascii_lowercase
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.errors import DataError, PictureError, UsageError
from deepbinaries.features.gathering import gathered
from deepbinaries.features.in_order import in_order
from deepbinaries.files import read_bytes, read_json
from deepbinaries.hashers.adopted import METHOD, AdoptedPair, AdoptedSettings, TextEncoder, paired_head, shared_head
from deepbinaries.language.tokenizer import PieceSettings, Tokenizer
from deepbinaries.model import Model, Picture
from deepbinaries.model_folder import BACKBONE, check_free
from deepbinaries.onnx_files import MAX_BYTES
from deepbinaries.progress import track
from deepbinaries.vision.backbones.onnx_encoder import OnnxEncoder, Preparation
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings

CLIP = Preparation(
    side=224,
    layout="NCHW",
    mean=(0.48145466, 0.4578275, 0.40821073),
    std=(0.26862954, 0.26130258, 0.27577711),
    licence="as stated by whoever made the file",
)
BATCH = 32  # pictures
PROMPTS = 256  # sentences whose mean stands for that of all, where there are no captions


def adopt(
    image: str | Path,
    text: str | Path,
    tokenizer: str | Path,
    folder: str | Path,
    *,
    pictures: Sequence[Picture],
    captions: Sequence[str] = (),
    bits: int = 64,
    length: int = 77,
    preparation: Preparation = CLIP,
    seed: int = 0,
    left_out: Callable[[PictureError], None] | None = None,
) -> Model:
    """Write a model of two ONNX encoders and a tokenizer.json, its head fitted on `pictures`, and give it back.

    Row i of `captions` belongs to picture i; without captions both encoders must have learnt one space. A picture that
    cannot be read is an error that names it; with `left_out`, which is told of it, the others are enough.
    """
    check_free(Path(folder))
    if captions and len(captions) != len(pictures):
        raise UsageError(f"{len(captions)} captions do not go with {len(pictures)} pictures", next_step="give one each")
    words = _tokenizer(Path(tokenizer), length)
    encoder_of_texts = TextEncoder(read_bytes(Path(text), limit=MAX_BYTES), Path(text), pad_id=words.pad_id)
    with TemporaryDirectory() as place:
        path = Path(place) / BACKBONE
        # Opened where it lies, so that what is wrong with it is said of that file; the copy is called as in a model.
        OnnxEncoder(Path(image), preparation=preparation).save(path)
        encoder = RegionEncoder(VisionSettings(backbone=f"onnx:{path}", mode="crop", keep=0))
        settings = AdoptedSettings(bits=bits, pad_id=words.pad_id, text_sha256=encoder_of_texts.sha256)
        model = Model(
            encoder,
            words,
            AdoptedPair(settings, encoder_of_texts, {}),
            method=METHOD,
            exported={"hasher": METHOD, "image": Path(image).name, "text": Path(text).name},
        )
        # The texts first: they are few, and what is wrong with them is then said before many pictures are looked at.
        if captions:
            texts = encoder_of_texts.vectors(words.encode(captions))
            seen, there = _seen(model, pictures, left_out)
            arrays = paired_head(seen, texts[there], bits, seed)
        else:
            texts = encoder_of_texts.vectors(words.encode(_prompts(words)), encoder.width)
            seen, _ = _seen(model, pictures, left_out)
            arrays = shared_head(seen, texts, bits, seed)
        model.hasher = AdoptedPair(settings, encoder_of_texts, arrays)
        model.exported["head"] = "fitted on captions" if captions else "fitted on pictures alone"
        model.exported["pictures"] = len(seen)
        model.save_pretrained(folder)
    return Model.from_pretrained(folder)


def _seen(
    model: Model, pictures: Sequence[Picture], left_out: Callable[[PictureError], None] | None
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The vectors of the pictures that can be read, (n, d), and which of all they are.

    One that comes several times in a row, a caption each, is looked at once. Threads decode ahead.
    """
    changes = [place for place in range(len(pictures)) if not place or pictures[place] is not pictures[place - 1]]
    readable: list[bool] = []

    def read(picture: Picture) -> Image.Image | PictureError:
        try:
            return model.read(picture)
        except PictureError as error:
            if left_out is None:
                raise
            return error

    def sifted(looked_at: Iterable[Image.Image | PictureError]) -> Iterator[Image.Image]:
        for found in looked_at:
            readable.append(not isinstance(found, PictureError))
            if not isinstance(found, PictureError):
                yield found
            elif left_out is not None:
                left_out(found)

    several = [pictures[place] for place in changes]
    with closing(in_order(read, several, workers=os.cpu_count() or 1, ahead=2 * BATCH)) as looked_at:
        shown = track(looked_at, "looking at pictures", total=len(several))
        parts = [model.encoder.encode(some)[:, -1, :-4] for some in gathered(sifted(shown), BATCH)]
    if not parts:
        raise DataError("there is no picture to fit the head on", next_step="give some hundred")
    times = np.diff([*changes, len(pictures)])
    there = np.array(readable)
    return np.concatenate(parts).astype(np.float32).repeat(times[there], axis=0), there.repeat(times)


def _prompts(words: Tokenizer) -> list[str]:
    """Sentences about all kinds of things; the same for the same tokenizer."""
    drawn = np.random.default_rng(0).choice(words.words or tuple(ascii_lowercase), PROMPTS)
    return [f"a photo of a {word}" for word in drawn]


def _tokenizer(path: Path, length: int) -> Tokenizer:
    content = read_json(path)
    if not isinstance(content, dict):
        raise DataError(f"{path} is no tokenizer", next_step="give the tokenizer.json of the text encoder")
    try:
        return Tokenizer(content, PieceSettings(length))
    except DataError as error:
        raise DataError(f"{path}: {error.problem}", next_step=error.next_step) from error
