"""Items: looked at, added and removed; and the server's word about itself."""

import io
import os
import threading
import time

import pytest
from photo_library import RED, draw
from PIL import Image
from starlette.testclient import TestClient

from conftest import TOKEN
from deepbinaries.codes import Codes
from deepbinaries.index import open_index
from deepbinaries.search import index_folder
from deepbinaries.search.layout import Layout
from deepbinaries.vision.originals import content_id
from deepbinaries.web.app import description, make_app
from deepbinaries.web.codes_alone import CodesAlone
from deepbinaries.web.indexing import Indexing
from deepbinaries.web.photographs import Photographs
from deepbinaries.web.settings import Settings

PNG = {"content-type": "image/png"}


@pytest.fixture
def red(client):
    return client.get("/v1/search", params={"q": "red", "k": 1}).json()["hits"][0]["id"]


def test_an_item_tells_its_files_and_captions(client, still_library):
    id_ = content_id((still_library.root / "reds/1.png").read_bytes())
    item = client.get(f"/v1/items/{id_}").json()
    assert (item["paths"], item["captions"]) == (["reds/1.png"], ["a red <b>square</b>"])


def test_a_thumbnail_is_a_picture_that_may_be_kept(client, red):
    answer = client.get(f"/v1/items/{red}/thumbnail")
    assert answer.headers["content-type"] == "image/webp"
    assert "immutable" in answer.headers["cache-control"]
    assert Image.open(io.BytesIO(answer.content)).format == "WEBP"


def test_a_picture_is_the_file_itself(client, red):
    answer = client.get(f"/v1/items/{red}/picture")
    assert answer.headers["content-type"] == "image/png"
    assert content_id(answer.content) == red


def test_a_format_that_browsers_do_not_show_is_saved_anew(serve, library):
    picture = Image.open(draw(library.root / "x.png", RED, seed=5))
    picture.save(library.root / "scan.tif")
    library.index()
    id_ = content_id((library.root / "scan.tif").read_bytes())
    answer = serve().get(f"/v1/items/{id_}/picture")
    assert answer.headers["content-type"] == "image/webp"
    assert Image.open(io.BytesIO(answer.content)).size == picture.size


def test_regions_are_shares_of_the_picture_in_order_of_attraction(client, red):
    answer = client.get(f"/v1/items/{red}/regions").json()
    assert answer["regions"][0] == {"box": [0.25, 0.25, 0.75, 0.75], "attraction": 0.6}
    assert answer["regions"][-1]["box"] == [0, 0, 1, 1]


def test_a_file_that_was_replaced_since_is_not_given_out(serve, library, red):
    client = serve()
    path = library.root / client.get(f"/v1/items/{red}").json()["paths"][0]
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert client.get(f"/v1/items/{red}/picture").status_code == 404


def test_a_picture_with_the_same_size_and_time_and_other_content_is_not_given_out(serve, library, red):
    client = serve()
    path = library.root / client.get(f"/v1/items/{red}").json()["paths"][0]
    before = path.stat()
    path.write_bytes(bytes(before.st_size))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert client.get(f"/v1/items/{red}/picture").status_code == 404


@pytest.mark.parametrize(
    "id_", ["..%2f..%2fetc%2fpasswd", "%2e%2e", "%2fetc%2fpasswd", "%00", "a%00b", "%ff", "x" * 1025, "reds%2f1.png"]
)
@pytest.mark.parametrize("what", ["", "/thumbnail", "/picture", "/regions"])
def test_no_path_is_taken_from_a_request(client, id_, what):
    assert client.get(f"/v1/items/{id_}{what}").status_code in (400, 404)


@pytest.mark.parametrize("address", ["/", "/app.js", "/style.css", "/healthz", "/openapi.json", "/v1/status"])
@pytest.mark.parametrize("name", ["path", "file", "kind", "request", "self"])
def test_no_parameter_leads_to_a_file(client, address, name):
    answer = client.get(f"{address}?{name}=/etc/passwd")
    assert b"root:x:0" not in answer.content
    assert client.get(address).status_code == 200


def test_an_added_picture_is_found_and_can_be_removed(serve, library, tmp_path, with_token):
    client = serve(indexed=True, token=TOKEN)
    content = draw(tmp_path / "new.png", RED, seed=77).read_bytes()
    added = client.post("/v1/items", content=content, headers=PNG | with_token)
    assert (added.status_code, added.json()) == (201, {"id": content_id(content)})
    stored = library.root / "uploads" / f"{content_id(content)}.png"
    assert stored.read_bytes() == content
    found = client.get("/v1/search", params={"q": "red", "unfold": "true"}).json()["hits"]
    assert content_id(content) in [hit["id"] for hit in found]
    assert client.delete(f"/v1/items/{content_id(content)}", headers=with_token).status_code == 204
    assert not stored.exists()
    assert client.get(f"/v1/items/{content_id(content)}").status_code == 404


def test_a_photograph_that_lies_in_the_folder_is_never_removed(serve, library, with_token):
    client = serve(indexed=True, token=TOKEN)
    path = library.root / "reds/1.png"
    answer = client.delete(f"/v1/items/{content_id(path.read_bytes())}", headers=with_token)
    assert (answer.status_code, path.exists()) == (409, True)


def test_what_is_no_picture_is_not_stored(serve, library, with_token):
    client = serve(indexed=True, token=TOKEN)
    answer = client.post("/v1/items", content=b"<script>", headers=PNG | with_token)
    assert answer.status_code == 400
    assert not (library.root / "uploads").exists()


def test_a_server_that_only_reads_says_so(serve, with_token):
    answer = serve(token=TOKEN).post("/v1/items", content=b"x", headers=PNG | with_token)
    assert answer.status_code == 409


