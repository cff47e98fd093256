"""Codes in a PostgreSQL database, imported, searched, proven and served by the commands."""

import json

import pytest
from served_codes import asking

from deepbinaries.cli import main
from deepbinaries.codes import Codes, save
from deepbinaries.index import open_index

CODES = Codes.from_bits([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]])
IDS = ["d", "c", "b", "a"]


@pytest.fixture(scope="module")
def uri(postgres, tmp_path_factory):
    """The address of a database into which the codes were imported, with a password that nobody may see."""
    folder = tmp_path_factory.mktemp("imported")
    save(CODES, folder / "codes.npy")
    (folder / "ids.txt").write_text("\n".join(IDS))
    uri = postgres.uri(password="secret")  # noqa: S106
    assert run("import-codes", folder / "codes.npy", "--ids", folder / "ids.txt", "--index", uri) == 0
    yield uri
    postgres.execute("DROP SCHEMA deepbinaries CASCADE")


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main(list(map(str, arguments)))
    return left.value.code


@pytest.fixture(scope="module")
def ask(uri):
    with asking(uri, secret="secret") as ask:  # noqa: S106
        yield ask


def pairs(answer):
    return [(hit["id"], hit["distance"]) for hit in answer["hits"]]


def test_a_code_finds_the_nearest(ask):
    status, answer = ask("/v1/search", {"code": "00", "k": 2})
    assert (status, pairs(answer), answer["certificate"]["exact"]) == (200, [("d", 0), ("c", 1)], True)


def test_an_item_finds_others_and_not_itself(ask):
    expected = [("b", 1), ("d", 1), ("a", 3)]
    assert pairs(ask("/v1/search", {"id": "c"})[1]) == expected
    assert pairs(ask("/v1/search?like=c")[1]) == expected


def test_several_codes_are_answered_together(ask):
    _, answer = ask("/v1/search", {"codes": ["0f", "0c"], "k": 1})
    assert [pairs(one) for one in answer["answers"]] == [[("a", 0)], [("b", 0)]]


def test_an_item_is_told_added_and_removed(ask, uri):
    assert ask("/v1/items", {"items": [{"id": "new", "code": "05"}]})[0] == 200
    assert ask("/v1/items/new") == (200, {"id": "new", "code": "05"})
    with open_index(uri) as index:
        assert len(index) == 5
    assert ask("/v1/items/new", method="DELETE") == (204, None)
    assert ask("/v1/items/new")[0] == 404
    assert ask("/v1/search", {"id": "new"})[0] == 404


def test_status_counts_items(ask):
    _, status = ask("/v1/status")
    assert (status["kind"], status["items"], status["bits"]) == ("codes", 4, 4)
    assert ask("/readyz")[0] == 200


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"text": "a dog"}, 409, "codes without photographs"),
        ({"parts": [{"id": "a"}, {"id": "b"}]}, 409, "codes without photographs"),
        ({"id": "a", "folder": "2019"}, 400, "knows no folders"),
        ({"code": "0000"}, 400, "have 4 bits"),
    ],
)
def test_what_only_photographs_can_be_asked_is_refused(ask, body, status, words):
    code, refusal = ask("/v1/search", body)
    assert code == status
    assert words in refusal["problem"]


def test_while_the_database_is_away_the_server_says_so_and_then_goes_on(ask, postgres):
    postgres.kill()
    status, refusal = ask("/v1/search", {"code": "00", "k": 2})
    postgres.start()
    assert status == 503
    assert "cannot be reached" in refusal["problem"]
    assert "secret" not in str(refusal)
    assert ask("/v1/search", {"code": "00", "k": 2})[0] == 200


def test_the_command_searches_by_item_and_by_code(uri, capsys):
    assert run("search", "id:c", "code:0f", "--index", uri, "-k", 1, "--json") == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert [pairs(one) for one in answers] == [[("b", 1)], [("a", 0)]]


def test_status_and_verify_know_a_database_and_tell_no_password(uri, capsys):
    assert run("status", "--index", uri) == 0
    assert run("verify", "--index", uri) == 0
    out, err = capsys.readouterr()
    assert "items: 4" in out
    assert "4 codes are sound" in out
    assert "secret" not in out + err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["search", "a dog", "--index"], "an index of codes without photographs cannot be asked 'a dog'"),
        (["search", "id:c", "--folder", "2019", "--index"], "knows nothing of --folder"),
        (["search", "code:zz", "--index"], "is no code of 4 bits"),
    ],
)
def test_what_a_database_cannot_answer_is_one_line(uri, capsys, arguments, words):
    assert run(*arguments, uri) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "secret" not in said
    assert said.count("\n") == 1


def test_photographs_are_not_indexed_in_a_database(tmp_path, uri, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photographs").mkdir()
    assert run("index", "photographs", "--model", tmp_path, "--index", uri) != 0
    assert "secret" not in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["photographs"]


def test_a_database_that_went_away_is_told_without_its_password(capsys, tmp_path):
    away = f"postgresql://me:secret@/photos?host={tmp_path}&connect_timeout=2"
    assert run("serve", away) != 0
    said = capsys.readouterr().err
    assert "cannot be reached" in said
    assert "secret" not in said
    assert said.count("\n") == 1
