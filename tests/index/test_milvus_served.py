"""Codes in Milvus, copied, searched, proven and served by the commands."""

import json

import numpy as np
import pytest
from served_codes import asking

from deepbinaries.cli import main
from deepbinaries.codes import Codes
from deepbinaries.index import open_index

CODES = Codes.from_bits([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]])
IDS = ["d", "c", "b", 'it\'s "a"']


@pytest.fixture(scope="module")
def uri(milvus, tmp_path_factory):
    """The address of a collection to which the codes of a folder were copied, with a password that nobody may see."""
    folder = tmp_path_factory.mktemp("copied") / "index"
    with open_index(folder, bits=4, writable=True) as index:
        index.add(IDS, CODES)
    uri = milvus.uri("served", user="me:s3cr3t@")
    assert run("copy-index", folder, uri, "--verify", 20) == 0
    return uri


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main(list(map(str, arguments)))
    return left.value.code


@pytest.fixture(scope="module")
def ask(uri):
    with asking(uri, secret="s3cr3t") as ask:  # noqa: S106
        yield ask


def pairs(answer):
    return [(hit["id"], hit["distance"]) for hit in answer["hits"]]


def test_the_server_finds_by_code_and_by_item(ask):
    status, answer = ask("/v1/search", {"code": "00", "k": 2})
    assert (status, pairs(answer), answer["certificate"]["exact"]) == (200, [("d", 0), ("c", 1)], True)
    assert pairs(ask("/v1/search?like=c")[1]) == [("b", 1), ("d", 1), (IDS[3], 3)]


def test_several_codes_are_answered_together(ask):
    _, answer = ask("/v1/search", {"codes": ["0f", "0c"], "k": 1})
    assert [pairs(one) for one in answer["answers"]] == [[(IDS[3], 0)], [("b", 0)]]


def test_an_item_is_added_told_and_removed(ask, uri):
    assert ask("/v1/items", {"items": [{"id": "new", "code": "05"}]})[0] == 200
    assert ask("/v1/items/new") == (200, {"id": "new", "code": "05"})
    with open_index(uri) as index:
        assert len(index) == 5
    assert ask("/v1/items/new", method="DELETE") == (204, None)
    assert ask("/v1/items/new")[0] == 404


def test_while_milvus_is_away_the_server_says_so_and_then_goes_on(ask, milvus):
    milvus.kill()
    status, refusal = ask("/v1/search", {"code": "00", "k": 2})
    milvus.start()
    assert status == 503
    assert "cannot be reached" in refusal["problem"]
    assert "s3cr3t" not in str(refusal)
    assert ask("/v1/search", {"code": "00", "k": 2})[0] == 200


def test_the_command_copies_a_folder_to_milvus_and_back(milvus, tmp_path, capsys):
    rng = np.random.default_rng(0)
    with open_index(tmp_path / "source", bits=20, writable=True) as index:
        index.add([f"'item' {number}" for number in range(300)], Codes.from_bits(rng.integers(0, 2, (300, 20))))
    uri = milvus.uri("there_and_back")
    assert run("copy-index", tmp_path / "source", uri, "--verify", 20) == 0
    assert capsys.readouterr().out == "300 codes copied, 0 were there already; 20 random queries are answered alike\n"
    assert run("copy-index", uri, tmp_path / "back", "--verify", 20, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["copied"], facts["problems"], facts["ids_compared"]) == (300, [], False)
    with open_index(tmp_path / "source") as first, open_index(tmp_path / "back") as last:
        assert last.codes_of(list(first.ids())) == first.codes_of(list(first.ids()))


def test_the_commands_copy_into_a_file_and_search_it(milvus, tmp_path, capsys):  # noqa: ARG001 - skipped without
    with open_index(tmp_path / "source", bits=4, writable=True) as index:
        index.add(IDS, CODES)
    file = f"milvus:{tmp_path / 'codes.db'}"
    assert run("copy-index", tmp_path / "source", file, "--verify", 5) == 0
    capsys.readouterr()
    assert run("search", "code:00", "--index", file, "-k", 1, "--json") == 0
    said = capsys.readouterr()
    assert [pairs(one) for one in json.loads(said.out)["answers"]] == [[("d", 0)]]
    assert said.err == ""


def test_the_command_searches_by_item_and_by_code(uri, capsys):
    assert run("search", "id:c", "code:0f", "--index", uri, "-k", 1, "--json") == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert [pairs(one) for one in answers] == [[("b", 1)], [(IDS[3], 0)]]


def test_status_and_verify_tell_no_password(uri, capsys):
    assert run("status", "--index", uri) == 0
    assert run("verify", "--index", uri) == 0
    out, err = capsys.readouterr()
    assert "items: 4" in out
    assert "4 codes are sound" in out
    assert "s3cr3t" not in out + err


def test_codes_of_another_width_are_refused_in_one_line(uri, tmp_path, capsys):
    with open_index(tmp_path / "wide", bits=8, writable=True):
        pass
    assert run("copy-index", tmp_path / "wide", uri) == 2
    said = capsys.readouterr().err
    assert "have 4 bits, not 8" in said
    assert said.count("\n") == 1


def test_photographs_are_not_indexed_in_milvus(tmp_path, uri, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photographs").mkdir()
    for place in (uri, "milvus:codes.db"):
        assert run("index", "photographs", "--model", tmp_path, "--index", place) != 0
    assert "s3cr3t" not in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["photographs"]


def test_a_server_that_is_not_there_is_one_line_without_the_password(capsys):
    assert run("serve", "milvus://me:s3cr3t@127.0.0.1:1/photos") != 0
    said = capsys.readouterr().err
    assert "cannot be reached" in said
    assert "s3cr3t" not in said
    assert said.count("\n") == 1
