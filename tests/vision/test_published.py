"""Weights from a real server on this machine; the only addresses that are ever asked are replaced by its own."""

import contextlib
import hashlib
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from deepbinaries.errors import DataError, Error, UsageError
from deepbinaries.vision.backbones import published
from deepbinaries.vision.backbones.published import PUBLISHED, download, kept_at

CONTENT = bytes(range(256)) * 9000  # more than two chunks


class Handler(BaseHTTPRequestHandler):
    asked = 0
    answer = CONTENT

    def do_GET(self):
        type(self).asked += 1
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # whoever asked has heard enough
            self.wfile.write(self.answer)

    def log_message(self, *args):
        """Quiet."""


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server that offers a small file as AlexNet's weights."""

    class Own(Handler):
        pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Own) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        small = replace(
            PUBLISHED["alexnet"],
            url=f"http://127.0.0.1:{running.server_port}/alexnet.pth",
            sha256=hashlib.sha256(CONTENT).hexdigest(),
            n_bytes=len(CONTENT),
        )
        monkeypatch.setitem(PUBLISHED, "alexnet", small)
        monkeypatch.setenv("DEEPBINARIES_CACHE", str(tmp_path / "cache"))
        yield Own
        running.shutdown()


def test_what_is_fetched_is_kept_and_not_fetched_again(server):
    assert download("alexnet")
    assert kept_at("alexnet").read_bytes() == CONTENT
    assert not download("alexnet")
    assert server.asked == 1


@pytest.mark.parametrize("answer", [CONTENT[:-1], CONTENT + b"x", b"x" + CONTENT[1:], b""])
def test_another_file_than_the_published_one_is_refused_and_nothing_is_kept(server, answer):
    server.answer = answer
    with pytest.raises(DataError, match="gave another file than the published one; try again; nothing was kept"):
        download("alexnet")
    assert not list(kept_at("alexnet").parent.iterdir())


def test_an_endless_answer_is_not_read_to_its_end(server, monkeypatch):
    monkeypatch.setattr(published, "CHUNK", 1000)
    server.answer = CONTENT * 20
    with pytest.raises(DataError, match="another file"):
        download("alexnet")


@pytest.mark.usefixtures("server")
def test_a_server_that_does_not_answer_is_one_clear_line(monkeypatch):
    monkeypatch.setitem(PUBLISHED, "alexnet", replace(PUBLISHED["alexnet"], url="http://127.0.0.1:1/alexnet.pth"))
    with pytest.raises(
        Error, match=r"alexnet.pth cannot be read \(.*refused.*\); try again later, or fetch it elsewhere"
    ):
        download("alexnet")


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match="no published set of weights is called 'alexnett'; did you mean 'alexnet'"):
        download("alexnett")
