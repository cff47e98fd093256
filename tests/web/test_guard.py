"""Who may ask, and what every answer carries."""

import asyncio
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import deepbinaries.web
from conftest import TOKEN
from deepbinaries.errors import UsageError
from deepbinaries.web.guard import POLICY
from deepbinaries.web.hosts import is_allowed
from deepbinaries.web.refusals import RefusedError
from deepbinaries.web.settings import Settings
from deepbinaries.web.work import Work

STATIC = Path(deepbinaries.web.__file__).parent / "static"


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1:8765", "[::1]:8765", "127.0.0.2:8765", "LOCALHOST:8765"])
def test_names_of_this_machine_are_answered(client, host):
    assert client.get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8765", "127.0.0.1.evil.example:8765", "localhost.evil.example:8765", ""),
        *("localhost", "localhost:80", "127.0.0.1:8766", "192.168.0.1:8765", "[::2]:8765", "localhost:8765:8765"),
        *("localhost:8765@evil.example", "user@localhost:8765", "localhost:08765x", "http://localhost:8765", "[::1"),
    ],
)
@pytest.mark.parametrize("address", ["/", "/v1/status", "/healthz", "/openapi.json", "/no/such/address"])
def test_other_names_are_not_answered(client, host, address):
    assert client.get(address, headers={"host": host}).status_code == 421


def test_a_server_for_others_answers_to_addresses_and_given_names():
    assert is_allowed("192.168.0.7:8765", 8765, local=False)
    assert is_allowed("photos.home:443", 8765, local=False, names=["photos.home"])
    assert is_allowed("photos.home:8080", 8765, local=False, names=["photos.home:8080"])
    assert not is_allowed("photos.home:8081", 8765, local=False, names=["photos.home:8080"])
    assert not is_allowed("evil.example:8765", 8765, local=False)


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:8766"},
    ],
)
def test_another_site_gets_nothing_done(client, headers):
    assert client.post("/v1/search", json={"text": "red"}, headers=headers).status_code == 403
    assert client.get("/v1/search?q=red", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "headers", [{"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}, {"origin": "http://localhost:8765"}, {}]
)
def test_our_own_page_and_programs_are_answered(client, headers):
    assert client.post("/v1/search", json={"text": "red"}, headers=headers).status_code == 200


@pytest.mark.parametrize("address", ["/", "/app.js", "/v1/status", "/v1/search?q=red", "/metrics", "/openapi.json"])
def test_a_server_for_others_asks_for_its_token_everywhere(serve, address, with_token):
    client = serve(bind="0.0.0.0", token=TOKEN)  # noqa: S104 - it is never bound
    ours = {"host": "10.0.0.1:8765"}
    assert client.get(address, headers=ours).status_code == 401
    assert client.get(address, headers=ours | with_token).status_code == 200
    assert client.get(address, headers=ours, auth=("anybody", TOKEN)).status_code == 200
    assert client.get("/healthz", headers=ours).status_code == 200


def test_a_server_for_others_does_not_tell_where_its_photographs_lie(serve, library, with_token):
    client = serve(bind="0.0.0.0", token=TOKEN)  # noqa: S104
    answer = client.get("/v1/status", headers={"host": "10.0.0.1:8765"} | with_token)
    assert str(library.root) not in answer.text
    assert str(library.root.parent) not in answer.text


@pytest.mark.parametrize("bind", ["0.0.0.0", "192.168.0.1", "::", "photos.example"])  # noqa: S104
def test_another_bind_needs_a_token(bind):
    with pytest.raises(UsageError, match="no token"):
        Settings(bind=bind)
    assert not Settings(bind=bind, token=TOKEN).is_local


@pytest.mark.parametrize("token", ["short", "ü" * 20])
def test_a_token_that_could_be_guessed_is_refused(token):
    with pytest.raises(UsageError, match="token"):
        Settings(token=token)


@pytest.mark.parametrize("address", ["/", "/style.css", "/v1/status", "/v1/items/none", "/no/such/address"])
def test_every_answer_forbids_foreign_and_inline_code(client, address):
    headers = client.get(address).headers
    assert headers["content-security-policy"] == POLICY.decode()
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


def test_every_refusal_has_one_form(client):
    answers = [
        client.get("/no/such/address"),
        client.delete("/v1/search"),
        client.get("/healthz", headers={"host": "evil.example"}),
        client.get("/v1/items/none"),
    ]
    for answer in answers:
        assert set(answer.json()["error"]) == {"problem", "next_step"}
    assert answers[1].headers["allow"]


def test_a_mistake_of_ours_shows_no_traceback(client, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError("/home/somebody/secret")

    monkeypatch.setattr("deepbinaries.web.photographs.Photographs.item", fail)
    answer = client.get("/v1/items/x")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("path", sorted(STATIC.iterdir()), ids=lambda path: path.name)
def test_the_page_uses_nothing_from_elsewhere_and_no_markup_from_data(path):
    text = path.read_text()
    known = {"http://www.w3.org/2000/svg"}  # names, not addresses
    assert set(re.findall(r"https?://[^\"'\s`$]+", text)) <= known
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
    if path.suffix == ".html":
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text)


def test_more_work_than_can_be_done_soon_is_sent_away():
    async def two_at_once():
        gate = threading.Event()
        with ThreadPoolExecutor(1) as threads:
            work = Work(threads, most=1)
            first = asyncio.create_task(work.do(lambda: gate.wait(5)))
            await asyncio.sleep(0)
            try:
                with pytest.raises(RefusedError) as refused:
                    await work.do(lambda: None)
            finally:
                gate.set()
            assert await first
            assert await work.do(lambda: "again") == "again"
            return refused.value

    refused = asyncio.run(two_at_once())
    assert (refused.status, dict(refused.headers)) == (503, {"retry-after": "1"})
