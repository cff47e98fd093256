"""Which files a walk finds, what it reads of them, and how looks are compared."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import ExifTags, Image

from deepbinaries.errors import DataError
from deepbinaries.search import looks as looking
from deepbinaries.search.looks import ALIKE, fold
from deepbinaries.search.walking import walk
from deepbinaries.vision import read_picture
from deepbinaries.vision.originals import date_taken, full_size, local_time
from deepbinaries.vision.small import look


def touch(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


def test_pictures_are_found_whatever_their_suffix_is_written_like(tmp_path):
    touch(tmp_path, "b.JPG", "a/z.png", "a/c/y.heic", "notes.doc", "film.mov")
    assert [seen.path for seen in walk(tmp_path).pictures] == ["b.JPG", "a/z.png", "a/c/y.heic"]


def test_hidden_folders_and_those_of_other_programs_are_passed_over(tmp_path):
    touch(tmp_path, ".deepbinaries/a.jpg", ".trash/a.jpg", "@eaDir/a.jpg", "#recycle/a.jpg", "x/.hidden.jpg", "x/a.jpg")
    assert [seen.path for seen in walk(tmp_path).pictures] == ["x/a.jpg"]


def test_an_index_inside_the_folder_is_passed_over(tmp_path):
    touch(tmp_path, "index/a.jpg", "a.jpg")
    assert [seen.path for seen in walk(tmp_path, apart=[tmp_path / "index"]).pictures] == ["a.jpg"]


def test_a_raw_photograph_is_told_unless_its_jpeg_is_there(tmp_path):
    touch(tmp_path, "a.NEF", "a.JPG", "b.nef", "c/b.jpg", "c/d.dng", ".hidden/e.nef")
    found = walk(tmp_path, excludes=["d.*"])
    assert [seen.path for seen in found.pictures] == ["a.JPG", "c/b.jpg"]
    assert list(found.refused) == ["b.nef"]


def test_loops_of_links_are_not_followed_and_nothing_is_found_twice(tmp_path):
    touch(tmp_path, "a/b.jpg")
    (tmp_path / "a/up").symlink_to(tmp_path)
    (tmp_path / "a/same.jpg").symlink_to("b.jpg")
    (tmp_path / "itself").symlink_to("itself")
    found = walk(tmp_path)
    assert [seen.path for seen in found.pictures] == ["a/b.jpg"]
    assert found.refused == {}


@pytest.mark.parametrize("pattern", ["raw", "raw/", "2019/raw", "2019/raw/*", "R*"])
def test_a_pattern_excludes_by_name_or_by_path(tmp_path, pattern):
    touch(tmp_path, "2019/raw/a.jpg", "2019/b.jpg")
    assert [seen.path for seen in walk(tmp_path, excludes=[pattern]).pictures] == ["2019/b.jpg"]


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match="gone"):
        walk(tmp_path / "gone")


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "AVIF"])
def test_the_date_a_picture_was_taken_is_read_from_every_format(form):
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "drawn"
    exif.get_ifd(0x8769)[0x9003] = "2020:05:31 23:59:59"
    file = io.BytesIO()
    Image.new("RGB", (16, 16)).save(file, form, exif=exif)
    assert date_taken(file.getvalue()) == "2020-05-31T23:59:59"


def test_the_note_of_a_jpeg_is_looked_for_before_its_pixels_alone():
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9003] = "2020:05:31 23:59:59"
    note, file = exif.tobytes(), io.BytesIO()
    Image.new("RGB", (16, 16)).save(file, "JPEG")
    plain = file.getvalue()
    of_60_kb = b"\xff\xe2\xea\x62" + bytes(60_000)  # as of colours: other notes stand in front
    segment = b"\xff\xff\xe1" + (len(note) + 2).to_bytes(2) + note  # with a byte that fills
    assert date_taken(plain[:2] + 2 * of_60_kb + segment + plain[2:]) == "2020-05-31T23:59:59"
    assert date_taken(plain + note) is None


@given(st.binary(max_size=200))
def test_a_hostile_note_tells_no_date_and_does_no_harm(rubbish):
    for begin in (b"II*\0\x08\0\0\0", b"\xff\xd8\xff\xe1Exif\0\0MM\0*\0\0\0\x08"):
        assert date_taken(begin + rubbish) is None


@given(st.integers(-(2**80), 2**80))
def test_any_moment_is_a_date(nanoseconds):
    assert len(local_time(nanoseconds)) == 19


@pytest.mark.parametrize("at_once", [1, 3, 256])
@given(looks=st.lists(st.binary(min_size=8, max_size=8), max_size=20), most=st.integers(0, 64))
def test_folding_is_like_comparing_with_every_earlier_head(at_once, looks, most):
    expected = []
    for place, one in enumerate(looks):
        heads = [head for head in range(place) if expected[head] == head]
        differ = [(int.from_bytes(looks[head]) ^ int.from_bytes(one)).bit_count() for head in heads]
        expected.append(next((head for head, bits in zip(heads, differ, strict=True) if bits <= most), place))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(looking, "_AT_ONCE", at_once)
        assert fold(looks, most=most) == expected


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("size", [(1600, 1200), (1200, 1600), (1000, 1000), (1023, 1025)])
def test_the_size_of_a_large_photograph_is_that_of_its_file_as_it_is_seen(size, orientation):
    exif, file = Image.Exif(), io.BytesIO()
    exif[ExifTags.Base.Orientation] = orientation
    Image.new("RGB", size).save(file, "JPEG", exif=exif)
    decoded = read_picture(file.getvalue(), at_least=100)
    assert decoded.width < 300
    assert full_size(file.getvalue(), decoded.size) == (size if orientation < 5 else size[::-1])


@pytest.mark.parametrize("content", [b"", b"\xff\xd8", b"\xff\xd8\xff\xc0\0\x0b", b"GIF89a"])
def test_a_file_that_tells_no_size_has_that_of_its_pixels(content):
    assert full_size(content, (3, 2)) == (3, 2)


def test_a_look_survives_another_size_and_quality():
    pixels = np.kron(np.random.default_rng(3).integers(0, 256, (8, 9, 3)), np.ones((20, 20, 1))).astype(np.uint8)
    picture, file = Image.fromarray(pixels), io.BytesIO()
    picture.resize((90, 80)).save(file, "JPEG", quality=60)
    one, other = look(picture), look(Image.open(file).convert("RGB"))
    assert (int.from_bytes(one) ^ int.from_bytes(other)).bit_count() <= ALIKE
    mirrored = look(picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT))
    assert (int.from_bytes(one) ^ int.from_bytes(mirrored)).bit_count() > ALIKE
