"""A pair of encoders that a user owns, such as CLIP's, becomes a model: a head is fitted on their vectors."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from deepbinaries.errors import DataError, UsageError
from deepbinaries.files import read_bytes, read_json
from deepbinaries.hashers.adopted import METHOD, AdoptedPair, AdoptedSettings, TextEncoder, paired_head, shared_head
from deepbinaries.language.tokenizer import PieceSettings, Tokenizer
from deepbinaries.model import Model, Picture
from deepbinaries.model_folder import BACKBONE, check_free
from deepbinaries.onnx_files import MAX_BYTES
from deepbinaries.progress import track
from deepbinaries.vision.backbones.onnx_encoder import Preparation, write_encoder
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings

CLIP = Preparation(
    side=224,
    layout="NCHW",
    mean=(0.48145466, 0.4578275, 0.40821073),
    std=(0.26862954, 0.26130258, 0.27577711),
    licence="as stated by whoever made the file",
)
BATCH = 32
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
) -> Model:
    """Write a model of two ONNX encoders and a tokenizer.json, its head fitted on `pictures`, and give it back.

    Row i of `captions` belongs to picture i; without captions both encoders must have learnt one space.
    """
    check_free(Path(folder))
    if captions and len(captions) != len(pictures):
        raise UsageError(f"{len(captions)} captions do not go with {len(pictures)} pictures", next_step="give one each")
    words = Tokenizer(_content(Path(tokenizer)), PieceSettings(length))
    encoder_of_texts = TextEncoder(read_bytes(Path(text), limit=MAX_BYTES), Path(text), pad_id=words.pad_id)
    with TemporaryDirectory() as place:
        path = Path(place) / BACKBONE
        write_encoder(read_bytes(Path(image), limit=MAX_BYTES), preparation, path)
        vision = VisionSettings(backbone=f"onnx:{path}", mode="crop", keep=0)
        encoder = RegionEncoder(vision)
        settings = AdoptedSettings(bits=bits, pad_id=words.pad_id, text_sha256=encoder_of_texts.sha256)
        model = Model(
            encoder,
            words,
            AdoptedPair(settings, encoder_of_texts, {}),
            method=METHOD,
            exported={"hasher": METHOD, "image": Path(image).name, "text": Path(text).name, "pictures": len(pictures)},
        )
        seen = _seen(model, pictures)
        if captions:
            arrays = paired_head(seen, encoder_of_texts.vectors(words.encode(captions)), bits, seed)
        else:
            prompts = words.encode(_prompts(words))
            arrays = shared_head(seen, encoder_of_texts.vectors(prompts, seen.shape[1]), bits, seed)
        model.hasher = AdoptedPair(settings, encoder_of_texts, arrays)
        model.exported["head"] = "fitted on captions" if captions else "fitted on pictures alone"
        model.save_pretrained(folder)
    return Model.from_pretrained(folder)


def _seen(model: Model, pictures: Sequence[Picture]) -> np.ndarray:
    """The vectors of the pictures, (n, d); one that comes several times in a row, a caption each, is looked at once."""
    changes = [place for place in range(len(pictures)) if not place or pictures[place] is not pictures[place - 1]]
    found = [
        model.encoder.encode([model.read(pictures[place]) for place in changes[start : start + BATCH]])[:, -1, :-4]
        for start in track(range(0, len(changes), BATCH), "looking at pictures")
    ]
    if not found:
        raise DataError("there is no picture to fit the head on", next_step="give some hundred")
    times = np.diff([*changes, len(pictures)])
    return np.concatenate(found).astype(np.float32).repeat(times, axis=0)


def _prompts(words: Tokenizer) -> list[str]:
    """Sentences about all kinds of things; the same for the same tokenizer."""
    drawn = np.random.default_rng(0).choice(words.words, PROMPTS) if words.words else [""]
    return [f"a photo of a {word}" for word in drawn]


def _content(path: Path) -> dict[str, object]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise DataError(f"{path} is no tokenizer", next_step="give the tokenizer.json of the text encoder")
    return content