@pytest.mark.parametrize(("method", "address"), [("POST", "/v1/items"), ("DELETE", "/v1/items/x")])
@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Token {TOKEN}", "Basic !", "Basic Og==", f"bearer\t{TOKEN}"],
)
def test_nothing_is_changed_without_the_token(serve, method, address, authorization):
    answer = serve(token=TOKEN).request(method, address, headers={"Authorization": authorization})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Basic")


def test_nothing_is_changed_by_a_server_without_a_token(client):
    assert client.post("/v1/items", content=b"x", headers=PNG).status_code == 403


def test_status_tells_what_there_is(client, still_library):
    status = client.get("/v1/status").json()
    assert (status["kind"], status["items"], status["failures"], status["bits"]) == ("photographs", 6, 0, 64)
    assert status["photographs"] == str(still_library.root)
    assert len(status["sample"]) == 6


def test_files_that_cannot_be_read_are_listed(serve, library):
    (library.root / "<img src=x onerror=alert(1)>.jpg").write_bytes(b"broken")
    library.index()
    (failure,) = serve().get("/v1/failures").json()["failures"]
    assert failure["path"] == "<img src=x onerror=alert(1)>.jpg"
    assert "no picture" in failure["reason"]


def test_before_the_first_run_the_server_is_up_and_not_ready(tmp_path):
    app = make_app(Photographs(tmp_path / "nothing"), Settings())
    with TestClient(app, base_url="http://localhost:8765") as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 503
        status = client.get("/v1/status").json()
        assert status["items"] == 0
        assert "no index" in status["problem"]


def test_what_is_asked_during_the_first_run_is_told_to_come_again(library, tmp_path):
    place, begun, go_on = tmp_path / "other", threading.Event(), threading.Event()

    def run(report):
        place.mkdir()
        Layout(place, os.path.relpath(library.root, place)).write()  # where a run has come no further than this
        begun.set()
        assert go_on.wait(20)
        index_folder(library.root, library.by, index=place, workers=1, progress=False, report=report)

    indexing = Indexing(run, every=3600, tell=print)
    indexing.start()
    app = make_app(Photographs(place, model=library.by, indexing=indexing), Settings())
    with TestClient(app, base_url="http://localhost:8765") as client:
        assert begun.wait(20)
        early = client.get("/v1/search?q=red")
        go_on.set()
        while indexing.running:
            time.sleep(0.01)
        assert client.get("/v1/search?q=red").status_code == 200
    indexing.stop()
    assert (early.status_code, early.headers["retry-after"]) == (503, "2")
    assert "for the first time" in early.json()["error"]["problem"]


def test_metrics_count_requests_by_route(serve, red):
    client = serve()
    client.get(f"/v1/items/{red}")
    client.get("/v1/items/unknown")
    text = client.get("/metrics").text
    assert 'deepbinaries_requests_total{route="item",status="200"} 1' in text
    assert 'deepbinaries_requests_total{route="item",status="404"} 1' in text
    assert "deepbinaries_items 6" in text
    assert red not in text


def test_every_address_is_described_and_every_description_has_an_address():
    app = make_app(CodesAlone(None, writable=False), Settings())._app._app
    described = {(path, method.upper()) for path, of in description()["paths"].items() for method in of}
    routes = {(route.path, method) for route in app.routes for method in getattr(route, "methods", ())}
    page = {(path, method) for path, method in routes if "." in path or path == "/"}
    assert {route for route in routes if route[1] != "HEAD"} - page == described


class TestCodesAlone:
    """An index of codes without photographs."""

    @pytest.fixture
    def client(self, tmp_path):
        index = open_index(tmp_path / "codes", bits=12, writable=True)
        index.add(["a", "b"], Codes.from_bits([[0] * 12, [1] * 12]))
        with TestClient(
            make_app(CodesAlone(index, writable=True), Settings(token=TOKEN)), base_url="http://localhost:8765"
        ) as client:
            yield client

    def test_a_code_finds_the_nearest(self, client):
        answer = client.post("/v1/search", json={"code": "0100", "k": 1}).json()
        assert answer["hits"] == [{"id": "a", "distance": 1}]

    def test_items_come_and_go(self, client, with_token):
        items = [{"id": "c/ü", "code": "0700"}, {"id": "a", "code": "ff0f"}]
        assert client.post("/v1/items", json={"items": items}, headers=with_token).json() == {"items": 2}
        assert client.get("/v1/items/a").json() == {"id": "a", "code": "ff0f"}
        assert client.delete("/v1/items/a", headers=with_token).status_code == 204
        assert client.delete("/v1/items/a", headers=with_token).status_code == 404

    @pytest.mark.parametrize("code", ["00", "000000", "00f0", "0"])
    def test_a_code_of_another_length_is_refused(self, client, code, with_token):
        assert client.post("/v1/search", json={"code": code}).status_code == 400
        item = {"items": [{"id": "x", "code": code}]}
        assert client.post("/v1/items", json=item, headers=with_token).status_code == 400

    def test_sentences_need_photographs(self, client):
        answer = client.get("/v1/search", params={"q": "red"})
        assert (answer.status_code, answer.json()["error"]["problem"]) == (
            409,
            "this index holds codes without photographs",
        )

    def test_many_codes_at_once_all_get_their_own_answer(self, client):
        answers = {}

        def ask(number):
            code = f"{number:02x}00"
            answers[number] = client.post("/v1/search", json={"code": code, "k": 1}).json()["hits"][0]

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number, hit in answers.items():
            ones = number.bit_count()
            assert hit == ({"id": "a", "distance": ones} if ones <= 6 else {"id": "b", "distance": 12 - ones})
