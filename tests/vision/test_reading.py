import io

import pytest
from PIL import Image

from deepbinaries.errors import PictureError
from deepbinaries.vision import read_picture, reading


def file_of(picture: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format=form, **options)
    return buffer.getvalue()


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
