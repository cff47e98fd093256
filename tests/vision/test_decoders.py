"""Processes that decode: the same pictures and reasons as without them, whatever dies on the way."""

import io
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from drawn import disc, endless
from PIL import Image

from deepbinaries.errors import Error, PictureError, UsageError
from deepbinaries.vision import decoder_worker, processes, read_picture
from deepbinaries.vision.decoder_messages import read_answer, write_request
from deepbinaries.vision.decoders import Decoders

# Run by every Python that finds it, before anything else: decoders that die or hang on certain files.
DEADLY = """
import os, pathlib, signal, time
from deepbinaries.vision import reading

def read_picture(file, *, name, at_least=None, read=reading.read_picture):
    if file == b"deadly":
        os.kill(os.getpid(), signal.SIGSEGV)
    if file == b"endless":
        time.sleep(600)
    if file == b"deadly once" and not (mark := pathlib.Path(__file__).with_name("mark")).exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return read(file, name=name, at_least=at_least)

reading.read_picture = read_picture
"""

ABANDONED = """
import os, signal
from deepbinaries.vision.decoders import Decoders
Decoders(1).read([("a", b"")])
os.kill(os.getpid(), signal.SIGKILL)
"""


def saved(form: str, side: int = 224, **how) -> bytes:
    file = io.BytesIO()
    Image.fromarray(disc(side)).save(file, form, **how)
    return file.getvalue()


@pytest.fixture(scope="module")
def one():
    """One process for all tests that leave it alive."""
    with Decoders(1) as one:
        yield one


@pytest.fixture
def started(monkeypatch):
    """The processes that a test starts."""
    started = []

    def start(*what, original=processes._started):
        started.append(original(*what))
        return started[-1]

    monkeypatch.setattr(processes, "_started", start)
    return started


@pytest.fixture
def deadly(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(DEADLY)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "AVIF"])
def test_pixels_are_those_of_read_picture(one, form):
    (pixels,) = one.read([("disc", saved(form))])
    assert pixels.dtype == np.uint8
    assert np.array_equal(pixels, read_picture(saved(form)))


def test_a_jpeg_comes_in_the_size_that_is_needed(one):
    (pixels,) = one.read([("disc", saved("JPEG"))], at_least=30)
    assert np.array_equal(pixels, read_picture(saved("JPEG"), at_least=30))
    assert pixels.shape == (56, 56, 3)


@pytest.mark.parametrize("file", [b"", b"no picture", saved("PNG")[:200]])
@pytest.mark.parametrize("name", ["a.png", "Grüße.png", "\udce9.png"])
def test_reasons_are_those_of_read_picture(one, file, name):
    with pytest.raises(PictureError) as refused:
        read_picture(file, name=name)
    assert one.read([(name, file)]) == [str(refused.value)]


def test_answers_come_in_the_order_of_the_files(one):
    answers = one.read([("a", saved("PNG", 20)), ("b", b""), ("c", saved("PNG", 30))])
    assert [answer if isinstance(answer, str) else answer.shape for answer in answers] == [
        (20, 20, 3),
        "b is empty; copy it again from its source",
        (30, 30, 3),
    ]


def test_nothing_is_answered_by_nothing(one):
    assert one.read([]) == []


def test_pictures_can_be_written_to(one):
    (pixels,) = one.read([("disc", saved("PNG"))])
    assert pixels.flags.writeable


def test_threads_that_share_processes_get_their_own_answers():
    files = [saved("PNG", side) for side in range(8, 24)]
    with Decoders(2) as two, ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda file: two.read([("disc", file)])[0].shape[0], files))
    assert found == list(range(8, 24))


def test_large_pictures_are_sent_before_others_are_decoded(monkeypatch):
    monkeypatch.setattr(decoder_worker, "ENOUGH", 20 * 20)
    requests, answers = io.BytesIO(), io.BytesIO()
    write_request(requests, [("disc", saved("PNG", side)) for side in (20, 10, 10, 15, 30, 5)], None)
    requests.seek(0)
    monkeypatch.setattr(decoder_worker, "grant", lambda _: None)  # the limit would be that of this process
    with pytest.raises(EOFError):  # no other request
        decoder_worker.serve(requests, answers, 1)
    answers.seek(0)
    parts = [read_answer(answers) for _ in range(3)]
    assert [[len(pixels) for pixels in part] for part in parts] == [[20, 10], [10, 15, 30], [5]]


