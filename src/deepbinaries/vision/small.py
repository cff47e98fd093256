"""What is made of a decoded picture before it is let go: its thumbnail, its look, and the square that a network sees.

Codes say what a picture shows: two dogs may share one. Whether two pictures are nearly the same photograph is asked of
their pixels: a bit for each pair of neighbouring fields of a 9 x 8 grid, saying which of both is brighter.

Nothing here needs numpy, so that a process which does no more than this starts quickly.
"""

import io
from itertools import pairwise

import PIL.WebPImagePlugin  # noqa: F401 - Pillow by itself would load its modules of every format to save this one
from PIL import Image

THUMBNAIL = 320  # pixels of the longer side
QUALITY = 75
GRID = (9, 8)


def thumbnail(picture: Image.Image) -> bytes:
    """A small copy of an RGB picture, as a WebP file."""
    scale = min(1, THUMBNAIL / max(picture.size))
    width, height = (max(1, round(side * scale)) for side in picture.size)
    small = picture if scale == 1 else picture.resize((width, height), Image.Resampling.BILINEAR, reducing_gap=1.5)
    file = io.BytesIO()
    small.save(file, "WEBP", quality=QUALITY, method=0)  # others take up to four times as long for a fifth of the bytes
    return file.getvalue()


def look(picture: Image.Image) -> bytes:
    """Eight bytes that hardly change when a picture is saved in another size or quality.

    >>> flat = Image.new("RGB", (90, 80), "red")
    >>> look(flat) == look(flat.resize((45, 40)))
    True
    """
    width, height = GRID
    grey = picture.convert("L").resize(GRID, Image.Resampling.BOX).tobytes()
    rows = (grey[start : start + width] for start in range(0, width * height, width))
    bits = "".join("01"[right > left] for row in rows for left, right in pairwise(row))
    return int(bits, 2).to_bytes(8)


def square(picture: Image.Image, side: int) -> Image.Image:
    """A picture stretched to a square, whatever its shape was."""
    return picture.resize((side, side), Image.Resampling.BICUBIC)
