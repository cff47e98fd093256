"""`index`, `search`, `status`, `verify`, `watch` and `import-codes` with a model that was trained on scenes."""

import json
import os
import socket
import sys
from unittest.mock import ANY

import numpy as np
import pytest
from rich.console import Console
from small_training import run

from deepbinaries.codes import Codes, save
from deepbinaries.datasets import load
from deepbinaries.search import watching


@pytest.fixture(scope="module")
def photographs(trained, tmp_path_factory):
    """Eight indexed scenes with their captions, and what is no picture."""
    folder = tmp_path_factory.mktemp("commands") / "photographs"
    folder.mkdir()
    scenes = load("scenes", items=60)
    for row in range(8):
        (folder / f"{row}.jpg").write_bytes(scenes.picture(row))
        (folder / f"{row}.txt").write_text(scenes.sentences(row)[0])
    (folder / "<b>empty.jpg").touch()
    assert run("index", folder, "--model", trained, "--device", "cpu") == 0
    return folder


@pytest.fixture
def inside(photographs, monkeypatch):
    """The photographs' folder as the current one."""
    monkeypatch.chdir(photographs)
    return photographs


def answer_of(capsys, *arguments):
    assert run("search", *arguments, "--device", "cpu", "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_a_picture_finds_itself_first(inside, capsys):
    answer = answer_of(capsys, "3.jpg", "-k", 1)
    assert (answer["hits"][0]["distance"], answer["photographs"]) == (0, str(inside))
    assert "3.jpg" in {path for hit in answer_of(capsys, "3.jpg", "--unfold")["hits"] for path in hit["paths"]}


@pytest.mark.usefixtures("inside")
def test_a_sentence_finds_as_many_pictures_as_are_asked_for(capsys):
    answer = answer_of(capsys, "a", "dog", "-k", 3, "--all", "--unfold")
    assert len(answer["hits"]) == 3
    assert answer["reordered"]
    assert answer["certificate"]["exact"]


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize("away", ["-beach", "-flower", "-kite", "-some sand"])
def test_a_word_behind_a_minus_is_no_option(capsys, away):
    answer = answer_of(capsys, "a dog", away, "--all", "-k3")
    assert answer == {**answer_of(capsys, "a dog", "-", away[1:], "--all", "-k", 3), "certificate": ANY}
    assert len(answer["hits"]) <= 3


@pytest.mark.usefixtures("inside")
def test_the_index_s_own_model_is_opened_with_the_weights_that_are_named(capsys):
    assert run("search", "red", "--backbone-weights", "nowhere.safetensors") != 0
    assert "nowhere.safetensors" in capsys.readouterr().err


def test_the_index_is_found_by_its_folder_and_by_the_photographs(photographs, capsys):
    for where in (photographs, photographs / ".deepbinaries"):
        answer = answer_of(capsys, "a dog", "--all", "--unfold", "--index", where)
        assert len(answer["hits"]) == 8


def test_a_table_in_a_pipe_is_tab_separated(inside, capsys):
    assert run("search", "3.jpg", "-k", 1, "--device", "cpu") == 0
    out, _ = capsys.readouterr()
    strength, bits, day, path, caption = out.rstrip("\n").split("\t")
    assert (strength in ("strong", "weak"), bits, len(day)) == (True, "0", 10)
    assert path.startswith(str(inside))
    assert caption


def test_paths_for_other_programs_end_in_a_line_or_in_nul(inside, capfdbinary):
    assert run("search", "a dog", "--all", "--unfold", "-f", "--device", "cpu") == 0
    lines = capfdbinary.readouterr().out.splitlines()
    assert run("search", "a dog", "--all", "--unfold", "-0", "--device", "cpu") == 0
    parts = capfdbinary.readouterr().out.split(b"\0")
    assert parts == [*lines, b""]
    assert sorted(lines) == [os.fsencode(inside / f"{row}.jpg") for row in range(8)]


@pytest.mark.usefixtures("inside")
def test_a_nonsense_query_matches_nothing_and_the_exit_code_says_so(capsys):
    assert run("search", "xyzzy", "plugh", "--device", "cpu") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "'xyzzy' is unknown" in err
    assert "nothing here matches" in err


@pytest.mark.usefixtures("inside")
def test_a_sentence_of_which_little_is_known_matches_nothing_and_the_reason_is_told(capsys):
    assert run("search", "a dog xyzzy plugh", "--device", "cpu") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "2 of 4 words are unknown, so nothing counts as a match" in err
    assert "--all shows it" in err


def test_captions_are_found_by_a_picture(inside, capsys):
    answer = answer_of(capsys, "3.jpg", "--sentences", "--all")
    assert {hit["sentence"] for hit in answer["hits"]} == {path.read_text() for path in inside.glob("*.txt")}


@pytest.mark.usefixtures("inside")
def test_a_caption_is_shown_with_its_picture(tmp_path, capsys):
    sheet = tmp_path / "sheet.html"
    assert run("search", "3.jpg", "--sentences", "--all", "--sheet", sheet, "--device", "cpu") == 0
    capsys.readouterr()
    page = sheet.read_text()
    assert page.count("<img") == page.count("<figure") > 0


@pytest.mark.usefixtures("inside")
def test_a_terminal_with_colours_shows_small_pictures(capsys, monkeypatch):
    def coloured():
        return Console(file=sys.stdout, force_terminal=True, color_system="truecolor", width=120, no_color=False)

    monkeypatch.setattr("deepbinaries.cli.search.Console", coloured)
    for kind in ([], ["--sentences"]):
        assert run("search", "3.jpg", "-k", 1, "--all", "--device", "cpu", *kind) == 0
        out, _ = capsys.readouterr()
        assert "▀" in out
        assert "\x1b[38;2;" in out


def test_a_contact_sheet_is_a_page_without_anything_foreign(inside, tmp_path, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    sheet = tmp_path / "sheet.html"
    query = "a dog <script>alert(1)</script>"
    assert run("search", query, "--all", "--sheet", sheet, "--open", "--device", "cpu") == 0
    page = sheet.read_text()
    assert opened == [sheet.as_uri()]
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("<figure") == len(list(inside.glob("?.jpg"))) - page.count("alike")
    assert "the hits are shown in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["a dog", "--since", "yesterday"], 2, "is no date"),
        (["a dog", "--folder", "/etc"], 2, "below the photographs"),
        (["a dog", "-k", "0"], 2, "is no page"),
        (["a dog", "--strong", "--all"], 2, "opposites"),
        (["gone.jpg"], 2, "is not there"),
        (["a dog", "-"], 2, "is empty"),
        (["-beach"], 2, 'add what you look for in front, such as "a dog" - "a boat"'),
        (["a dog", "-x"], 2, "No such option: -x"),
        (["a dog", "--beach"], 2, "No such option: --beach"),
        (["id:nothing"], 2, "'id:nothing' is no id of a picture"),
        (["a dog", "--index", "elsewhere"], 3, "there is no index of photographs in elsewhere"),
        (["id:" + "0" * 32], 3, "there is no picture"),
        (["a dog", "--model", "elsewhere"], 2, "no model is called 'elsewhere', and no folder either"),
        (["a dog", "--model", "./elsewhere"], 3, "elsewhere holds no model"),
    ],
)
@pytest.mark.usefixtures("inside")
def test_what_cannot_be_searched_is_one_line(capsys, arguments, code, words):
    assert run("search", *arguments) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_a_second_run_takes_the_index_s_own_model_and_encodes_nothing(photographs, capsys):
    assert run("index", photographs, "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["unchanged"] == 9
    assert "1 file was skipped: it is empty" in err


def test_a_length_that_no_code_has_is_refused_on_an_index_that_is_there(photographs, capsys):
    assert run("index", photographs, "--bits", 0) == 2
    assert "this model has no codes of 0 bits" in capsys.readouterr().err


def test_a_length_that_no_code_has_leaves_nothing_behind(trained, tmp_path, capsys):
    assert run("index", tmp_path, "--bits", 0, "--model", trained) == 2
    assert "this model has no codes of 0 bits" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_interrupted_run_says_how_far_it_came(photographs, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("deepbinaries.search.indexing.update_sentences", interrupt)
    assert run("index", photographs) == 130
    assert "9 of 9 pictures are done; run it again to go on" in capsys.readouterr().err


def test_status_counts_and_names_what_was_skipped(photographs, trained, capsys):
    assert run("status", "--index", photographs, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["files"], facts["pictures"], facts["sentences"], facts["failures"]) == (8, 8, 8, 1)
    assert facts["model_folder"] == str(trained.resolve())
    assert run("status", "--index", photographs) == 0
    out, err = capsys.readouterr()
    assert "pictures: 8" in out
    assert "1 skipped: it is empty" in err


def test_status_lists_the_files_that_could_not_be_read(photographs, capsys):
    assert run("status", "--index", photographs, "--failures") == 0
    path, reason, since = capsys.readouterr().out.rstrip("\n").split("\t")
    assert (path, len(since)) == ("<b>empty.jpg", 19)
    assert "empty" in reason


def test_verify_tells_a_sound_index_from_a_damaged_one(photographs, capsys):
    assert run("verify", "--index", photographs) == 0
    assert "16 codes are sound" in capsys.readouterr().out
    (segment,) = photographs.glob(".deepbinaries/generations/*/pictures/segments/*.codes")
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert run("verify", "--index", photographs, "--json") == 1
    assert segment.name in json.loads(capsys.readouterr().out)["problems"][0]
    segment.write_bytes(whole)


def test_watching_takes_up_what_comes(photographs, tmp_path, trained, capsys, monkeypatch):
    folder = tmp_path / "watched"
    folder.mkdir()
    new = folder / "0.jpg"
    new.write_bytes((photographs / "0.jpg").read_bytes())
    looks = []

    def sleep(seconds):
        looks.append(seconds)
        if len(looks) == 2:
            (folder / "1.jpg").write_bytes((photographs / "1.jpg").read_bytes())
        if len(looks) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(watching, "sleep", sleep)
    assert run("watch", folder, "--model", trained, "--device", "cpu", "--every", 5) == 130
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["1 files, 1 encoded", "2 files, 1 unchanged, 1 encoded"]


def test_ready_codes_become_an_index(tmp_path, capsys):
    rng = np.random.default_rng(0)
    save(Codes.from_bits(rng.integers(0, 2, (5, 32))), tmp_path / "codes.npy")
    (tmp_path / "ids.txt").write_text("\n".join("edcba") + "\n")
    index = tmp_path / "index"
    arguments = ("import-codes", tmp_path / "codes.npy", "--ids", tmp_path / "ids.txt", "--index", index)
    for _ in range(2):
        assert run(*arguments, "--json") == 0
        assert json.loads(capsys.readouterr().out) == {"index": str(index), "items": 5}
    assert run("verify", "--index", index) == 0
    assert "5 codes are sound" in capsys.readouterr().out
    (tmp_path / "ids.txt").write_text("a\n")
    assert run(*arguments) == 3
    assert "1 lines" in capsys.readouterr().err


def test_indexing_and_searching_need_no_network(photographs, trained, tmp_path, monkeypatch):
    def refused(*_, **__):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refused)
    monkeypatch.setattr(socket, "create_connection", refused)
    index = tmp_path / "index"
    assert run("index", photographs, "--index", index, "--model", trained, "--device", "cpu") == 0
    assert run("search", "a dog", "--all", "--index", index, "--device", "cpu") == 0
