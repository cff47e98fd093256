"""`evaluate MODEL DATASET`: the scores of a small model on the scenes it was trained on."""

import json

import pytest
from small_training import DATA, run

from deepbinaries.cli.evaluate_model import eyes_in_words
from deepbinaries.datasets import load
from deepbinaries.datasets.protocols import make_split
from deepbinaries.evaluation import PairedItems, Rules, evaluate, evaluate_parts
from deepbinaries.model import Model

BOTH = ["image_to_text", "text_to_image"]


@pytest.fixture
def judged(trained, features, capsys):
    """What `evaluate --json` says of the model, with more options."""

    def judge(*options):
        capsys.readouterr()
        assert run("evaluate", trained, *DATA, "--features", features, "--json", *options) == 0
        return json.loads(capsys.readouterr().out)

    return judge


def test_both_directions_are_judged_on_the_database(judged):
    reports = judged()["reports"]
    assert [(report["score"]["rules"]["gallery"], report["direction"]) for report in reports] == [
        ("database", direction) for direction in BOTH
    ]


def test_the_score_is_that_of_codes_made_by_the_model_itself(judged, trained):
    scenes = load("scenes", items=60)
    parts = make_split("", scenes).parts(scenes)
    model = Model.from_pretrained(trained, device="cpu")
    queries = model.encode_texts([scenes.sentences(row)[0] for row in parts.query])
    gallery = model.encode_images([scenes.picture(row) for row in parts.gallery("clean")])
    slow = evaluate_parts(queries, gallery, scenes, parts, kind="clean", direction="text_to_image")
    (report,) = judged("--gallery", "clean", "--direction", "text_to_image")["reports"]
    assert report["score"]["value"] == pytest.approx(slow.mean, abs=0.01)  # halves on disk may turn a bit
    assert report["chance"] == pytest.approx(slow.chance)


def test_galleries_can_be_asked_for_together(judged):
    reports = judged("--gallery", "clean", "--gallery", "database")["reports"]
    assert [report["score"]["rules"]["gallery"] for report in reports] == ["clean", "clean", "database", "database"]


def test_the_rules_of_a_report_can_be_chosen(judged):
    (report, _) = judged("--variant", "map@10/min", "--ignore-label", "tree", "--ndcg", "5")["reports"]
    rules = report["score"]["rules"]
    assert (rules["cutoff"], rules["relevance"]) == (10, "shared label without tree")
    assert "ndcg@5" in report["metrics"]["values"]


def test_the_model_is_named_by_its_digest_and_not_by_its_path(judged, trained):
    content = judged()
    assert content["model"]["sha256"] == json.loads((trained / "config.json").read_text())["sha256"]
    assert str(trained) not in json.dumps(content)


def test_how_the_model_sees_pictures_is_a_part_of_the_report(judged, trained, features, capsys):
    config = json.loads((trained / "config.json").read_text())
    model = judged()["model"]
    assert model["vision"] == config["vision"]
    assert {"proposer", "keep", "backbone", "mode"} <= model["vision"].keys()
    assert model["proposer_sha256"] == config["proposer_sha256"]
    assert run("evaluate", trained, *DATA, "--features", features) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("pictures: ")]
    for word in ("backbone efficientnet-lite0", "mode roi", "proposer rpn", "keep 4"):
        assert word in line
    assert config["proposer_sha256"] in line


@pytest.mark.parametrize(("mode", "seen"), [("roi", "mode roi, side 448"), ("crop", "mode crop")])
def test_the_side_of_pictures_is_stated_where_it_has_a_part(mode, seen):
    content = {"model": {"vision": {"mode": mode, "side": 448}, "proposer_sha256": ""}}
    assert eyes_in_words(content) == f"pictures: {seen}"


def test_a_page_for_people_has_what_is_needed_to_believe_it(trained, features, capsys):
    assert run("evaluate", trained, *DATA, "--features", features) == 0
    page = capsys.readouterr().out
    for word in (*BOTH, "map@all", "interval", "map@500/min", "order of ties", "chance", "codes of the gallery"):
        assert word in page


def test_the_report_is_written_and_nothing_is_written_over(trained, features, tmp_path, capsys):
    arguments = ("evaluate", trained, *DATA, "--features", features, "--out", tmp_path / "report.json")
    assert run(*arguments) == 0
    assert len(json.loads((tmp_path / "report.json").read_text())["reports"]) == 2
    capsys.readouterr()
    assert run(*arguments) == 2
    assert "exists" in capsys.readouterr().err


def test_another_split_of_what_it_learnt_from_is_told_in_one_line(trained, features, capsys):
    assert run("evaluate", trained, *DATA, "--features", features, "--split", "fraction:0.3", "--seed", "5") == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "split" in line]
    assert "the model learnt from another split of scenes, perhaps also from some of these queries" in line


