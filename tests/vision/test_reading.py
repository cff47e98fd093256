import contextlib
import io
import struct
import sys
import tracemalloc
import warnings
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from PIL import Image

from deepbinaries.errors import PictureError, UsageError
from deepbinaries.vision import read_picture, reading


def file_of(picture: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format=form, **options)
    return buffer.getvalue()


def png_of(width: int, height: int, depth: int, colour: int, rows: bytes, clear: bytes = b"") -> bytes:
    """A PNG written by hand, whose header may promise more than its rows hold."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    transparent = chunk(b"tRNS", clear) if clear else b""
    return b"\x89PNG\r\n\x1a\n" + header + transparent + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


SOUND = {
    form: file_of(Image.linear_gradient("L").resize((48, 32)).convert("RGB"), form)
    for form in ("JPEG", "PNG", "WEBP", "AVIF", "GIF", "BMP", "TIFF")
}


@pytest.fixture
def picture():
    picture = Image.new("RGB", (32, 24), "navy")
    picture.paste("orange", (0, 0, 16, 12))
    return picture


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "AVIF", "GIF", "BMP", "TIFF"])
def test_every_promised_format_is_read_as_rgb(picture, form):
    read = read_picture(file_of(picture, form))
    assert (read.size, read.mode) == ((32, 24), "RGB")
    red, green, blue = read.getpixel((4, 4))
    assert red > 200 > green > blue


@pytest.mark.parametrize("orientation", range(1, 9))
def test_all_eight_exif_orientations_give_the_same_view(picture, orientation):
    turned_back = {
        1: None,
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }[orientation]
    stored = picture if turned_back is None else picture.transpose(turned_back)
    exif = Image.Exif()
    exif[0x0112] = orientation
    assert read_picture(file_of(stored, "PNG", exif=exif)).tobytes() == picture.tobytes()


def test_what_is_transparent_becomes_white():
    glass = Image.new("RGBA", (2, 2), (255, 0, 0, 0))
    assert read_picture(file_of(glass, "PNG")).getpixel((0, 0)) == (255, 255, 255)


def test_an_empty_file_is_refused_by_name():
    with pytest.raises(PictureError, match="holiday.jpg is empty"):
        read_picture(b"", name="holiday.jpg")


def test_text_named_like_a_picture_is_refused():
    with pytest.raises(PictureError, match="no picture"):
        read_picture(b"Dear diary", name="holiday.jpg")


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "AVIF", "GIF", "BMP", "TIFF"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_cut_short_is_our_error_and_nothing_else(form, share):
    noisy = Image.effect_noise((64, 64), 90).convert("RGB")
    file = file_of(noisy, form)
    with pytest.raises(PictureError):
        read_picture(file[: int(len(file) * share)])


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded(picture, monkeypatch):
    monkeypatch.setattr(reading, "MAX_PIXELS", 32 * 24 - 1)
    with pytest.raises(PictureError, match="32 x 24 pixels"):
        read_picture(file_of(picture, "PNG"))


def test_a_file_of_too_many_bytes_is_refused(picture, monkeypatch):
    monkeypatch.setattr(reading, "MAX_BYTES", 10)
    with pytest.raises(PictureError, match="more than 10"):
        read_picture(file_of(picture, "PNG"))


def test_formats_that_run_programs_are_not_opened():
    postscript = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n"
    with pytest.raises(PictureError, match="no picture"):
        read_picture(postscript)


def test_a_picture_of_300_megapixels_is_refused_at_once_and_without_memory():
    file = png_of(20_000, 15_000, depth=8, colour=2, rows=b"")
    tracemalloc.start()
    with pytest.raises(PictureError, match="20000 x 15000 pixels, more than 200,000,000"):
        read_picture(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize("form", ["JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_the_limit_holds_for_every_format(picture, monkeypatch, form):
    monkeypatch.setattr(reading, "MAX_PIXELS", 32 * 24 - 1)
    with pytest.raises(PictureError, match="32 x 24 pixels"):
        read_picture(file_of(picture, form))


def test_the_lower_limit_of_the_library_below_is_not_ours(picture, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    assert read_picture(file_of(picture, "PNG")).size == (32, 24)


@pytest.mark.parametrize(
    ("size", "at_least", "read_as"),
    [
        ((800, 600), 100, (200, 150)),  # an eighth would have 75
        ((800, 600), 75, (100, 75)),
        ((800, 600), 301, (800, 600)),
        ((801, 601), 300, (401, 301)),
        ((80, 60), 1000, (80, 60)),
    ],
)
def test_a_draft_of_a_jpeg_keeps_at_least_the_pixels_asked_for(size, at_least, read_as):
    assert read_picture(file_of(Image.new("RGB", size), "JPEG"), at_least=at_least).size == read_as


def test_a_draft_is_turned_too():
    exif = Image.Exif()
    exif[0x0112] = 6
    file = file_of(Image.new("RGB", (800, 600)), "JPEG", exif=exif)
    assert read_picture(file, at_least=100).size == (150, 200)


def test_a_draft_looks_like_the_picture():
    photo = Image.linear_gradient("L").resize((800, 600)).convert("RGB")
    draft = read_picture(file_of(photo, "JPEG"), at_least=100)
    assert_allclose(np.asarray(draft, float), np.asarray(photo.resize(draft.size, Image.Resampling.BOX), float), atol=4)


@pytest.mark.parametrize("form", ["PNG", "WEBP", "AVIF", "GIF", "BMP", "TIFF"])
def test_other_formats_come_in_full(form):
    assert read_picture(file_of(Image.new("RGB", (800, 600)), form), at_least=10).size == (800, 600)


@pytest.mark.parametrize("at_least", [0, -5])
def test_a_draft_of_no_pixels_is_refused(picture, at_least):
    with pytest.raises(UsageError, match="at_least"):
        read_picture(file_of(picture, "JPEG"), at_least=at_least)


def greys(file: bytes) -> list[int]:
    """The first row of a grey picture."""
    values = np.asarray(read_picture(file))
    assert (values[..., 0] == values[..., 1]).all()
    return values[0, :, 0].tolist()


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_16_bits_keep_their_upper_half(form):
    deep = np.array([[0, 255, 256, 0x7FFF, 0x8000, 0xFFFF]], dtype=np.uint16)
    assert greys(file_of(Image.fromarray(deep), form)) == [0, 0, 1, 127, 128, 255]


def test_16_bits_of_the_other_byte_order_mean_the_same():
    other = Image.frombytes("I;16B", (3, 1), np.array([0, 0x8000, 0xFFFF], dtype=">u2").tobytes())
    assert greys(file_of(other, "TIFF")) == [0, 128, 255]


def test_16_bits_of_colour_keep_their_upper_half():
    file = png_of(2, 1, depth=16, colour=2, rows=b"\0" + bytes.fromhex("80ff00000000 ffff00ff0100"))
    assert np.asarray(read_picture(file)).tolist() == [[[128, 0, 0], [255, 0, 1]]]


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_a_tall_picture_is_laid_on_white_from_top_to_bottom(mode):
    pixels = np.random.default_rng(0).integers(0, 256, (2 * reading.ROWS + 7, 5, 4), dtype=np.uint8)
    tall = Image.fromarray(pixels, "RGBA")
    tall = tall.quantize(256) if mode == "P" else tall.convert(mode)
    white = Image.new("RGBA", tall.size, "white")
    wanted = Image.alpha_composite(white, tall.convert("RGBA")).convert("RGB")
    assert reading.as_seen(tall).tobytes() == wanted.tobytes()


def test_16_bits_of_which_one_value_is_transparent_have_white_there():
    file = png_of(3, 1, depth=16, colour=0, rows=b"\0" + bytes.fromhex("0000 4000 4001"), clear=b"\x40\x00")
    assert greys(file) == [0, 255, 64]


@pytest.mark.parametrize(
    ("values", "read_as"),
    [
        (np.array([[0, 100, 255]], np.int32), [0, 100, 255]),
        (np.array([[-7, 32768, 65535]], np.int32), [0, 128, 255]),
        (np.array([[0, 500_000, 1_000_000]], np.int32), [0, 128, 255]),
        (np.array([[0, 0, 0]], np.int32), [0, 0, 0]),
        (np.array([[0, 0.5, 1]], np.float32), [0, 128, 255]),
        (np.array([[0, 100.2, 200]], np.float32), [0, 100, 200]),
        (np.array([[0, 5e5, 1e6]], np.float32), [0, 128, 255]),
        (np.array([[-1, np.nan, 1]], np.float32), [0, 0, 255]),
        (np.array([[0.2, np.inf, 1]], np.float32), [51, 0, 255]),
    ],
)
def test_integers_and_reals_are_scaled_by_the_range_they_use(values, read_as):
    assert greys(file_of(Image.fromarray(values), "TIFF")) == read_as


@pytest.mark.parametrize("form", ["JPEG", "TIFF"])
@pytest.mark.parametrize(
    ("ink", "colour"), [((255, 0, 0, 0), (0, 255, 255)), ((0, 0, 0, 255), (0, 0, 0)), ((0, 0, 0, 0), (255, 255, 255))]
)
def test_printing_inks_become_the_colours_they_print(form, ink, colour):
    read = read_picture(file_of(Image.new("CMYK", (16, 16), ink), form))
    assert_allclose(read.getpixel((8, 8)), colour, atol=3)


def test_a_palette_becomes_its_colours():
    few = Image.new("P", (2, 1))
    few.putpalette([10, 20, 30, 200, 100, 50])
    few.putpixel((1, 0), 1)
    assert np.asarray(read_picture(file_of(few, "PNG"))).tolist() == [[[10, 20, 30], [200, 100, 50]]]


@pytest.mark.parametrize("form", ["PNG", "GIF"])
def test_a_palette_with_a_clear_colour_is_white_there(form):
    few = Image.new("P", (2, 1))
    few.putpalette([10, 20, 30, 200, 100, 50])
    few.putpixel((1, 0), 1)
    assert read_picture(file_of(few, form, transparency=1)).getpixel((1, 0)) == (255, 255, 255)


def test_half_transparent_grey_is_mixed_with_white():
    assert read_picture(file_of(Image.new("LA", (1, 1), (0, 128)), "PNG")).getpixel((0, 0)) == (127, 127, 127)


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG", "AVIF", "TIFF"])
def test_of_an_animation_the_first_frame_is_read(form):
    frames = [Image.new("RGB", (16, 16), colour) for colour in ("red", "blue")]
    file = file_of(frames[0], form, save_all=True, append_images=frames[1:])
    assert read_picture(file).getpixel((8, 8))[0] > 240


def test_a_damaged_note_of_the_camera_does_not_cost_the_picture(picture):
    file = file_of(picture, "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff\x01\x12")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow mentions it
        assert read_picture(file).size == (32, 24)


HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100)


def test_a_heic_picture_without_the_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(PictureError, match=r"holiday.heic is a HEIC picture.*install deepbinaries\[heif\]"):
        read_picture(HEIC, name="holiday.heic")


def test_a_heic_picture_is_opened_by_its_package_whatever_its_name_and_never_drafted(monkeypatch, picture):
    def stand_in(file):
        assert file.read() == HEIC
        return Image.open(io.BytesIO(file_of(picture, "PNG")))

    monkeypatch.setitem(sys.modules, "pillow_heif", SimpleNamespace(HeifImageFile=stand_in))
    assert read_picture(HEIC, name="holiday.jpg", at_least=4).tobytes() == picture.tobytes()


def test_a_heic_picture_of_too_many_pixels_is_refused(monkeypatch):
    huge = SimpleNamespace(HeifImageFile=lambda _: Image.open(io.BytesIO(png_of(9_000, 9_000, 8, 2, b""))))
    monkeypatch.setitem(sys.modules, "pillow_heif", huge)
    monkeypatch.setattr(reading, "MAX_PIXELS", 80_000_000)
    with pytest.raises(PictureError, match="9000 x 9000 pixels"):
        read_picture(HEIC)


@pytest.mark.parametrize(
    ("named", "heic"),
    [
        (b"heic\0\0\0\0mif1miaf", True),
        (b"mif1\0\0\0\0mif1heic", True),
        (b"mif1\0\0\0\0miafmif1", True),
        (b"mif1\0\0\0\0miafavif", False),
        (b"avif\0\0\0\0mif1miaf", False),
        (b"isom\0\0\0\0mp41avc1", False),
    ],
)
def test_heic_and_avif_are_told_apart_by_the_kinds_they_name(named, heic):
    assert reading.is_heic(b"\0\0\0\x18ftyp" + named) == heic


@given(st.sampled_from(["JPEG", "PNG", "WEBP", "AVIF", "GIF", "BMP", "TIFF"]), st.data())
@settings(max_examples=150, deadline=None)
def test_a_file_with_changed_bytes_is_read_or_refused_and_nothing_else(form, data):
    file = bytearray(SOUND[form])
    for place in data.draw(st.lists(st.integers(0, len(file) - 1), min_size=1, max_size=6)):
        file[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(PictureError):
        assert read_picture(bytes(file), at_least=16).mode == "RGB"
