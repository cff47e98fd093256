"""A decoded picture in either of two forms: Pillow's, or its bare pixels, as they come from another process."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deepbinaries.errors import UsageError

Pixels = NDArray[np.uint8]  # (height, width, 3): red, green, blue
Picture = Image.Image | Pixels


def size_of(picture: Picture) -> tuple[int, int]:
    """Width and height.

    >>> size_of(np.zeros((48, 64, 3), np.uint8)) == size_of(Image.new("RGB", (64, 48)))
    True
    """
    return (picture.shape[1], picture.shape[0]) if isinstance(picture, np.ndarray) else picture.size


def as_image(picture: Picture) -> Image.Image:
    """The picture in Pillow's form."""
    return Image.fromarray(picture) if isinstance(picture, np.ndarray) else picture


def as_pixels(picture: Picture) -> Pixels:
    """The bare pixels of an RGB picture, which may be written to: torch takes no others without a warning."""
    return picture if isinstance(picture, np.ndarray) and picture.flags.writeable else np.array(picture)


def check_rgb(picture: Picture) -> None:
    """Refuse a picture of any other kind than RGB."""
    if not isinstance(picture, np.ndarray):
        kind = picture.mode
    elif picture.dtype == np.uint8 and picture.ndim == 3 and picture.shape[2] == 3:
        kind = "RGB"
    else:
        kind = f"{picture.dtype} {picture.shape}"
    if kind != "RGB":
        raise UsageError(f"a picture is {kind}, not RGB", next_step="open it with read_picture")
