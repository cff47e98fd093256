"""Photographs that are served, in this process and in one of their own."""

import os
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "search"))  # the drawn photographs and the plain model

from photo_library import BLUE, GREEN, RED, ReadersInThread, draw
from photo_library import Library as PhotoLibrary
from starlette.testclient import TestClient

from deepbinaries.errors import Error
from deepbinaries.search import index_folder
from deepbinaries.vision import read_picture
from deepbinaries.vision.regions import Regions
from deepbinaries.web.app import make_app
from deepbinaries.web.indexing import Indexing
from deepbinaries.web.photographs import Photographs
from deepbinaries.web.settings import Settings

TOKEN = "a-token-for-tests-only"  # noqa: S105


class QuickDecoders:
    """Stands for decoders with limits: starting a process would take most of a test's time."""

    def __init__(self, n, **limits):
        pass

    def read(self, files, *, at_least=None):
        return [self._read(name, file, at_least) for name, file in files]

    def _read(self, name, file, at_least):
        try:
            return np.asarray(read_picture(file, name=name, at_least=at_least))
        except Error as error:
            return str(error)

    def close(self):
        pass


@contextmanager
def quick_processes():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deepbinaries.search.taking_up.Readers", ReadersInThread)
        patch.setattr("deepbinaries.web.photographs.Decoders", QuickDecoders)
        yield


def two_regions(picture):
    del picture
    boxes = np.array([[0.25, 0.25, 0.75, 0.75], [0, 0, 1, 1]], dtype=np.float32)
    return Regions(boxes, np.array([0.6, 0.5], dtype=np.float32), "plain")


class Library(PhotoLibrary):
    """Photographs that are there already."""

    def __init__(self, root, by):
        self.root, self.by = root, by


def made_library(root):
    """Two red, two green and two blue photographs in three folders, indexed."""
    library = PhotoLibrary(root)
    library.by.model.encoder.regions = two_regions
    for place, (folder, colour) in enumerate({"reds": RED, "greens": GREEN, "blues": BLUE}.items()):
        for number in (1, 2):
            draw(root / folder / f"{number}.png", colour, seed=10 * place + number)
    (root / "reds" / "1.txt").write_text("a red <b>square</b>")
    library.index()
    return library


@pytest.fixture(scope="session")
def still_library(tmp_path_factory):
    """Photographs that no test changes."""
    with quick_processes():
        yield made_library(tmp_path_factory.mktemp("still") / "photographs")


@pytest.fixture
def library(still_library, tmp_path):
    """A copy of the photographs with their index, for tests that change something."""
    copy = shutil.copytree(still_library.root, tmp_path / "photographs")
    with quick_processes():
        yield Library(copy, still_library.by)


@contextmanager
def served(library, *, indexed=False, **settings):
    """A client of a server; one that is `indexed` takes up pictures that are sent."""
    indexing = None
    if indexed:

        def run(report):
            return index_folder(library.root, library.by, workers=1, progress=False, report=report)

        indexing = Indexing(run, every=3600, tell=print)
        indexing.start()
    photographs = Photographs(library.root / ".deepbinaries", model=library.by, indexing=indexing)
    app = make_app(photographs, Settings(**settings))
    with TestClient(app, base_url="http://localhost:8765", raise_server_exceptions=False) as client:
        yield client
    if indexing:
        indexing.stop()


@pytest.fixture
def serve(library):
    """Makes clients of servers with some settings, for one test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(served(library, **settings))


@pytest.fixture(scope="session")
def client(still_library):
    """A client of a server that all tests share."""
    with served(still_library) as client:
        yield client


@pytest.fixture
def with_token():
    return {"Authorization": f"Bearer {TOKEN}"}


class Process:
    """A server in a process of its own."""

    def __init__(self, folder):
        command = [sys.executable, str(Path(__file__).with_name("serving.py")), str(folder), TOKEN]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        assert self.address, self.process.stderr.read()
        self.port = int(self.address.rstrip("/").rpartition(":")[2])
        self.host = f"127.0.0.1:{self.port}"

    def connect(self, timeout=15.0):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def get(self, path):
        """The status and the body of an answer."""
        with self.connect() as connection:
            head = f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode())
            return split(everything(connection))

    def memory(self):
        """Bytes that the process has in memory."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def connections(self):
        """How many sockets the process has open."""
        names = []
        for path in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile
                names.append(str(path.readlink()))
        return sum(name.startswith("socket:") for name in names)

    def end(self):
        self.process.terminate()
        return self.process.communicate(timeout=30)


def everything(connection):
    """All that a connection still gives, until it is closed by the other side, in whatever way."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def split(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, body


@pytest.fixture(scope="session")
def process(still_library, tmp_path_factory):
    """A server that the hostile tests share: after each of them it must still be well."""
    copy = shutil.copytree(still_library.root, tmp_path_factory.mktemp("process") / "photographs")
    started = Process(copy)
    yield started
    started.end()
