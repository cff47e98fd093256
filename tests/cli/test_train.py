"""`train` and `encode` on generated scenes, with networks that learn little in little time."""

import errno
import io
import itertools
import json
import os
import subprocess
import sys

import pytest
from PIL import Image
from small_training import METHOD, SMALL, run, small

from deepbinaries.cli import learning
from deepbinaries.cli.recipe import read_recipe
from deepbinaries.datasets import load
from deepbinaries.errors import DataError
from deepbinaries.hashers import checkpoints, training
from deepbinaries.model import Model


def digest_of(folder):
    """What a model says it is."""
    return json.loads((folder / "config.json").read_text())["sha256"]


def test_a_training_leaves_a_model_its_log_and_nothing_else(trained):
    model = Model.from_pretrained(trained, device="cpu")
    assert (model.method, model.bits, model.trained_on["dataset"]) == ("tvdb", 16, "scenes")
    entries = [json.loads(line) for line in (trained / "training.jsonl").read_text().splitlines()]
    assert [entry["epoch"] for entry in entries] == [1, 2]
    assert list(trained.parent.iterdir()) == [trained]


def ended_at_call(number, function):
    """The function, but that this call of it is where somebody ends the command."""
    calls = itertools.count(1)

    def until_then(*arguments, **settings):
        if next(calls) == number:
            raise KeyboardInterrupt
        return function(*arguments, **settings)

    return until_then


@pytest.mark.parametrize(
    ("module", "name", "logged"),
    [(learning, "write_json_lines", [1]), (training, "save_checkpoint", [1, 2])],
    ids=["before the log", "between log and checkpoint"],
)
def test_an_interrupted_training_goes_on_to_the_same_model(
    trained, features, tmp_path, monkeypatch, capsys, module, name, logged
):
    arguments = ("train", *SMALL, "--features", features, "--out", tmp_path / "model")
    with monkeypatch.context() as patched:
        patched.setattr(module, name, ended_at_call(2, getattr(module, name)))
        assert run(*arguments) == 130
    assert "run the command again" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
    (kept,) = (tmp_path / "model.training").glob("*/training.jsonl")
    entries = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [entry["epoch"] for entry in entries] == logged
    assert run(*arguments) == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == {
        path.name: path.read_bytes() for path in trained.iterdir()
    }
    assert entries[0]["seconds"] > 0


def test_a_training_that_was_killed_before_its_first_checkpoint_begins_anew(trained, features, tmp_path, monkeypatch):
    arguments = ("train", *SMALL, "--features", features, "--out", tmp_path / "model")
    with monkeypatch.context() as patched:
        patched.setattr(learning, "write_json_lines", ended_at_call(2, learning.write_json_lines))
        assert run(*arguments) == 130
    (checkpoint,) = (tmp_path / "model.training").glob("*/checkpoint.safetensors")
    checkpoint.unlink()  # now only the log is there, as a kill before the first checkpoint leaves it
    assert run(*arguments) == 0
    assert (tmp_path / "model/training.jsonl").read_bytes() == (trained / "training.jsonl").read_bytes()
    assert digest_of(tmp_path / "model") == digest_of(trained)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_patience_tells_the_validation_of_the_epoch_that_is_kept(features, tmp_path, capsys):
    out = tmp_path / "model"
    assert run("train", *SMALL, "--set", "patience=1", "--features", features, "--out", out, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    entries = [json.loads(line) for line in (out / "training.jsonl").read_text().splitlines()]
    names = ("validation_image_to_text", "validation_text_to_image")
    best = max(entries, key=lambda entry: sum(entry[name] for name in names))
    assert (told["epoch"], told["model"]) == (best["epoch"], str(out))
    assert [told[name] for name in names] == [best[name] for name in names]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--bits", "0"], "bits=0 is outside"),
        (["--method", "tvbd"], "did you mean 'tvdb'"),
        (["--method", "math:sqrt"], "no `preset`"),
        (["--set", "epohcs=3"], "did you mean 'epochs'"),
        (["--set", "widths=3,four"], "widths=four is no whole number"),
        (["--vision", "kep=3"], "did you mean 'keep'"),
        (["--vision", "keep=48"], "keep=48 is outside 0..47"),
        (["--words", "0"], "length=0"),
        (["--read", "last"], "first"),
    ],
)
def test_wrong_settings_are_one_line_and_2(features, tmp_path, capsys, arguments, word):
    assert run("train", *SMALL, *arguments, "--features", features, "--out", tmp_path / "model") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert word in line
    assert list(tmp_path.iterdir()) == []


def test_a_training_writes_over_nothing(trained, capsys):
    assert run("train", *SMALL, "--out", trained) == 2
    assert "exists" in capsys.readouterr().err


