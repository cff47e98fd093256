"""Pictures drawn with numbers alone, so that they are the same to the last byte everywhere."""

import io

import numpy as np
from PIL import Image


def disc(side: int = 224) -> np.ndarray:
    """An orange disc on a field that grows greener to the right and bluer downwards, (side, side, 3)."""
    y, x = np.mgrid[:side, :side] * 224 // side
    inside = (x - 130) ** 2 + (y - 90) ** 2 < 60**2
    field = np.stack([np.full_like(x, 40), x, y], axis=2)
    return np.where(inside[..., None], (250, 140, 20), field).astype(np.uint8)


def stripes(side: int = 224) -> np.ndarray:
    """White and dark stripes, eight pixels wide, (side, side, 3)."""
    column = (np.arange(side) // 8 % 2 * 225 + 15).astype(np.uint8)
    return np.broadcast_to(column[None, :, None], (side, side, 3)).copy()


def endless() -> bytes:
    """A small JPEG that is decoded for several seconds, since its last scan comes ten thousand times."""
    file = io.BytesIO()
    Image.new("L", (2000, 2000), 128).save(file, "JPEG", progressive=True)
    content = file.getvalue()
    last = content.rindex(b"\xff\xda")
    return content[:last] + 10_000 * content[last:-2] + content[-2:]


def picture(pixels: np.ndarray) -> Image.Image:
    return Image.fromarray(pixels)