def test_nothing_is_told_of_its_own_split(trained, features, capsys):
    assert run("evaluate", trained, *DATA, "--features", features) == 0
    assert "split" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (["--labels", "labels.json"], 2, "--labels goes with files of codes"),
        (["--paired", "--gallery", "clean"], 2, "take the gallery with-queries"),
        (["--paired", "--direction", "text_to_text"], 2, "take the gallery with-queries, and ask image_to_text"),
        (["--ranking", "cosine"], 2, "--ranking goes with files of codes"),
        (["--gallery", "dirty"], 2, "dirty"),
        (["--direction", "text_to_sound"], 2, "text_to_sound"),
        (["--ignore-label", "unicorn"], 2, "unicorn"),
    ],
)
def test_what_does_not_go_with_a_model_is_one_line(trained, features, capsys, options, code, word):
    assert run("evaluate", trained, *DATA, "--features", features, *options) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert word in line


@pytest.fixture
def captioned(tmp_path):
    """A folder of pictures with captions and without labels, as options."""
    scenes = load("scenes", items=20)
    (tmp_path / "captioned").mkdir()
    for row in range(20):
        picture = tmp_path / "captioned" / f"{row}.jpg"
        picture.write_bytes(scenes.picture(row))
        picture.with_suffix(".txt").write_text("\n".join(scenes.sentences(row)))
    return "folder", "--root", tmp_path / "captioned", "--split", "fraction:0.5", "--features", tmp_path / "features"


def test_captions_without_labels_are_judged_as_pairs(trained, captioned, capsys):
    assert run("evaluate", trained, *captioned, "--paired", "--json") == 0
    reports = json.loads(capsys.readouterr().out)["reports"]
    assert [report["direction"] for report in reports] == BOTH
    for report in reports:
        rules = report["score"]["rules"]
        assert (rules["relevance"], rules["gallery"]) == ("same item", "with-queries")
        assert {"hit@1", "hit@10", "median rank"} <= report["metrics"]["values"].keys()
        assert report["chance"] < 0.3  # one of twenty is relevant


def test_a_pair_s_score_is_that_of_codes_of_all_items(trained, captioned, capsys):
    assert run("evaluate", trained, *captioned, "--paired", "--direction", "text_to_image", "--json") == 0
    (report,) = json.loads(capsys.readouterr().out)["reports"]
    pictures = load("folder", captioned[2])
    parts = make_split("fraction:0.5", pictures).parts(pictures)
    model = Model.from_pretrained(trained, device="cpu")
    texts = model.encode_texts([pictures.sentences(row)[0] for row in parts.query])
    images = model.encode_images([pictures.picture(row) for row in range(20)])
    pairs = PairedItems.from_ids(parts.query.astype(str).tolist(), [str(row) for row in range(20)])
    slow = evaluate(texts, images, pairs=pairs, rules=Rules(relevance="same item"), direction="text_to_image")
    assert report["metrics"]["values"]["hit@10"] == pytest.approx(slow.metrics["hit@10"], abs=0.1)


def test_captions_without_labels_are_told_how_to_be_judged(trained, captioned, capsys):
    assert run("evaluate", trained, *captioned) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "captioned have no labels" in line
    assert "add --paired" in line
    assert "--labels-from-captions" in line


@pytest.mark.parametrize("options", [["--root", "here"], ["--split", "coco"], ["--device", "cpu"]])
def test_what_goes_with_a_model_alone_is_refused_for_codes(tmp_path, capsys, options):
    (tmp_path / "a.npy").touch()
    assert run("evaluate", tmp_path / "a.npy", tmp_path / "b.npy", "--paired", *options) == 2
    assert f"{options[0]} goes with a model" in capsys.readouterr().err


def test_a_mistyped_model_is_told_before_anything_else(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("evaluate", "modle", "scenes", "--device", "cpu", "--out", "/proc/report.json") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no model and no file of codes is called 'modle'; check the path" in line


def test_a_place_for_the_report_that_nobody_can_write_to_is_told_before_any_work(trained, monkeypatch, capsys):
    monkeypatch.setattr(Model, "from_pretrained", lambda *_, **__: pytest.fail("a model is opened"))
    assert run("evaluate", trained, *DATA, "--out", "/proc/report.json") == 3
    assert "/proc cannot be written to" in capsys.readouterr().err


def test_a_folder_that_holds_no_model_is_told(tmp_path, capsys):
    assert run("evaluate", tmp_path, "scenes") == 3
    assert "holds no model" in capsys.readouterr().err


def test_a_model_of_the_package_is_judged_by_its_name(trained, features, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # where nothing is called so
    monkeypatch.setattr("deepbinaries.pretrained.SHELF", trained.parent)
    assert run("evaluate", trained.name, *DATA, "--features", features, "--json") == 0
    digest = json.loads((trained / "config.json").read_text())["sha256"]
    assert json.loads(capsys.readouterr().out)["model"]["sha256"] == digest


def test_codes_have_one_gallery(tmp_path, capsys):
    (tmp_path / "a.npy").touch()
    arguments = ("evaluate", tmp_path / "a.npy", tmp_path / "b.npy", "--paired", "--gallery", "clean")
    assert run(*arguments, "--gallery", "database") == 2
    assert "give --gallery once" in capsys.readouterr().err
