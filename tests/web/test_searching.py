"""Sentences, pictures, known items and codes over HTTP."""

import json

import numpy as np
import pytest
from photo_library import RED, draw

from deepbinaries.codes import Codes, all_distances

PNG = {"content-type": "image/png"}


def paths(answer):
    assert answer.status_code == 200, answer.text
    return [hit["paths"][0] for hit in answer.json()["hits"]]


def test_a_sentence_finds_photographs(client):
    assert sorted(paths(client.get("/v1/search", params={"q": "red", "k": 2}))) == ["reds/1.png", "reds/2.png"]


def test_a_lone_minus_takes_away(client):
    found = client.get("/v1/search", params={"q": "red - blue", "k": 2, "least": "none"})
    assert {path.split("/")[0] for path in paths(found)} == {"reds"}


def test_a_minus_in_front_of_a_word_takes_it_away(client):
    lone = client.get("/v1/search", params={"q": "red - blue - the green", "least": "none"})
    for q in ('red -blue -"the green"', '-blue red -"the green"'):
        assert paths(client.get("/v1/search", params={"q": q, "least": "none"})) == paths(lone)


def test_what_is_only_to_be_left_out_finds_nothing(client):
    answer = client.get("/v1/search", params={"q": "-red"})
    assert answer.status_code == 400
    assert "add what you look for in front" in answer.text


def test_what_begins_as_an_id_and_is_none_is_refused(client):
    answer = client.get("/v1/search", params={"q": "id:nothing"})
    assert answer.status_code == 400
    assert "is no id of a picture" in answer.text


def test_the_answer_says_which_word_it_did_not_know(client):
    answer = client.get("/v1/search", params={"q": "a rde"}).json()
    assert answer["unknown"] == [{"word": "rde", "nearest": "red"}]


def test_the_answer_says_why_a_sentence_of_which_little_is_known_finds_nothing(client):
    answer = client.get("/v1/search", params={"q": "a red sulla spiaggia"}).json()
    assert (answer["verdict"], answer["hits"]) == ("none", [])
    assert answer["notes"] == ["2 of 4 words are unknown, so nothing counts as a match"]


def test_the_answer_proves_that_it_is_exact(client):
    certificate = client.get("/v1/search", params={"q": "red"}).json()["certificate"]
    assert (certificate["exact"], certificate["rows_scanned"]) == (True, 6)


def test_a_picture_finds_others_like_it(client, tmp_path):
    picture = draw(tmp_path / "query.png", RED, seed=99).read_bytes()
    found = client.post("/v1/search?k=2&least=none", content=picture, headers=PNG)
    assert sorted(paths(found)) == ["reds/1.png", "reds/2.png"]


def test_more_like_this_does_not_find_the_picture_itself(client):
    first = client.get("/v1/search", params={"q": "red", "k": 1}).json()["hits"][0]
    for found in (
        client.get("/v1/search", params={"like": first["id"], "k": 1, "least": "none"}),
        client.post("/v1/search", json={"id": first["id"], "k": 1, "least": "none"}),
    ):
        assert paths(found) != first["paths"]
        assert paths(found)[0].startswith("reds/")


def test_parts_are_weighed(client):
    parts = [{"text": "blue", "weight": 3}, {"text": "red", "weight": -1}]
    assert paths(client.post("/v1/search", json={"parts": parts, "k": 1}))[0].startswith("blues/")


def test_a_folder_restricts_what_is_found(client):
    options = {"q": "red", "folder": "blues", "least": "none"}
    assert {path.split("/")[0] for path in paths(client.get("/v1/search", params=options))} == {"blues"}


def test_pages_follow_each_other(client):
    whole = paths(client.get("/v1/search", params={"q": "red", "least": "none"}))
    pages = [
        paths(client.get("/v1/search", params={"q": "red", "least": "none", "k": 2, "offset": offset}))
        for offset in (0, 2, 4)
    ]
    assert [path for page in pages for path in page] == whole


def test_a_picture_finds_captions(client, tmp_path):
    picture = draw(tmp_path / "query.png", RED, seed=99).read_bytes()
    found = client.post("/v1/search?kind=sentences&least=none", content=picture, headers=PNG).json()
    (hit,) = found["hits"]
    assert hit["sentence"] == "a red <b>square</b>"
    assert client.get(f"/v1/items/{hit['picture']}").json()["paths"] == hit["paths"]
    assert client.get(f"/v1/items/{hit['picture']}/thumbnail").status_code == 200


