"""What a server changes: nothing of it is lost, nobody's own photographs are, and searching goes on meanwhile."""

import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from photo_library import BLUE, RED, draw
from plain_model import PlainFolder
from starlette.testclient import TestClient

from conftest import TOKEN
from deepbinaries.codes import Codes
from deepbinaries.errors import Error
from deepbinaries.index import durable, embedded, open_index
from deepbinaries.search import index_folder
from deepbinaries.vision.originals import content_id
from deepbinaries.web import photographs as photographs_module
from deepbinaries.web.app import make_app
from deepbinaries.web.codes_alone import CodesAlone
from deepbinaries.web.indexing import Indexing
from deepbinaries.web.photographs import Photographs
from deepbinaries.web.settings import Settings

PNG = {"content-type": "image/png"}


@contextmanager
def client_of(source, **settings):
    app = make_app(source, Settings(**settings))
    with TestClient(app, base_url="http://localhost:8765", raise_server_exceptions=False) as client:
        yield client


@contextmanager
def started(run, **settings):
    indexing = Indexing(run, **({"every": 3600, "tell": str} | settings))
    indexing.start()
    yield indexing
    indexing.stop()


def wait_until(so):
    deadline = time.monotonic() + 10
    while not so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class TestAnotherModel:
    """A server that was started with another model than the one its index was made by."""

    @pytest.fixture
    def makers(self, library, monkeypatch):
        """Every model that has made the index, by its fingerprint; those in folders that are gone are not here."""
        makers = {library.by.fingerprint: library.by}
        monkeypatch.setattr(photographs_module, "maker", lambda facts, _: makers[facts["model"]])
        return makers

    def test_it_is_searched_by_the_old_one_and_then_by_the_new_one(self, library, makers):
        assert len(makers) == 1
        new = PlainFolder("d" * 64)
        source = Photographs(library.root / ".deepbinaries", model=new)
        with client_of(source) as client:
            assert client.get("/v1/search?q=red").json()["hits"]
            assert source._by() is library.by
            library.index(by=new)
            answer = client.get("/v1/search?q=red")
            assert (answer.status_code, len(answer.json()["hits"])) == (200, 2)
            assert source._by() is new

    def test_what_was_open_for_earlier_models_is_closed(self, library, makers):
        def opened():
            links = []
            for path in Path("/proc/self/fd").iterdir():
                with suppress(FileNotFoundError):  # closed meanwhile
                    links.append(str(path.readlink()))
            return sum(str(library.root) in link for link in links)

        source, counts = Photographs(library.root / ".deepbinaries", model=library.by), []
        with client_of(source) as client:
            for letter in "defgh":
                makers[letter * 64] = PlainFolder(letter * 64)
                library.index(by=makers[letter * 64])
                assert client.get("/v1/search?q=red").json()["hits"]
                counts.append(opened())
        assert counts[-1] == counts[1]


class TestRemoving:
    """Only what was added is ever removed."""

    def test_a_photograph_of_the_user_in_a_folder_called_uploads_stays(self, serve, library, with_token):
        own = draw(library.root / "uploads/holiday.png", RED, seed=71)
        library.index()
        answer = serve(indexed=True, token=TOKEN).delete(
            f"/v1/items/{content_id(own.read_bytes())}", headers=with_token
        )
        assert (answer.status_code, own.exists()) == (409, True)

    def test_a_picture_with_a_second_file_elsewhere_stays(self, serve, library, with_token):
        content = (library.root / "reds/1.png").read_bytes()
        copy = library.root / f"uploads/{content_id(content)}.png"
        copy.parent.mkdir()
        copy.write_bytes(content)
        library.index()
        answer = serve(indexed=True, token=TOKEN).delete(f"/v1/items/{content_id(content)}", headers=with_token)
        assert (answer.status_code, copy.exists()) == (409, True)

    def test_an_added_picture_that_was_edited_since_stays(self, serve, library, tmp_path, with_token):
        client = serve(indexed=True, token=TOKEN)
        content = draw(tmp_path / "new.png", RED, seed=72).read_bytes()
        id_ = client.post("/v1/items", content=content, headers=PNG | with_token).json()["id"]
        edited = draw(library.root / f"uploads/{id_}.png", BLUE, seed=73)
        assert client.delete(f"/v1/items/{id_}", headers=with_token).status_code == 409
        assert edited.exists()


