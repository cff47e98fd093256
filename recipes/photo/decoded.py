"""Does it matter to how few pixels a large JPEG is decoded? How many bits of its code stay those of a full decode.

    python -m recipes.photo.decoded --iapr REPOSITORY --data DATA --out results/photo/decoded.json

REPOSITORY is the clone that `pictures` reads. Photographs of iapr22's validation part are enlarged to twelve megapixels
and get grain, as a sensor leaves it: of 480 pixels, they have no finer detail to lose. So they are put together in
mosaics too, which have more detail than any photograph.
"""

import argparse
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from deepbinaries.files import read_json, write_json
from deepbinaries.model import Model
from deepbinaries.search import LazyModel
from deepbinaries.vision import read_picture
from recipes.photo.pictures import stored_pictures

SIZE = 4000, 3000
SINGLE, MOSAICS = 160, 10  # of each kind
GRAIN = 6  # levels
TIMES = (2, 1)  # as many pixels a side as are seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iapr", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    model = Model.from_pretrained("photo")
    side, rng = model.encoder.settings.side, np.random.default_rng(0)
    asked = read_json(options.data / "iapr22" / "split.json")["validation"][:SINGLE]
    photographs = [read_picture(content) for content in stored_pictures(options.iapr, asked)]
    found = []
    for pieces in (1, 4, 16, 64):
        files = list(large(photographs, pieces, rng))
        wanted = bits_of(model, files, None)
        equal = {times: round(float((bits_of(model, files, times * side) == wanted).mean()), 4) for times in TIMES}
        found.append({"pictures": len(files), "photographs_in_each": pieces, "equal_bits_by_times_the_side": equal})
        print(found[-1])
    if options.out:
        about = {"model": LazyModel("photo").fingerprint, "side": side, "size": SIZE}
        write_json(about | {"found": found}, options.out, indent=1)


def large(photographs: list[Image.Image], pieces: int, rng: np.random.Generator) -> Iterator[bytes]:
    """JPEG files of so many photographs each."""
    across = round(pieces**0.5)
    width, height = (length // across for length in SIZE)
    for number in range(SINGLE if pieces == 1 else MOSAICS):
        whole = Image.new("RGB", (width * across, height * across))
        for place in range(pieces):
            chosen = photographs[number if pieces == 1 else rng.integers(len(photographs))]
            tile = chosen.resize((width, height), Image.Resampling.LANCZOS)
            whole.paste(tile, (place % across * width, place // across * height))
        if pieces == 1:
            grain = rng.normal(0, GRAIN, whole.size[::-1])[..., None]
            whole = Image.fromarray((np.asarray(whole) + grain).clip(0, 255).astype(np.uint8))
        file = io.BytesIO()
        whole.save(file, "JPEG", quality=90)
        yield file.getvalue()


def bits_of(model: Model, files: list[bytes], at_least: int | None) -> np.ndarray:
    """Which bits are ones, (n, 128), decoded to at least so many pixels a side."""
    decoded = (read_picture(file, at_least=at_least) for file in files)
    return np.concatenate([model.encode_images(picture, values=True) for picture in decoded]) >= 0


if __name__ == "__main__":
    main()
