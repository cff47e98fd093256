"""The command line as a person meets it: every call is a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest


def deepbinaries(*arguments: object, **settings: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from deepbinaries.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **settings)


def assert_refused(run: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """One line on standard error, nothing on standard output, the promised exit code."""
    assert run.returncode == code, run.stderr
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1
    assert run.stderr.startswith("deepbinaries: ")
    for word in words:
        assert word in run.stderr


def test_the_version_is_one_line():
    run = deepbinaries("--version")
    assert (run.returncode, run.stdout.count("\n")) == (0, 1)


def test_no_command_shows_the_help_and_counts_as_wrong_use():
    run = deepbinaries()
    assert run.returncode == 2
    assert "dataset" in run.stdout


def test_datasets_are_listed_one_a_line_in_a_pipe():
    lines = deepbinaries("list", "datasets").stdout.splitlines()
    assert "scenes" in [line.split("\t")[0] for line in lines]


def test_datasets_are_listed_as_json():
    listed = json.loads(deepbinaries("list", "datasets", "--json").stdout)
    assert {"name", "summary", "extra"} == set(listed[0])


def test_indexes_are_listed():
    run = deepbinaries("list", "indexes", "--json")
    assert run.returncode == 0
    assert {"embedded", "milvus", "postgres", "ray"} == {entry["name"] for entry in json.loads(run.stdout)}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["lst"], "list"),
        (["list", "things"], "datasets"),
        (["list"], "list --help"),
        (["dataset", "check", "scense"], "did you mean 'scenes'"),
        (["dataset", "check", "scenes", "--set", "itmes=3"], "did you mean 'items'"),
        (["dataset", "check", "scenes", "--set", "items"], "write name=value"),
        (["dataset", "check", "scenes", "--set", "items=0"], "items"),
        (["dataset", "check", "scenes", "--set", "root=x"], "--root"),
        (["dataset", "check", "scenes", "--set", "items=30", "--split-set", "seed=x"], "seed"),
        (["dataset", "check", "scenes", "--set", "items=30", "--split", "fraction:2"], "between 0 and 1"),
        (["dataset", "check", "scenes", "--set", "items=30", "--ignore-label", "unicorn"], "no label is called"),
        (["dataset", "check", "no.such.module:load"], "no.such.module"),
        (["evaluate", "a.npy"], "gallery"),
        (["evaluate", "nope", "scenes"], "no model and no file of codes is called 'nope'; check the path"),
        (["evaluate", "nope.npy", "b.npy", "--root", "."], "no model and no file of codes is called 'nope.npy'"),
    ],
)
def test_wrong_use_is_one_line_with_the_next_step_and_2(arguments, word):
    assert_refused(deepbinaries(*arguments), 2, word)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["dataset", "check", "coco", "--root", "."], "cocodataset.org"),
        (["dataset", "check", "iapr-tc12", "--root", "."], "imageclef.org"),
        (["dataset", "check", "scenes", "--set", "items=30", "--split", "none.json"], "none.json does not exist"),
    ],
)
def test_any_other_error_is_one_line_with_the_next_step_and_3(arguments, word, tmp_path):
    assert_refused(deepbinaries(*arguments, cwd=tmp_path), 3, word)


def test_scenes_are_checked_and_shown(tmp_path):
    run = deepbinaries("dataset", "check", "scenes", "--set", "items=40", "--sheet", tmp_path / "sheet.png")
    assert (run.returncode, run.stderr) == (0, "")
    assert "scenes: 40 items" in run.stdout
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")


def test_a_dataset_with_a_broken_picture_leaves_with_1(tmp_path):
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / name).write_bytes(b"no picture")
    run = deepbinaries("dataset", "check", "folder", "--root", tmp_path)
    assert run.returncode == 1
    assert "problem: 2 pictures cannot be read (first: a.jpg)" in run.stderr


def test_an_exported_dataset_is_read_back_with_its_split(tmp_path):
    deepbinaries("dataset", "export", "scenes", tmp_path / "out", "--set", "items=20", "--form", "webdataset")
    first = json.loads(deepbinaries("dataset", "check", "scenes", "--set", "items=20", "--json").stdout)
    again = json.loads(deepbinaries("dataset", "check", "webdataset", "--root", tmp_path / "out", "--json").stdout)
    assert again["dataset"]["digest"] == first["dataset"]["digest"]
    assert again["split"]["digests"] == first["split"]["digests"]


def test_a_split_is_written_once_and_never_over_a_file(tmp_path):
    arguments = ["dataset", "split", "scenes", tmp_path / "split.json", "--set", "items=30", "--split", "fraction:0.2"]
    assert deepbinaries(*arguments).returncode == 0
    assert len(json.loads((tmp_path / "split.json").read_text())["query"]) == 6
    assert_refused(deepbinaries(*arguments), 2, "split.json exists")


def test_captions_serve_as_labels_where_there_are_none(tmp_path):
    deepbinaries("dataset", "export", "scenes", tmp_path / "out", "--set", "items=60")
    lines = [json.loads(line) for line in (tmp_path / "out" / "metadata.jsonl").read_text().splitlines()]
    bare = [{key: value for key, value in line.items() if key != "labels"} for line in lines]
    (tmp_path / "out" / "metadata.jsonl").write_text("\n".join(map(json.dumps, bare)))
    (tmp_path / "out" / "dataset.json").unlink()
    arguments = ["dataset", "check", "folder", "--root", tmp_path / "out", "--json", "--pictures", 0]
    assert json.loads(deepbinaries(*arguments).stdout)["labels"]["count"] == 0
    assert json.loads(deepbinaries(*arguments, "--labels-from-captions").stdout)["labels"]["count"] > 10


@pytest.fixture
def codes(tmp_path):
    """Three queries and four gallery items of two bits, with their labels."""
    np.save(tmp_path / "queries.npy", np.array([[1, 1], [-1, -1], [1, -1]]))
    np.save(tmp_path / "gallery.npy", np.array([[1, 1], [-1, -1], [1, 1], [1, -1]]))
    (tmp_path / "queries.txt").write_text("cat\ndog\nbird\n")
    (tmp_path / "gallery.txt").write_text("cat\ndog\ndog\nfish\n")
    return tmp_path


def test_two_code_files_are_judged_with_the_rules_beside_the_number(codes):
    arguments = ["evaluate", "queries.npy", "gallery.npy", "--labels", "queries.txt", "--labels", "gallery.txt"]
    assert "MAP[all, /relevant, ties=expected" in deepbinaries(*arguments, cwd=codes).stdout
    report = json.loads(deepbinaries(*arguments, "--json", cwd=codes).stdout)
    cat = (1 + 1 / 2) / 2  # tied with one other item at distance 0
    dog = (1 + (2 / 3 + 2 / 4) / 2) / 2  # first; then a tie for ranks 3 and 4 at distance 2
    assert report["score"]["value"] == pytest.approx((cat + dog) / 2)
    assert report["score"]["rules"]["ties"] == "expected"
    assert report["queries"] == {"used": 2, "dropped": 1, "without_relevant": 1}


@pytest.mark.parametrize(
    ("gallery", "options", "code", "word"),
    [
        ("gallery.npy", [], 2, "--labels, --ids or --paired"),
        ("gallery.npy", ["--paired", "--variant", "map@zero"], 2, "map@K/min"),
        ("none.npy", ["--paired"], 3, "none.npy does not exist"),
    ],
)
def test_codes_that_cannot_be_judged_are_one_line(codes, gallery, options, code, word):
    assert_refused(deepbinaries("evaluate", "queries.npy", gallery, *options, cwd=codes), code, word)


def test_pairs_by_id_are_judged_by_their_ranks(codes):
    (codes / "q.txt").write_text("1\n2\n3\n")
    (codes / "g.txt").write_text("1\n2\n0\n3\n")
    run = deepbinaries(
        "evaluate", "queries.npy", "gallery.npy", "--ids", "q.txt", "--ids", "g.txt", "--json", cwd=codes
    )
    # The first query's pair is tied with another item, the others' are alone at distance 0.
    assert json.loads(run.stdout)["metrics"]["values"]["hit@1"] == pytest.approx((1 / 2 + 1 + 1) / 3)


def test_real_values_are_ranked_by_cosine(codes):
    run = deepbinaries("evaluate", "queries.npy", "queries.npy", "--paired", "--ranking", "cosine", "--json", cwd=codes)
    assert json.loads(run.stdout)["score"]["value"] == 1.0


def test_a_report_is_written_once_and_never_over_a_file(codes):
    arguments = ["evaluate", "queries.npy", "queries.npy", "--paired", "--out", "report.json"]
    assert deepbinaries(*arguments, cwd=codes).returncode == 0
    assert json.loads((codes / "report.json").read_text())["format"] == "deepbinaries-evaluation"
    assert_refused(deepbinaries(*arguments, cwd=codes), 2, "report.json exists")


def test_labels_of_other_rows_are_refused_with_both_numbers(codes):
    run = deepbinaries("evaluate", "queries.npy", "gallery.npy", "--labels", "queries.txt", cwd=codes)
    assert_refused(run, 2, "3 queries and 4 gallery items")


def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -c 'from deepbinaries.cli import main; main()' list datasets | head -n 1"
    run = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("name", ["math:pi", ":", "mine:nothing", "mine:load"])
def test_what_is_no_dataset_of_the_users_is_refused(tmp_path, name):
    (tmp_path / "mine.py").write_text("def load(root):\n    return None\n")
    assert_refused(deepbinaries("dataset", "check", name, cwd=tmp_path), 3 if name == "mine:load" else 2, name)


def test_the_installed_command_finds_a_users_module_where_it_is_run(tmp_path):
    (tmp_path / "mine.py").write_text("from deepbinaries.datasets.scenes import load\n")
    command = [Path(sys.executable).with_name("deepbinaries"), "dataset", "check", "mine:load", "--set", "items=12"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "scenes: 12 items" in run.stdout, run.stderr


@pytest.mark.parametrize(("given", "expected"), [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7")])
def test_threads_wait_in_a_short_loop_unless_the_user_says_otherwise(tmp_path, given, expected):
    (tmp_path / "mine.py").write_text("import os\ndef load(root): raise OSError(1, os.environ['GOMP_SPINCOUNT'])\n")
    environment = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"} | given
    run = deepbinaries("dataset", "check", "mine:load", cwd=tmp_path, env=environment)
    assert f" {expected}; check the path" in run.stderr


def test_python_m_is_the_command_too():
    run = subprocess.run([sys.executable, "-m", "deepbinaries", "--version"], capture_output=True, check=False)
    assert run.stdout.startswith(b"deepbinaries 0.")


def test_codes_that_search_themselves_are_told_how_to_leave_themselves_out(codes):
    files = ["gallery.npy", "gallery.npy", "--labels", "gallery.txt", "--direction", "image_to_image"]
    assert_refused(deepbinaries("evaluate", *files, cwd=codes), 2, "add --without-itself")


@pytest.mark.parametrize("content", [b"not an array", b"PK\x03\x04renamed", b"\x93NUMPY\x01\x00\x76\x00{}"])
def test_a_file_that_is_no_array_is_refused_by_name(codes, content):
    (codes / "theirs.npy").write_bytes(content)
    assert_refused(deepbinaries("evaluate", "theirs.npy", "gallery.npy", "--paired", cwd=codes), 3, "theirs.npy")


def test_a_nan_is_named_with_its_file(codes):
    np.save(codes / "theirs.npy", np.array([[0.5, np.nan]]))
    assert_refused(deepbinaries("evaluate", "theirs.npy", "gallery.npy", "--paired", cwd=codes), 3, "theirs.npy: row 0")


def test_a_blank_id_is_refused_with_its_line(codes):
    (codes / "ids.txt").write_text("1\n\n3\n")
    run = deepbinaries("evaluate", "queries.npy", "queries.npy", "--ids", "ids.txt", cwd=codes)
    assert_refused(run, 3, "ids.txt, line 2")


def test_an_ignored_label_is_told_with_what_it_costs():
    run = deepbinaries("dataset", "check", "scenes", "--set", "items=60", "--pictures", 0, "--ignore-label", "person")
    assert "ignored     person; dropped for want of a label: query" in run.stdout


def test_a_mistake_of_ours_is_one_line_too(tmp_path):
    (tmp_path / "mine.py").write_text("def load(root):\n    return 1 / 0\n")
    run = deepbinaries("dataset", "check", "mine:load", cwd=tmp_path)
    assert_refused(run, 3, "ZeroDivisionError", "DEEPBINARIES_DEBUG=1")


def judged(codes, *options):
    """The report on the tiny codes, with some options."""
    files = ["queries.npy", "gallery.npy", "--labels", "queries.txt", "--labels", "gallery.txt"]
    run = deepbinaries("evaluate", *files, "--json", *options, cwd=codes)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_each_rule_of_the_command_line_reaches_the_report(codes):
    report = judged(codes, "--variant", "map@2/found", "--ties", "worst", "--empty", "zero", "--gallery", "clean")
    rules = report["score"]["rules"]
    assert (rules["cutoff"], rules["divide_by"], rules["ties"]) == (2, "hits", "worst")
    assert (rules["empty"], rules["gallery"]) == ("zero", "clean")
    assert report["queries"]["dropped"] == 0


def test_the_direction_is_recorded(codes):
    assert judged(codes, "--direction", "text_to_image")["direction"] == "text_to_image"


def test_an_ignored_label_is_named_in_the_rules_and_no_longer_counts(codes):
    report = judged(codes, "--ignore-label", "dog")
    assert report["score"]["rules"]["relevance"] == "shared label without dog"
    assert report["queries"]["used"] == 1


def test_ndcg_and_curves_are_measured_when_asked_for(codes):
    assert "ndcg@3" not in judged(codes)["metrics"]["values"]
    report = judged(codes, "--ndcg", "3", "--curves")
    assert "ndcg@3" in report["metrics"]["values"]
    assert report["rank_curve"] is not None
    assert report["radius_curve"] is not None


def test_a_query_in_its_own_gallery_can_be_left_out(codes):
    files = ["gallery.npy", "gallery.npy", "--labels", "gallery.txt", "--direction", "image_to_image", "--json"]
    alone = json.loads(deepbinaries("evaluate", *files, "--without-itself", cwd=codes).stdout)
    assert alone["queries"]["used"] == 2  # the cat and the fish have no other
    assert alone["score"]["rules"]["itself"] == "left out"


def test_another_seed_draws_another_split(tmp_path):
    for seed in (0, 1):
        deepbinaries("dataset", "split", "scenes", tmp_path / f"{seed}.json", "--set", "items=30", "--seed", seed)
    queries = [json.loads((tmp_path / f"{seed}.json").read_text())["query"] for seed in (0, 1)]
    assert queries[0] != queries[1]


def test_a_protocol_takes_settings_of_its_own(tmp_path):
    arguments = ["--set", "items=60", "--split", "coco-modern", "--split-set", "query=6", "--split-set", "train=20"]
    arguments += ["--split-set", "sentence=random"]
    deepbinaries("dataset", "split", "scenes", tmp_path / "split.json", *arguments)
    split = json.loads((tmp_path / "split.json").read_text())
    assert (len(split["query"]), len(split["train"])) == (6, 20)
    assert split["sentence_of"]


def test_settings_take_the_type_their_reader_asks_for(tmp_path):
    run = deepbinaries("dataset", "check", "coco", "--root", tmp_path, "--set", "release=2014")
    assert_refused(run, 3, "instances_train2014.json")
    assert_refused(
        deepbinaries("dataset", "check", "scenes", "--set", "items=many"), 2, "items=many is no whole number"
    )


def test_an_interrupt_is_one_line_and_130(tmp_path):
    (tmp_path / "mine.py").write_text("def load(root):\n    raise KeyboardInterrupt\n")
    assert_refused(deepbinaries("dataset", "check", "mine:load", cwd=tmp_path), 130, "interrupted")


def test_an_empty_folder_is_refused(tmp_path):
    assert_refused(deepbinaries("dataset", "check", "folder", "--root", tmp_path), 3, "holds no items")


def test_a_folder_without_labels_is_checked_without_talk_of_relevance(tmp_path):
    deepbinaries("dataset", "export", "scenes", tmp_path / "out", "--set", "items=12")
    for name in ("metadata.jsonl", "dataset.json", "split.json"):
        (tmp_path / "out" / name).unlink()
    run = deepbinaries("dataset", "check", "folder", "--root", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    assert "chance" not in run.stdout


def test_a_contact_sheet_is_never_written_over_a_file(tmp_path):
    (tmp_path / "sheet.png").write_text("mine")
    run = deepbinaries("dataset", "check", "scenes", "--set", "items=12", "--sheet", tmp_path / "sheet.png")
    assert_refused(run, 2, "sheet.png exists")
    assert (tmp_path / "sheet.png").read_text() == "mine"