def test_what_lies_beside_an_unfinished_training_stays(features, tmp_path):
    beside = tmp_path / "model.training"
    beside.mkdir()
    (beside / "notes.txt").write_text("mine")
    assert run("train", *SMALL, "--features", features, "--out", tmp_path / "model") == 0
    assert [path.name for path in beside.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("patience=0", "patience for at least 1 epoch"),
        ("seed=-1", "a seed from 0 on"),
        ("weight_decay=-1", "a decay"),
        ("learning_rate=nan", "a positive rate"),
        ("eta=nan", "eta=nan is no weight"),
        ("input_dropout=nan", "dropout"),
        ("device=cpu", "device"),
    ],
)
def test_a_setting_that_makes_no_sense_is_one_line_before_any_work(features, tmp_path, capsys, setting, words):
    assert run("train", *SMALL, "--set", setting, "--features", features, "--out", tmp_path / "model") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("eta=0.5", "eta has no part in the update 'relaxed'"),
        ("region_dropout=0.5", "region_dropout has no part in image=whole"),
    ],
)
def test_a_setting_without_a_part_is_told_and_changes_nothing(trained, features, tmp_path, capsys, setting, line):
    out = tmp_path / "model"
    assert run("train", *SMALL, "--set", setting, "--features", features, "--out", out) == 0
    assert line in capsys.readouterr().err.splitlines()
    assert digest_of(out) == digest_of(trained)


WITHOUT_BATCH = small(*(setting for setting in METHOD if not setting.startswith("batch=")))


def test_a_small_training_part_has_smaller_batches_and_the_model_says_so(features, tmp_path, capsys):
    out = tmp_path / "model"
    assert run("train", *WITHOUT_BATCH, "--features", features, "--out", out) == 0
    assert "batch=32: with 512 an epoch of 27 pairs has few steps" in capsys.readouterr().err.splitlines()
    assert Model.from_pretrained(out, device="cpu").hasher.settings.batch == 32


@pytest.mark.parametrize("method", ["tvdb-paper", "dcmh-paper"])
def test_a_preset_to_the_letter_keeps_its_batch_on_a_small_training_part(method):
    recipe = read_recipe(None, method, None, None, None, None, None, None)
    assert recipe.fitted_to(27, 128) == recipe
    assert read_recipe(None, "tvdb", None, None, None, None, None, None).fitted_to(27, 512).settings["batch"] == 32


@pytest.mark.parametrize("given", [("--set", "batch=512"), ("--tune", "batch=256,512")])
def test_a_batch_that_was_chosen_stays(features, tmp_path, capsys, given):
    out = tmp_path / "model"
    assert run("train", *WITHOUT_BATCH, *given, "--features", features, "--out", out) == 0
    assert "few steps" not in capsys.readouterr().err
    assert Model.from_pretrained(out, device="cpu").hasher.settings.batch in (256, 512)


def test_an_interrupted_training_goes_on_with_the_batch_it_had(features, tmp_path, monkeypatch):
    write, written = learning.write_json_lines, []

    def pull_the_plug(history, path):
        written.append(len(history))
        if written == [1, 2]:
            raise KeyboardInterrupt
        write(history, path)

    monkeypatch.setattr(learning, "write_json_lines", pull_the_plug)
    arguments = ("train", *WITHOUT_BATCH, "--features", features, "--out", tmp_path / "model")
    assert run(*arguments) == 130
    assert run(*arguments) == 0
    assert written == [1, 2, 2]  # of the second run the second epoch alone


def test_two_lengths_of_a_code_are_refused_unless_they_are_one(tmp_path, capsys):
    assert run("train", *SMALL, "--set", "bits=32", "--out", tmp_path / "model") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--bits 16 and --set bits=32 differ; leave out one of the two" in line
    assert read_recipe(None, "tvdb", 32, ["bits=32"], None, None, None, None).settings["bits"] == 32


def test_too_few_sentences_are_told_without_an_option_that_train_lacks(tmp_path, capsys):
    few = ["items=5" if part == "items=60" else part for part in SMALL]
    assert run("train", *few, "--features", tmp_path / "features", "--out", tmp_path / "model") == 3
    assert capsys.readouterr().err.splitlines()[-1].endswith("occurs 3 times; give more sentences")


@pytest.mark.parametrize("image", ["max", "vote"])
def test_regions_that_are_wanted_and_not_kept_are_told_before_any_work(tmp_path, capsys, image):
    arguments = ("--vision", "keep=0", "--set", f"image={image}", "--features", tmp_path / "features")
    assert run("train", *SMALL, *arguments, "--out", tmp_path / "model") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"image={image} listens to regions, and keep=0 leaves none; set image=whole" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("given", "seen"), [([], ("alexnet", "crop")), (["--vision", "mode=roi"], ("alexnet", "roi"))])
