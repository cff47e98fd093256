"""An index is copied to another one of whatever kind, and both are proven to answer alike."""

import json

import numpy as np
import pytest

from deepbinaries.cli import main
from deepbinaries.codes import Codes
from deepbinaries.errors import UsageError
from deepbinaries.index import Copied, EmbeddedIndex, compare_answers, copy_items, open_index, transferring

N, BITS = 60, 20


@pytest.fixture
def codes():
    return Codes.from_bits(np.random.default_rng(0).integers(0, 2, (N, BITS)))


@pytest.fixture
def ids():
    return [f"{kind}-{number}" for number in range(N // 2) for kind in ("Ärger", "beach")]


@pytest.fixture
def folder(tmp_path, ids, codes):
    """The folder of an index with sixty items."""
    with open_index(tmp_path / "source", bits=BITS, writable=True) as index:
        index.add(ids, codes)
    return tmp_path / "source"


@pytest.fixture
def source(folder):
    with open_index(folder) as index:
        yield index


@pytest.fixture
def target(tmp_path):
    with open_index(tmp_path / "target", bits=BITS, writable=True) as index:
        yield index


@pytest.fixture
def database(postgres):
    """The address of a database without an index, with a password that nobody may see."""
    yield postgres.uri(password="secret")  # noqa: S106
    postgres.execute("DROP SCHEMA IF EXISTS deepbinaries CASCADE")


@pytest.fixture
def small_portions(monkeypatch):
    monkeypatch.setattr(transferring, "PORTION", 7)
    monkeypatch.setattr(transferring, "ASKED_TOGETHER", 3)


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main(list(map(str, arguments)))
    return left.value.code


@pytest.mark.usefixtures("small_portions")
def test_all_items_are_copied_in_portions(source, target, ids, codes):
    assert copy_items(source, target) == Copied(copied=N, unchanged=0)
    assert list(target.ids()) == sorted(ids)
    assert target.codes_of(ids) == codes


@pytest.mark.usefixtures("small_portions")
def test_a_copy_that_was_cut_short_goes_on(source, target, monkeypatch):
    replace, calls = EmbeddedIndex.replace, []

    def interrupted(index, *items):
        calls.append(items)
        if len(calls) == 3:
            raise KeyboardInterrupt
        replace(index, *items)

    monkeypatch.setattr(EmbeddedIndex, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        copy_items(source, target)
    assert copy_items(source, target) == Copied(copied=N - 14, unchanged=14)
    assert compare_answers(source, target, 20).alike


def test_a_second_copy_writes_nothing(source, target):
    copy_items(source, target)
    before = target.version
    assert copy_items(source, target) == Copied(copied=0, unchanged=N)
    assert target.version == before


def test_a_code_that_has_changed_is_copied_again(folder, source, target, ids, codes):
    copy_items(source, target)
    with open_index(folder, writable=True) as writer:
        writer.replace(ids[:1], codes[1:2])
    assert copy_items(source, target) == Copied(copied=1, unchanged=N - 1)
    assert target.codes_of(ids[:1]) == codes[1:2]


def test_a_target_with_other_items_is_refused_and_left_alone(source, target, codes):
    target.add(["cat"], codes[:1])
    with pytest.raises(UsageError, match="holds 'cat', which"):
        copy_items(source, target)
    assert list(target.ids()) == ["cat"]


def test_codes_of_another_length_are_refused(source, tmp_path):
    with (
        open_index(tmp_path / "other", bits=8, writable=True) as other,
        pytest.raises(UsageError, match="different lengths"),
    ):
        copy_items(source, other)


def test_nothing_is_copied_from_an_empty_index_and_both_answer_nothing(tmp_path, target):
    with open_index(tmp_path / "empty", bits=BITS, writable=True) as empty:
        assert copy_items(empty, target) == Copied(0, 0)
        assert compare_answers(empty, target, 3).alike


def test_the_comparison_notices_one_other_code(source, target, ids, codes):
    copy_items(source, target)
    target.replace(ids[:1], Codes.from_bits(1 - codes[:1].to_bits()))
    found = compare_answers(source, target, 50)
    assert not found.alike
    assert "of 50 queries are answered differently (code " in found.problems[0]


def test_the_comparison_notices_a_missing_item_without_any_query(source, target, ids):
    copy_items(source, target)
    target.remove(ids[:1])
    assert compare_answers(source, target, 0).problems == ("there are 60 items here and 59 there",)


def test_about_half_of_the_queries_are_codes_of_items(source, codes):
    queries = transferring._random_queries(source, 40, np.random.default_rng(1))
    known = {code.tobytes() for code in codes.packed}
    n_items = sum(code.tobytes() in known for code in queries.packed)
    assert len(queries) == 40
    assert 15 <= n_items <= 20  # an item may be drawn twice


class ShuffledTies(EmbeddedIndex):
    """Equal distances in reverse order, and it says so."""

    stable_ties = False

    def search(self, codes, k, **options):
        found = super().search(codes, len(self), **options)
        for ids, distances in zip(found.ids, found.distances, strict=True):
            pairs = sorted(zip(distances, ids, strict=True), key=lambda pair: (pair[0], [-ord(c) for c in pair[1]]))
            ids[:], distances[:] = [id_ for _, id_ in pairs[:k]], [distance for distance, _ in pairs[:k]]
        return found


@pytest.mark.parametrize(("declared", "alike"), [(False, True), (True, False)])
def test_the_order_of_ties_is_compared_only_where_it_is_promised(source, tmp_path, monkeypatch, declared, alike):
    monkeypatch.setattr(ShuffledTies, "stable_ties", declared)
    with ShuffledTies(tmp_path / "target", bits=BITS, writable=True) as target:
        copy_items(source, target)
        found = compare_answers(source, target, 30)
    assert (found.alike, found.ids_compared) == (alike, declared)


def test_without_an_order_of_ties_nearer_items_still_must_be_the_same(source, tmp_path, ids):
    with ShuffledTies(tmp_path / "target", bits=BITS, writable=True) as target:
        copy_items(source, target)
        moved = [ids[1], ids[0], *ids[2:]]
        target.replace(moved, source.codes_of(ids))
        assert not compare_answers(source, target, 100).alike


@pytest.mark.usefixtures("small_portions")
def test_the_command_copies_a_folder_to_a_database_and_back(folder, database, tmp_path, capsys):
    assert run("copy-index", folder, database, "--verify", 20) == 0
    assert capsys.readouterr().out == "60 codes copied, 0 were there already; 20 random queries are answered alike\n"
    assert run("copy-index", database, tmp_path / "back", "--verify", 20, "--json") == 0
    said = capsys.readouterr()
    facts = json.loads(said.out)
    assert (facts["copied"], facts["unchanged"], facts["problems"], facts["ids_compared"]) == (60, 0, [], True)
    assert "secret" not in said.out + said.err
    with open_index(folder) as first, open_index(tmp_path / "back") as last:
        assert last.codes_of(list(first.ids())) == first.codes_of(list(first.ids()))


def test_a_copy_that_answers_otherwise_is_told_and_leaves_with_1(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("deepbinaries.index.copy_items", lambda _source, _target: Copied(0, 0))
    assert run("copy-index", folder, tmp_path / "target", "--verify", 5) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "there are 60 items here and 0 there" in said.err


def test_the_command_refuses_wrong_use(folder, tmp_path, capsys):
    assert run("copy-index", folder, tmp_path / "target", "--verify", -1) == 2
    with open_index(tmp_path / "short", bits=8, writable=True):
        pass
    assert run("copy-index", folder, tmp_path / "short") == 2
    assert "20" in capsys.readouterr().err


def test_a_source_that_is_not_there_makes_no_target(tmp_path, capsys):
    assert run("copy-index", tmp_path / "nowhere", tmp_path / "target") == 3
    assert "there is no index in" in capsys.readouterr().err
    assert not (tmp_path / "target").exists()


def test_codes_are_not_copied_among_photographs(folder, tmp_path, capsys):
    (tmp_path / "photographs" / ".deepbinaries").mkdir(parents=True)
    (tmp_path / "photographs" / ".deepbinaries" / "collection.json").write_text("{}")
    assert run("copy-index", folder, tmp_path / "photographs") == 2
    assert "is an index of photographs" in capsys.readouterr().err
