"""Processes that read photographs: the same facts as without them, and nothing decoded in vain, whatever dies."""

import hashlib
import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from drawn import disc, endless
from PIL import ExifTags, Image

from deepbinaries.errors import PictureError
from deepbinaries.vision import read_picture
from deepbinaries.vision.readers import Found, Readers, Wanted
from deepbinaries.vision.small import look, thumbnail
from deepbinaries.vision.stretching import stretched

# Run by every Python that finds it, before anything else: readers that die on certain files.
DEADLY = """
import os, pathlib, signal
from deepbinaries.vision import reading

def read_picture(file, *, name, at_least=None, read=reading.read_picture):
    mark = pathlib.Path(__file__).with_name("mark")
    if file == b"deadly" or (file == b"deadly once" and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGSEGV)
    return read(file, name=name, at_least=at_least)

reading.read_picture = read_picture
"""


def everything(_found):
    return Wanted(None, None)


@pytest.fixture(scope="module")
def one():
    """One process for all tests that leave it alive."""
    with Readers(1) as one:
        yield one


@pytest.fixture
def deadly(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(DEADLY)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.fixture
def photograph(tmp_path):
    """A JPEG of a camera that was held upright."""
    exif = Image.Exif()
    exif[ExifTags.Base.Make], exif[ExifTags.Base.Orientation] = "drawn", 6
    exif.get_ifd(0x8769)[0x9003] = "2024:05:31 18:00:00"
    path = tmp_path / "upright.jpg"
    Image.fromarray(disc(640)[:480]).save(path, exif=exif)
    return path


def test_a_file_is_known_by_its_content(one, photograph):
    found, _ = one.read(photograph, everything)
    status, digest = photograph.stat(), hashlib.sha256(photograph.read_bytes()).hexdigest()
    assert found == Found(status.st_size, status.st_mtime_ns, digest[:32])


def test_what_is_made_of_a_photograph_is_what_this_process_would_make(one, photograph):
    _, made = one.read(photograph, lambda _: Wanted(200, 96))
    picture = read_picture(photograph.read_bytes(), at_least=200)
    assert (made.width, made.height, made.taken) == (480, 640, "2024-05-31T18:00:00")
    assert (made.look, made.small) == (look(picture), thumbnail(picture))
    assert np.array_equal(made.seen, stretched(picture, 96))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "AVIF", "GIF", "BMP", "TIFF"])
def test_a_picture_comes_as_it_is_where_no_square_is_wanted(one, tmp_path, form):
    path = tmp_path / "disc"
    Image.fromarray(disc(224)).save(path, form)
    _, made = one.read(path, everything)
    assert np.array_equal(made.seen, read_picture(path.read_bytes()))


def test_what_is_not_wanted_is_not_decoded(one, tmp_path):
    path = tmp_path / "broken.jpg"
    path.write_bytes(b"no picture")
    asked = []
    assert one.read(path, asked.append) == (asked[0], None)  # decoding it would have given a reason


@pytest.mark.parametrize("content", [b"", b"no picture"])
def test_reasons_are_those_of_read_picture(one, tmp_path, content):
    path = tmp_path / "a.jpg"
    path.write_bytes(content)
    with pytest.raises(PictureError) as refused:
        read_picture(content, name="it")
    found, reason = one.read(path, everything)
    assert (found.size, reason) == (len(content), str(refused.value))


def test_a_file_that_cannot_be_opened_is_a_reason_and_nothing_is_asked(one, tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    for name, reason in {"none.jpg": "it cannot be read (No such file", "pipe.jpg": "it is no regular file"}.items():
        found, why = one.read(tmp_path / name, pytest.fail)
        assert found is None
        assert why.startswith(reason)


@pytest.mark.parametrize("name", ["Grüße.png", "\udce9.png", "a\nb.png"])
def test_a_name_may_be_any_bytes(one, tmp_path, name):
    Image.fromarray(disc(20)).save(tmp_path / "a.png")
    (tmp_path / "a.png").rename(tmp_path / name)
    assert one.read(tmp_path / name, everything)[1].seen.size == (20, 20)


def test_a_path_is_meant_as_it_is_when_it_is_given(one, tmp_path, monkeypatch):
    one.read(tmp_path, everything)  # the process runs
    Image.fromarray(disc(20)).save(tmp_path / "a.png")
    monkeypatch.chdir(tmp_path)
    assert one.read((tmp_path / "a.png").relative_to(tmp_path), everything)[1].width == 20


@pytest.mark.usefixtures("deadly")
def test_a_photograph_that_kills_its_reader_is_reported_and_the_next_is_read(tmp_path):
    (tmp_path / "deadly.jpg").write_bytes(b"deadly")
    Image.fromarray(disc(20)).save(tmp_path / "good.png")
    with Readers(1) as one:
        found, reason = one.read(tmp_path / "deadly.jpg", everything)
        assert found.size == len(b"deadly")
        assert reason == "it cannot be read: its decoder crashed; save the picture anew, or remove it"
        assert one.read(tmp_path / "good.png", everything)[1].width == 20


def test_a_photograph_that_keeps_the_processor_busy_is_given_up_and_the_next_is_read(tmp_path):
    (tmp_path / "slow.jpg").write_bytes(endless())
    Image.fromarray(disc(20)).save(tmp_path / "good.png")
    with Readers(1, seconds=1) as one:
        found, reason = one.read(tmp_path / "slow.jpg", everything)
        assert found.size == len(endless())
        assert reason == "it takes too long to decode; save the picture anew, or remove it"
        assert one.read(tmp_path / "good.png", everything)[1].width == 20


def test_a_photograph_is_not_blamed_for_a_lack_of_memory_and_is_not_taken_for_found(tmp_path):
    Image.new("RGB", (9_000, 9_000)).save(tmp_path / "large.png", compress_level=1)
    Image.fromarray(disc(20)).save(tmp_path / "good.png")
    with Readers(1, memory=400 * 2**20) as one:
        assert one.read(tmp_path / "large.png", everything) == (
            None,
            "it takes more memory to decode than there is for it; save it in a smaller size",
        )
        assert one.read(tmp_path / "good.png", everything)[1].width == 20


@pytest.mark.usefixtures("deadly")
def test_a_photograph_is_not_blamed_for_a_process_that_dies_once(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"deadly once")
    with Readers(1) as one:
        assert one.read(tmp_path / "a.jpg", everything)[1].startswith("it is no picture this program can read")


def test_an_error_of_whoever_asks_leaves_no_answer_behind(tmp_path):
    for side in (20, 30):
        Image.fromarray(disc(side)).save(tmp_path / f"{side}.png")
    with Readers(1) as one:
        with pytest.raises(ZeroDivisionError):
            one.read(tmp_path / "20.png", lambda _: 1 / 0)
        assert one.read(tmp_path / "30.png", everything)[1].width == 30


def test_threads_that_share_processes_get_their_own_answers(tmp_path):
    for side in range(8, 24):
        Image.fromarray(disc(side)).save(tmp_path / f"{side}.png")
    with Readers(2) as two, ThreadPoolExecutor(4) as threads:
        made = threads.map(lambda side: two.read(tmp_path / f"{side}.png", everything)[1], range(8, 24))
        assert [one.width for one in made] == list(range(8, 24))


def test_a_process_that_reads_photographs_starts_without_numpy():
    code = "import sys, deepbinaries.vision.reader_worker; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False\n"


def test_small_copies_are_webp_and_no_longer_than_a_thumbnail():
    small = Image.open(io.BytesIO(thumbnail(Image.fromarray(disc(640)[:480]))))
    assert (small.format, small.size) == ("WEBP", (320, 240))