@pytest.mark.usefixtures("deadly")
def test_a_picture_that_kills_its_decoder_is_reported_and_the_others_are_read(started):
    good = saved("PNG", 20)
    with Decoders(1) as one:
        answers = one.read([("a", good), ("b", b"deadly"), ("c", good), ("d", b"deadly"), ("e", good)])
    assert [answer for answer in answers if isinstance(answer, str)] == [
        "b cannot be read: its decoder crashed; save the picture anew, or remove it",
        "d cannot be read: its decoder crashed; save the picture anew, or remove it",
    ]
    assert [len(answers[place]) for place in (0, 2, 4)] == [20, 20, 20]
    assert len(started) == 4  # all together; a and b; c and d; e


@pytest.mark.usefixtures("deadly")
def test_a_picture_is_not_blamed_for_a_process_that_dies_once():
    with Decoders(1) as one:
        assert one.read([("a", b"deadly once")]) == [
            "a is no picture this program can read; save it as JPEG, PNG, WebP or AVIF"
        ]


def test_a_picture_that_keeps_the_processor_busy_is_given_up_and_the_others_are_read(started):
    good = saved("PNG", 20)
    with Decoders(1, seconds=1) as one:
        first, slow, last = one.read([("a", good), ("b", endless()), ("c", good)])
        assert slow == "b takes too long to decode; save the picture anew, or remove it"
        assert [len(first), len(last)] == [20, 20]
    assert len(started) == 3  # all together; a and b; c


def test_the_seconds_are_those_of_a_picture_and_not_of_a_process(started):
    lasting = endless()[: len(endless()) // 25] + endless()[-2:]  # half a second
    with Decoders(1, seconds=2) as one:
        assert [len(one.read([("a", lasting)])[0]) for _ in range(8)] == [2000] * 8
    assert len(started) == 1


@pytest.mark.usefixtures("deadly")
def test_closing_ends_a_decoder_that_would_never_end(started):
    with ThreadPoolExecutor(1) as threads:
        with Decoders(1) as one:
            one.read([("a", b"")])
            waiting = threads.submit(one.read, [("b", b"endless")])
        assert isinstance(waiting.exception(timeout=20), UsageError | ValueError)
    assert [process.returncode for process in started] == [-9]


def test_no_process_and_no_pipe_is_left_when_they_are_closed(started):
    with Decoders(2) as two, ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: two.read([("a", saved("PNG"))]), range(6)))
    assert started
    for process in started:
        assert process.returncode is not None
        assert process.stdin.closed
        assert process.stdout.closed


def test_decoders_that_are_closed_start_no_process(started):
    one = Decoders(1)
    one.close()
    with pytest.raises(UsageError, match="these decoders are closed"):
        one.read([("a", b"")])
    assert started == []


@pytest.mark.parametrize(("executable", "why"), [(shutil.which("false"), "ended with 1"), ("/none", "No such file")])
def test_a_process_that_does_not_start_is_one_clear_line(monkeypatch, executable, why):
    monkeypatch.setattr(sys, "executable", executable)
    with Decoders(1) as one, pytest.raises(Error, match=rf"does not start \(.*{why}.*\); give workers=1"):
        one.read([("a", b"")])


def test_a_process_ends_when_the_one_it_serves_is_killed():
    # Both hold the pipe of standard error: this returns when the last of them is gone.
    killed = subprocess.run([sys.executable, "-c", ABANDONED], capture_output=True, timeout=60)
    assert (killed.returncode, killed.stderr) == (-9, b"")


def test_a_file_of_the_current_folder_is_not_taken_for_a_module(tmp_path, monkeypatch):
    (tmp_path / "PIL.py").write_text("raise SystemExit('this is a trap')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(tmp_path))])
    with Decoders(1) as one:
        assert len(one.read([("disc", saved("PNG"))])[0]) == 224


def test_a_process_that_decodes_imports_no_torch():
    code = "import sys, deepbinaries.vision.decoder_worker; print('torch' in sys.modules, 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False True\n"