class TestAdding:
    """What was acknowledged is there."""

    def test_the_name_of_the_folder_is_on_the_disk_as_well(self, serve, library, tmp_path, with_token, monkeypatch):
        synced = []
        monkeypatch.setattr(photographs_module, "sync_folder", synced.append)
        content = draw(tmp_path / "new.png", RED, seed=74).read_bytes()
        client = serve(indexed=True, token=TOKEN)
        assert client.post("/v1/items", content=content, headers=PNG | with_token).status_code == 201
        assert synced == [library.root / "uploads", library.root]

    def test_a_picture_whose_file_is_gone_is_stored_again(self, serve, library, with_token):
        client = serve(indexed=True, token=TOKEN)
        content = (library.root / "reds/1.png").read_bytes()
        assert client.get("/v1/search?q=red").status_code == 200
        (library.root / "reds/1.png").unlink()
        added = client.post("/v1/items", content=content, headers=PNG | with_token)
        assert added.status_code == 201
        assert (library.root / f"uploads/{content_id(content)}.png").read_bytes() == content
        assert client.get(f"/v1/items/{content_id(content)}/picture").content == content

    def test_equal_pictures_at_once_are_all_acknowledged(self, serve, tmp_path, with_token, monkeypatch):
        real = durable.sync_file
        monkeypatch.setattr(durable, "sync_file", lambda file: (time.sleep(0.1), real(file)))
        content = draw(tmp_path / "new.png", RED, seed=75).read_bytes()
        client, statuses = serve(indexed=True, token=TOKEN), []

        def add():
            statuses.append(client.post("/v1/items", content=content, headers=PNG | with_token).status_code)

        threads = [threading.Thread(target=add) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [201] * 3

    def test_searching_goes_on_while_many_are_added(self, library, tmp_path, with_token):
        go_on = threading.Event()
        contents = [draw(tmp_path / f"{n}.png", RED, seed=80 + n).read_bytes() for n in range(6)]

        def run(report):
            go_on.wait(20)
            index_folder(library.root, library.by, workers=1, progress=False, report=report)

        with started(run) as indexing:
            source = Photographs(library.root / ".deepbinaries", model=library.by, indexing=indexing)
            with client_of(source, token=TOKEN) as client:
                threads = [
                    threading.Thread(
                        target=client.post,
                        args=("/v1/items",),
                        kwargs={"content": content, "headers": PNG | with_token},
                    )
                    for content in contents
                ]
                for thread in threads:
                    thread.start()
                time.sleep(0.5)
                began = time.monotonic()
                assert client.get("/v1/search?q=red").status_code == 200
                seconds = time.monotonic() - began
                go_on.set()
                for thread in threads:
                    thread.join()
                assert len(list((library.root / "uploads").iterdir())) == 6
        assert seconds < 5


class TestIndexing:
    """Runs beside a server."""

    def test_a_mistake_of_ours_is_told_and_the_next_run_goes_on(self):
        told, problems = [], iter([ValueError("a mistake"), None])

        def run(report):
            del report
            if problem := next(problems, None):
                raise problem

        with started(run, tell=told.append) as indexing:
            wait_until(lambda: indexing.state()["problem"])
            assert not indexing.state()["running"]
            assert "a mistake" in indexing.state()["problem"]
            assert "Traceback" in told[0]
            assert indexing.run_now(10) == ""
            assert indexing.state()["problem"] == ""

    def test_a_run_that_ends_has_done_all_files_also_broken_ones(self, library):
        (library.root / "broken.jpg").write_bytes(b"broken")

        def run(report):
            index_folder(library.root, library.by, workers=1, progress=False, report=report)

        with started(run) as indexing:
            wait_until(lambda: indexing._done)
            state = indexing.state()
        assert (state["done"], state["total"]) == (7, 7)

    def test_an_error_of_the_disk_is_told_once(self):
        told = []

        def run(report):
            del report
            raise Error("no disk", next_step="wait")

        with started(run, tell=told.append) as indexing:
            assert "no disk" in indexing.run_now(10)
            assert "no disk" in indexing.run_now(10)
        assert len(told) == 1


class TestCodesAlone:
    """An index of codes without photographs, whose disk fails for a moment."""

    @pytest.fixture
    def client(self, tmp_path):
        index = open_index(tmp_path / "codes", bits=16, writable=True)
        index.add(["a"], Codes.from_bits([[0] * 16]))
        with client_of(CodesAlone(index, writable=True), token=TOKEN) as client:
            yield client

    def test_after_a_change_that_failed_the_next_one_is_made(self, client, with_token, monkeypatch):
        def full(*_, **__):
            raise OSError(28, "No space left on device")

        item = {"items": [{"id": "b", "code": "ffff"}]}
        with monkeypatch.context() as patched:
            patched.setattr(embedded, "write_receipt", full)
            failed = client.post("/v1/items", json=item, headers=with_token)
        assert (failed.status_code, "No space left" in failed.text) == (500, True)
        assert client.post("/v1/items", json=item, headers=with_token).json() == {"items": 1}
        assert client.get("/v1/items/b").json()["code"] == "ffff"

    def test_damage_is_not_taken_for_an_item_that_is_not_there(self, client, monkeypatch):
        def damaged(*_):
            raise durable.corrupt(Path("codes"), "a segment is not as it was written")

        monkeypatch.setattr(embedded.EmbeddedIndex, "codes_of", damaged)
        assert client.get("/v1/items/a").status_code == 500