def test_a_code_finds_what_a_scan_of_all_codes_finds(client, still_library):
    rng = np.random.default_rng(0)
    queries = Codes.from_values(rng.standard_normal((5, 64)))
    with still_library.open() as collection:
        index = collection._current().indexes["pictures"]
        ids = list(index.ids())
        distances = all_distances(queries, index.codes_of(ids))
    expected = [sorted(zip(row.tolist(), ids, strict=True))[:3] for row in distances]
    hexes = [code.tobytes().hex() for code in queries.packed]
    several = client.post("/v1/search", json={"codes": hexes, "k": 3}).json()["answers"]
    single = [client.post("/v1/search", json={"code": code, "k": 3}).json() for code in hexes]
    for answers in (several, single):
        assert [[(hit["distance"], hit["id"]) for hit in one["hits"]] for one in answers] == expected


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": "red", "id": "0" * 32},
        {"text": ""},
        {"text": 3},
        {"text": "red\0"},
        {"text": "red", "k": 0},
        {"text": "red", "k": 1001},
        {"text": "red", "k": True},
        {"text": "red", "k": 1.5},
        {"text": "red", "offset": -1},
        {"text": "red", "sort": "best"},
        {"text": "red", "since": "2024-13"},
        {"text": "red", "folder": "../elsewhere"},
        {"text": "red", "folder": "/etc"},
        {"text": "red", "path": "/etc/passwd"},
        {"text": "x" * 10_001},
        {"parts": []},
        {"parts": [{"text": "red"}] * 33},
        {"parts": [{"text": "red", "weight": 0}]},
        {"parts": [{"text": "red", "weight": "1"}]},
        {"parts": [{"text": "red", "id": "0" * 32}]},
        {"parts": ["red"]},
        {"parts": [{"text": "red", "weight": -1}]},
        {"code": "zz"},
        {"code": "00" * 7},
        {"code": "00" * 9},
        {"code": "00" * 8, "folder": "reds"},
        {"codes": []},
        {"codes": "00" * 8},
    ],
)
def test_a_wrong_query_is_refused_with_the_reason(client, body):
    answer = client.post("/v1/search", json=body)
    assert answer.status_code == 400
    assert set(answer.json()["error"]) == {"problem", "next_step"}


@pytest.mark.parametrize(
    "address",
    ["", "q=", "q=+&like=" + "0" * 32, "q=red&q=blue", "q=red&k=ten", "q=red&unfold=yes", "q=red&path=x", "q=%00"],
)
def test_a_wrong_address_is_refused(client, address):
    assert client.get(f"/v1/search?{address}").status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"red"',
        b"\xff\xfe",
        b'{"text": "red", "text": "blue"}',
        b'{"text": "\\ud800"}',
        b'{"parts": [{"text": "red", "weight": NaN}]}',
        b'{"parts": [{"text": "red", "weight": 1e999}]}',
        b'{"text": "red", "k": ' + b"9" * 5000 + b"}",
        b'{"parts": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"text": ' + b'{"a":' * 2000 + b"1" + b"}" * 2001,
        json.dumps({str(n): n for n in range(50_000)}).encode(),
    ],
    ids=lambda body: body[:30].decode("latin-1"),
)
def test_json_that_programs_read_differently_is_refused(client, body):
    answer = client.post("/v1/search", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_other_types_of_bodies_are_refused(client, kind):
    answer = client.post("/v1/search", content=b'{"text": "red"}', headers={"content-type": kind})
    assert answer.status_code == 415


def test_an_id_that_is_not_there_is_told(client):
    for answer in (
        client.get("/v1/search", params={"like": "0" * 32}),
        client.post("/v1/search", json={"id": "no such id"}),
        client.get("/v1/items/" + "0" * 32),
        client.get("/v1/items/" + "0" * 32 + "/picture"),
    ):
        assert answer.status_code == 404


def test_a_query_of_words_that_nobody_knows_finds_nothing_and_says_so(client):
    answer = client.get("/v1/search", params={"q": "xyzzy"}).json()
    assert (answer["hits"], answer["certificate"]) == ([], None)
    assert answer["notes"] == ["no word of 'xyzzy' is known"]
