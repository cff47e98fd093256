"""Pictures as the datasets hold them, and how one is known again in another size or format."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from deepbinaries.datasets.base import PictureFile
from deepbinaries.vision import read_picture

SPEED = 8  # of the AVIF encoder
COLUMNS, ROWS = 8, 4


@dataclass(frozen=True)
class Shrunk:
    """A picture file as AVIF, its longest side no longer than `side` pixels."""

    path: Path
    side: int
    quality: int

    def read(self) -> bytes:
        picture = as_stored(self.path)
        picture.thumbnail((self.side, self.side), Image.Resampling.LANCZOS)
        file = BytesIO()
        picture.save(file, format="AVIF", quality=self.quality, speed=SPEED)
        return file.getvalue()


def as_stored(path: Path) -> Image.Image:
    """The picture as its pixels lie in the file, with its colour profile, whatever its EXIF orientation says.

    The datasets were made so. `read_picture`, which would turn it, only refuses what is damaged or too large.
    """
    file = PictureFile(path).read()
    read_picture(file, name=str(path))
    with Image.open(BytesIO(file)) as picture:
        return picture.convert("RGB")


def look(picture: Image.Image) -> int:
    """32 bits that say where a picture grows lighter from left to right; few of them change with size and format.

    >>> dark_to_light = Image.linear_gradient("L").rotate(90)
    >>> look(dark_to_light) == 2**32 - 1, look(dark_to_light.rotate(180))
    (True, 0)
    """
    greys = np.asarray(picture.convert("L").resize((COLUMNS + 1, ROWS), Image.Resampling.BOX))
    lighter = greys[:, 1:] > greys[:, :-1]
    return int.from_bytes(np.packbits(lighter).tobytes())
