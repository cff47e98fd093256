"""A page of pictures with their sentences and labels, to look at a dataset by eye."""

import textwrap
import unicodedata
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont, ImageOps

from deepbinaries.datasets.base import Dataset
from deepbinaries.errors import PictureError
from deepbinaries.vision import read_picture

TILE = 224  # pixels a picture gets, each way
TEXT = 62  # pixels below it for sentence and labels
GAP = 10
FONT_SIZE = 12
CHARACTERS_A_LINE = 38


def contact_sheet(dataset: Dataset, rows: Sequence[int], *, columns: int = 6) -> Image.Image:
    """The pictures of some rows in a grid, each with its first sentence and its labels; a broken one says why."""
    lines = -(-len(rows) // columns)
    sheet = Image.new("RGB", (columns * (TILE + GAP) + GAP, lines * (TILE + TEXT + GAP) + GAP), "white")
    pen = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(FONT_SIZE)
    for place, row in enumerate(rows):
        x = GAP + place % columns * (TILE + GAP)
        y = GAP + place // columns * (TILE + TEXT + GAP)
        try:
            picture = ImageOps.contain(read_picture(dataset.picture(row)), (TILE, TILE))
            sheet.paste(picture, (x + (TILE - picture.width) // 2, y + (TILE - picture.height) // 2))
        except PictureError as error:
            pen.rectangle((x, y, x + TILE - 1, y + TILE - 1), outline="firebrick")
            pen.multiline_text((x + 8, y + 8), _folded(str(error), 8), fill="firebrick", font=font)
        sentence = next(iter(dataset.sentences(row)), dataset.ids[row])
        pen.multiline_text((x, y + TILE + 3), _folded(sentence, 3), fill="black", font=font, spacing=1)
        pen.text((x, y + TILE + 47), _folded(", ".join(dataset.labels.of(row)), 1), fill="steelblue", font=font)
    return sheet


def _folded(text: str, lines: int) -> str:
    # The built-in font knows few accents: a plain letter reads better than an empty box.
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return "\n".join(textwrap.wrap(text, CHARACTERS_A_LINE, max_lines=lines, placeholder=" ..."))