def test_the_papers_preset_looks_through_alexnet_at_crops_unless_told_otherwise(tmp_path, monkeypatch, given, seen):
    looks = []

    def note(settings, **_):
        looks.append((settings.backbone, settings.mode))
        raise KeyboardInterrupt

    monkeypatch.setattr("deepbinaries.model.make_encoder", note)
    assert run("train", *SMALL, "--method", "tvdb-paper", *given, "--out", tmp_path / "model") == 130
    assert looks == [seen]


def test_a_split_without_a_training_part_is_told_before_any_work(tmp_path, capsys):
    from deepbinaries.datasets import load
    from deepbinaries.datasets.splits import by_fraction

    split = tmp_path / "split.json"
    by_fraction(load("scenes", items=60), 0.2).save(split)
    content = json.loads(split.read_text())
    split.write_text(json.dumps(content | {"train": [], "validation": [], "digests": {}}))
    arguments = ("--split", split, "--features", tmp_path / "features", "--out", tmp_path / "model")
    assert run("train", *SMALL, *arguments) == 2
    assert "this split has no training part to learn from" in capsys.readouterr().err


def labelled_album(folder, labels_of):
    """Sixty pictures that cannot be read, with sentences, and the labels that `labels_of(row)` says."""
    folder.mkdir()
    with (folder / "metadata.jsonl").open("w") as file:
        for row in range(60):
            (folder / f"{row}.png").touch()
            line = {"file_name": f"{row}.png", "text": f"scene {row}", "labels": labels_of(row)}
            file.write(json.dumps(line) + "\n")
    return folder


@pytest.mark.parametrize(
    ("labels_of", "words"),
    [
        (lambda _: [], ", labels: 0); give pairs"),
        (lambda _: ["dog"], ", labels: 1); give pairs"),
        (lambda row: ["thing", "dog" if row % 2 else "cat"], "'thing' is everywhere"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--set", "patience=2"), ("--tune", "embed=8,16")])
def test_labels_that_teach_nothing_are_told_before_any_picture_is_looked_at(
    tmp_path, monkeypatch, capsys, labels_of, words, more
):
    monkeypatch.setattr("deepbinaries.model.make_encoder", lambda *_, **__: pytest.fail("pictures are looked at"))
    album = labelled_album(tmp_path / "album", labels_of)
    options = [part for part in SMALL if part not in ("scenes", "--dataset-set", "items=60")]
    places = ("--root", album, "--features", tmp_path / "features", "--out", tmp_path / "model")
    assert run("train", "folder", *places, *options, *more) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert list(tmp_path.iterdir()) == [album]


@pytest.mark.parametrize(("option", "place"), [("--out", "/proc/zz"), ("--tensorboard", "/proc/x")])
def test_a_place_that_nobody_can_write_to_is_told_before_any_work(tmp_path, capsys, option, place):
    places = {"--out": tmp_path / "model", "--features": tmp_path / "features"} | {option: place}
    assert run("train", *SMALL, *(part for pair in places.items() for part in pair)) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{place}" in line
    assert "/proc cannot be written to" in line
    assert list(tmp_path.iterdir()) == []


def test_a_training_that_fails_before_its_first_epoch_leaves_nothing_behind(features, tmp_path, monkeypatch, capsys):
    def fail(*_, **__):
        raise DataError("the lights went out", next_step="wait")

    monkeypatch.setattr("deepbinaries.hashers.deep.train", fail)
    assert run("train", *SMALL, "--features", features, "--out", tmp_path / "model") == 3
    assert "the lights went out" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_training_whose_first_checkpoint_cannot_be_written_leaves_nothing_behind(
    features, tmp_path, monkeypatch, capsys
):
    def fill_the_disk(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoints, "save", fill_the_disk)
    assert run("train", *SMALL, "--features", features, "--out", tmp_path / "model") == 3
    assert "checkpoint.safetensors cannot be written (No space left on device)" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_later_checkpoint_that_cannot_be_written_leaves_the_one_before(features, tmp_path, monkeypatch):
    save = iter([checkpoints.save])

    def fill_the_disk(*arguments, **how):
        for write in save:
            return write(*arguments, **how)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoints, "save", fill_the_disk)
    assert run("train", *SMALL, "--features", features, "--out", tmp_path / "model") == 3
    kept = sorted(path.name for path in (tmp_path / "model.training").glob("*/*"))
    assert kept == ["checkpoint.safetensors", "training.jsonl"]


def test_a_damaged_log_of_an_unfinished_training_is_named(features, tmp_path, monkeypatch, capsys):
    def pull_the_plug(*_, **__):
        raise KeyboardInterrupt

    arguments = ("train", *SMALL, "--features", features, "--out", tmp_path / "model")
    with monkeypatch.context() as patched:
        patched.setattr("deepbinaries.model.Model.save_pretrained", pull_the_plug)
        assert run(*arguments) == 130
    (log,) = (tmp_path / "model.training").glob("*/training.jsonl")
    log.write_text('{"epoch": 1, "lo')
    capsys.readouterr()
    assert run(*arguments) == 3
    assert f"{log} is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("more", [(), ("--set", "patience=1")])
@pytest.mark.parametrize("update", ["projection", "gram", "relaxed"])
def test_a_training_that_runs_away_is_one_line_and_leaves_nothing(features, tmp_path, capsys, update, more):
    runaway = ("--set", "learning_rate=1e30", "--set", f"update={update}", *more)
    assert run("train", *SMALL, *runaway, "--features", features, "--out", tmp_path / "model") == 3
    assert "not finite; lower the learning rate" in capsys.readouterr().err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_a_training_that_runs_away_after_its_first_checkpoint_leaves_nothing(features, tmp_path, monkeypatch, capsys):
    def mad_in_the_second_of_two_epochs(_, step, n_steps):
        return 1e-3 if step < n_steps / 2 else 1e30

    monkeypatch.setattr(training, "learning_rate", mad_in_the_second_of_two_epochs)
    assert run("train", *SMALL, "--features", features, "--out", tmp_path / "model") == 3
    assert "the loss of epoch 2 is not finite" in capsys.readouterr().err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_two_processes_leave_one_model_and_one_report(trained, tmp_path):
    out, features = tmp_path / "model", tmp_path / "features"  # which one of them prepares
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "deepbinaries"]
    arguments = ["train", *SMALL, "--set", "input_dropout=0", "--features", features, "--out", out, "--json"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout)["epochs"] == 2
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in trained.iterdir())
    assert Model.from_pretrained(out, device="cpu").bits == 16
    assert sorted(tmp_path.iterdir()) == [features, out]


