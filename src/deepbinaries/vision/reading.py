"""The one door through which pictures enter. Every file is taken for hostile until it is decoded."""

import io
import warnings

from PIL import Image, ImageOps, UnidentifiedImageError

from deepbinaries.errors import PictureError

MAX_BYTES = 256 * 2**20  # the largest file that is decoded
MAX_PIXELS = 200_000_000  # twice the largest camera sensor on sale
FORMATS = ("JPEG", "PNG", "WEBP", "AVIF", "GIF", "BMP", "TIFF")


def read_picture(file: bytes, *, name: str = "the picture") -> Image.Image:
    """The picture as people see it: first frame, turned by its EXIF orientation, on white, in RGB.

    >>> read_picture(b"not a picture", name="a.jpg")
    Traceback (most recent call last):
        ...
    deepbinaries.errors.PictureError: a.jpg is no picture this program can read; ...
    """
    if not file:
        raise PictureError(f"{name} is empty", next_step="copy it again from its source")
    if len(file) > MAX_BYTES:
        raise PictureError(
            f"{name} has {len(file):,} bytes, more than {MAX_BYTES:,}", next_step="save it in a smaller size"
        )
    try:
        with warnings.catch_warnings():
            # Our own limit, below, is the one that counts; Pillow only warns at a smaller size.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(file), formats=FORMATS) as picture:
                width, height = picture.size
                if width * height > MAX_PIXELS:
                    raise PictureError(
                        f"{name} has {width} x {height} pixels, more than {MAX_PIXELS:,} in all",
                        next_step="save it in a smaller size",
                    )
                return _in_rgb(ImageOps.exif_transpose(picture))
    except PictureError:
        raise
    except UnidentifiedImageError:
        raise PictureError(
            f"{name} is no picture this program can read",
            next_step="save it as JPEG, PNG, WebP or AVIF",
        ) from None
    except Image.DecompressionBombError:
        raise PictureError(f"{name} has too many pixels", next_step="save it in a smaller size") from None
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, TypeError, OverflowError, MemoryError) as error:
        # Pillow's decoders answer damaged files with many kinds of exceptions.
        raise PictureError(f"{name} is damaged ({error})", next_step="copy it again from its source") from error


def _in_rgb(picture: Image.Image) -> Image.Image:
    """The picture in RGB; what is transparent becomes white, as on a page."""
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        page = Image.new("RGBA", picture.size, "white")
        return Image.alpha_composite(page, picture).convert("RGB")
    return picture.convert("RGB")
