"""The one door through which pictures enter. Every file is taken for hostile until it is decoded."""

import contextlib
import importlib
import importlib.util
import io
import struct

from PIL import ExifTags, Image, ImageFile

from deepbinaries.errors import PictureError, PictureMemoryError, UsageError

MAX_BYTES = 256 * 2**20  # the largest file that is decoded
MAX_PIXELS = 200_000_000  # the largest camera sensors on sale
ROWS = 256  # of a transparent picture that are laid on white at a time: all at once are the picture four times over
FORMATS = {  # and the modules of Pillow that read them
    "JPEG": "PIL.JpegImagePlugin",
    "PNG": "PIL.PngImagePlugin",
    "WEBP": "PIL.WebPImagePlugin",
    "AVIF": "PIL.AvifImagePlugin",
    "GIF": "PIL.GifImagePlugin",
    "BMP": "PIL.BmpImagePlugin",
    "TIFF": "PIL.TiffImagePlugin",
}

AVIF_BRANDS = frozenset((b"avif", b"avis"))
HEIC_BRANDS = frozenset((b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"hevm", b"hevs", b"mif1", b"msf1"))

TURNS = {  # what brings a picture of each EXIF orientation upright
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def read_picture(file: bytes, *, name: str = "the picture", at_least: int | None = None) -> Image.Image:
    """The picture as people see it: first frame, turned by its EXIF orientation, on white, in RGB, 8 bits a channel.

    With `at_least`, a JPEG may come in a half, a quarter or an eighth of its size, which is several times
    faster, as long as both its sides keep that many pixels. Other formats always come in full.

    >>> read_picture(b"not a picture", name="a.jpg")
    Traceback (most recent call last):
        ...
    deepbinaries.errors.PictureError: a.jpg is no picture this program can read; ...
    """
    if at_least is not None and at_least < 1:
        raise UsageError(f"at_least={at_least} is not a number of pixels", next_step="give 1 or more, or leave it out")
    if not file:
        raise PictureError(f"{name} is empty", next_step="copy it again from its source")
    if len(file) > MAX_BYTES:
        raise PictureError(
            f"{name} has {len(file):,} bytes, more than {MAX_BYTES:,}", next_step="save it in a smaller size"
        )
    try:
        with _opened(file, name) as picture:
            width, height = picture.size
            if width * height > MAX_PIXELS:
                raise PictureError(
                    f"{name} has {width} x {height} pixels, more than {MAX_PIXELS:,} in all",
                    next_step="save it in a smaller size",
                )
            if at_least is not None and picture.format in ("JPEG", "MPO"):  # elsewhere a draft is another picture
                picture.draft(None, (at_least, at_least))
            return as_seen(picture)
    except PictureError:
        raise
    except MemoryError as error:
        raise PictureMemoryError(
            f"{name} takes more memory to decode than there is for it", next_step="save it in a smaller size"
        ) from error
    except Exception as error:  # decoders answer damaged files with almost any kind
        reason = " ".join(str(error).split())
        raise PictureError(f"{name} is damaged ({reason})", next_step="copy it again from its source") from error


def as_seen(picture: Image.Image) -> Image.Image:
    """An open picture as people see it: turned by its EXIF orientation, on white, in RGB, 8 bits a channel.

    >>> as_seen(Image.new("L", (2, 1))).mode
    'RGB'
    """
    if 0 in picture.size:
        raise PictureError("a picture of {} x {} pixels shows nothing".format(*picture.size), next_step="give another")
    rgb = _in_rgb(picture)
    seen = _upright(rgb, _orientation(picture))  # asked last: Pillow turns TIFF by itself while decoding
    seen.info = {}  # what is upright now must not be turned again
    return seen


def brands(file: bytes) -> frozenset[bytes]:
    """The kinds of picture that the opening box of an AVIF or HEIC file names; none for other files.

    >>> sorted(brands(b"\\0\\0\\0\\x18ftypmif1\\0\\0\\0\\0miafheic"))
    [b'heic', b'miaf', b'mif1']
    """
    if file[4:8] != b"ftyp":
        return frozenset()
    box = file[: min(int.from_bytes(file[:4]), 256)]
    return frozenset(box[start : start + 4] for start in (8, *range(16, len(box), 4)))


def is_heic(file: bytes) -> bool:
    """Whether a file calls itself HEIC; AVIF files may name the family of both, and are none."""
    named = brands(file)
    return bool(named & HEIC_BRANDS) and not named & AVIF_BRANDS


def _opened(file: bytes, name: str) -> ImageFile.ImageFile:
    """The picture with its header read and no pixel decoded.

    `Image.open` would do the same, but it also applies a limit of its own, which is lower than the photographs
    of some telephones need and can only be changed, or silenced, for all threads at once.
    """
    if is_heic(file):
        return _opened_heic(file, name)
    for form, module in FORMATS.items():
        importlib.import_module(module)  # when it is first needed: Pillow itself would load those of every format
        opens, accepts = Image.OPEN[form]
        if accepts is None or accepts(file[:16]) is True:
            with contextlib.suppress(SyntaxError, IndexError, TypeError, struct.error):  # as `Image.open` passes on
                return opens(io.BytesIO(file), "")
    raise PictureError(f"{name} is no picture this program can read", next_step="save it as JPEG, PNG, WebP or AVIF")


def reads_heic() -> bool:
    """Whether HEIC pictures can be read here. What failed for want of `[heif]` is tried again once this has changed."""
    return importlib.util.find_spec("pillow_heif") is not None


def _opened_heic(file: bytes, name: str) -> ImageFile.ImageFile:
    try:
        pillow_heif = importlib.import_module("pillow_heif")
    except ImportError:
        raise PictureError(
            f"{name} is a HEIC picture, which needs the package pillow-heif",
            next_step="install deepbinaries[heif], or save the picture as JPEG",
        ) from None
    opened: ImageFile.ImageFile = pillow_heif.HeifImageFile(io.BytesIO(file))
    return opened


def _orientation(picture: Image.Image) -> int:
    """The EXIF orientation of a picture that is loaded; 1, upright, where nothing legible is said of it."""
    try:
        return int(picture.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # a damaged note does not make the pixels worse
        return 1


def _upright(picture: Image.Image, orientation: int) -> Image.Image:
    return picture.transpose(TURNS[orientation]) if orientation in TURNS else picture


def _in_rgb(picture: Image.Image) -> Image.Image:
    """The picture in RGB; what is transparent becomes white, as on a page."""
    if picture.mode == "F" or picture.mode.startswith("I"):
        return _in_eight_bits(picture).convert("RGB")
    if picture.has_transparency_data:
        page = Image.new("RGB", picture.size)
        for top in range(0, picture.height, ROWS):
            rows = picture.crop((0, top, picture.width, min(top + ROWS, picture.height))).convert("RGBA")
            page.paste(Image.alpha_composite(Image.new("RGBA", rows.size, "white"), rows), (0, top))
        return page
    return picture.convert("RGB")


def _in_eight_bits(picture: Image.Image) -> Image.Image:
    """A grey picture of deeper values in 8 bits; Pillow by itself would make everything above 255 white.

    16 bits keep their upper half, as those of colour pictures do. What integers of 32 bits and real numbers mean
    is said nowhere in a file: white is the first of 1 (for reals), 255 and 65,535 that is not exceeded, or else
    the largest value; what is negative or no number is black.
    """
    import numpy as np

    values = np.asarray(picture)
    if values.dtype.itemsize == 2:
        grey = (values >> 8).astype(np.uint8)
    else:
        reals = np.nan_to_num(values.astype(np.float32), copy=False, nan=0, posinf=0, neginf=0)
        scales = (1, 255, 65_535) if picture.mode == "F" else (255, 65_535)
        white = next((scale for scale in scales if reals.max() <= scale), reals.max())
        grey = np.rint(np.clip(reals / white, 0, 1) * 255).astype(np.uint8)
    clear = picture.info.get("transparency")
    if isinstance(clear, int):
        grey[values == clear] = 255
    return Image.fromarray(grey)