def test_settings_are_not_tuned_by_several_processes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "of a test")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert run("train", *SMALL, "--tune", "eta=0.1,1", "--set", "update=spectral", "--out", tmp_path / "model") == 2
    assert "--tune works in one process" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "keep"),
    [
        ((), 0),
        (("--method", "tvdb-lstm"), 20),
        (("--set", "image=vote"), 20),
        (("--tune", "image=whole,vote"), 20),
        (("--method", "dcmh"), 0),
        (("--vision", "keep=5"), 5),
    ],
)
def test_regions_are_looked_for_where_they_are_read(given, keep):
    options = dict.fromkeys(("--method", "--set", "--tune", "--vision")) | dict([given] if given else [])
    listed = {name: value and [value] for name, value in options.items() if name != "--method"}
    recipe = read_recipe(
        None, options["--method"], None, listed["--set"], listed["--tune"], listed["--vision"], None, None
    )
    assert recipe.vision.keep == keep


def jpeg_of(picture):
    """A picture's file as a JPEG's."""
    written = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").save(written, "JPEG")
    return written.getvalue()


def test_each_kind_of_picture_that_cannot_be_read_has_its_line(tmp_path, capsys):
    album = tmp_path / "album"
    album.mkdir()
    scenes = load("scenes", items=60)
    lines = [
        {"file_name": f"{row}.png", "text": scenes.sentences(row)[0], "labels": [*scenes.labels.of(row)]}
        for row in range(60)
    ]
    for row, line in enumerate(lines):
        (album / line["file_name"]).write_bytes(scenes.picture(row))
    for broken in (3, 4):
        (album / f"{broken}.png").write_bytes(b"")
    for row in range(20, 34):  # each cut somewhere else, which its reason tells, and with a name of several words
        (album / f"{row}.png").unlink()
        lines[row]["file_name"] = f"my {row} photograph.jpg"
        (album / lines[row]["file_name"]).write_bytes(jpeg_of(scenes.picture(row))[: -100 - 11 * row])
    (album / "5.png").rename(album / "5.heic")
    lines[5]["file_name"] = "5.heic"
    (album / "5.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100))
    (album / "metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = [part for part in SMALL if part not in ("scenes", "--dataset-set", "items=60")]
    places = ("--root", album, "--features", tmp_path / "features", "--out", tmp_path / "model")
    assert run("train", "folder", *places, *options) == 0
    told = capsys.readouterr().err
    lines = told[told.index("pictures that cannot be read and are left out: 17\n") :].splitlines()
    assert [line.partition(": ")[0] for line in lines[1:4]] == [
        "14 like my 20 photograph.jpg",
        "2 like 3.png",
        "1 like 5.heic",
    ]
    assert "deepbinaries[heif]" in lines[3]
    assert lines[4].startswith("once they are mended, remove ")
